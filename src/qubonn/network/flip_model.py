"""The smallest number of input flips that changes a class, proved by CP-SAT.

JointNetwork, one example and its bounds so far -> Proved.
"""

from collections.abc import Callable
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinVector
from qubonn.errors import QubonnError
from qubonn.network.forward import decide
from qubonn.network.joint_network import UNREACHABLE, JointNetwork
from qubonn.ortools import Solved, cp_model_for, solve


class Proved(NamedTuple):
    """The result of CP-SAT: a nearer input of another class, if one was found, and a bound."""

    witness: SpinVector | None
    bound: int
    is_interrupted: bool


class FlipModel:
    """A joint network as constraints of CP-SAT; its neurons are added once for all examples.

    Call `complete` before use.
    """

    def __init__(self, joint: JointNetwork) -> None:
        self.joint = joint
        self.cp_model = cp_model_for("robustness")
        self.model = self.cp_model.CpModel()
        self.is_needed = _needed(joint)
        self.bits: dict[int, Any] = {  # whether the spin of a node is +1
            node: self.model.new_bool_var(f"node {node}")
            for node in np.flatnonzero(self.is_needed).tolist()
        }

    def complete(self, is_late: Callable[[], bool]) -> bool:
        """Add the neurons; return False if the time was up before the last one."""
        for level in self.joint.plan:
            for column in np.flatnonzero(self.is_needed[level.nodes]).tolist():
                if is_late():
                    return False
                own = self.bits[int(level.nodes[column])]
                coefficients = _column(level.matrix, column)
                count = self._sum(level.sources, coefficients)
                # the spin is +1 exactly when its sum, 2 * count - most, is at least 1
                most = int(coefficients.sum()) - int(level.thresholds[column])
                self.model.add(count >= most // 2 + 1).only_enforce_if(own)
                self.model.add(count <= most // 2).only_enforce_if(~own)
        return True

    def improve(self, input_spins: SpinVector, bound: int, enough: int, **options: Any) -> Proved:
        """Search for fewer flips than are `enough`, or prove that there are none.

        At least `bound` flips are needed. The options are those of `qubonn.ortools.solve`.
        """
        model, spins = self.model.clone(), input_spins[self._inputs].astype(np.int64)
        flips = self._sum(self._inputs, -spins) + int((spins > 0).sum())
        model.add_linear_constraint(flips, bound, enough - 1)
        self._require_another_class(model, input_spins)
        model.minimize(flips)
        return self._read(solve(model, **options), input_spins, bound, enough)

    def _require_another_class(self, model: Any, input_spins: SpinVector) -> None:
        """Require that one of the sums that support the class falls by what it needs."""
        done = self.joint.run(input_spins[np.newaxis])
        votes = self.joint.votes(done)
        (part,) = self.joint.thresholds(votes, decide(votes, self.joint.reading))
        spins, ways = done.activation_spins[0, part.sources].astype(np.int64), []
        for column in np.flatnonzero(part.needs[0] < UNREACHABLE).tolist():
            support = int(part.directions[0, column]) * _column(part.matrix, column)
            limit = int(support @ spins - part.needs[0, column] + support.sum()) // 2
            ways.append(model.new_bool_var(f"way {column}"))
            model.add(self._sum(part.sources, support) <= limit).only_enforce_if(ways[-1])
        model.add_bool_or(ways)

    def _sum(self, nodes: IntVector, coefficients: NDArray[np.int64]) -> Any:
        """Add up bits; those of the first model serve its clones too, which number them equally."""
        used = np.flatnonzero(coefficients)
        bits = [self.bits[node] for node in nodes[used].tolist()]
        return self.cp_model.LinearExpr.weighted_sum(bits, coefficients[used].tolist())

    @property
    def _inputs(self) -> IntVector:
        return np.array([node for node in self.bits if node < self.joint.column_count], dtype=int)

    def _read(self, solved: Solved, input_spins: SpinVector, bound: int, enough: int) -> Proved:
        solver, status, cp_model = solved.solver, solved.status, self.cp_model
        if status == cp_model.INFEASIBLE:
            return Proved(None, enough, solved.is_interrupted)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.UNKNOWN):
            raise QubonnError(f"CP-SAT refused the model: {solver.status_name(status)}")
        # where nothing was proved CP-SAT's bound is 0 or infinite
        bound = ceil(min(max(solver.best_objective_bound, bound), enough) - 1e-6)
        if status == cp_model.UNKNOWN:
            return Proved(None, bound, solved.is_interrupted)
        witness = input_spins.copy()
        witness[self._inputs] = [2 * solver.value(self.bits[node]) - 1 for node in self._inputs]
        return Proved(witness, bound, solved.is_interrupted)


def _needed(joint: JointNetwork) -> NDArray[np.bool_]:
    """Return which nodes the votes depend on."""
    is_needed = np.zeros(joint.topology.node_count, dtype=bool)
    is_needed[joint.vote_sources] = True
    for level in reversed(joint.plan):
        coefficients = abs(level.matrix[:, np.flatnonzero(is_needed[level.nodes])])
        is_needed[level.sources] |= np.asarray(coefficients.sum(axis=1) > 0)
    return is_needed


def _column(matrix: Any, column: int) -> NDArray[np.int64]:
    """Return one column of a dense or a sparse matrix as whole numbers."""
    picked = matrix[:, [column]]
    dense = picked if isinstance(picked, np.ndarray) else picked.toarray()
    return np.asarray(dense)[:, 0].astype(np.int64)
