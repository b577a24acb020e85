"""CpSat: prove a training problem feasible or infeasible, or optimise over its networks.

TrainingProblem -> ExactResult.  Its model has the signs of sums, not the penalties, so its results
are an independent check of every other solver.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_count
from qubonn.engines.base import PAPER_TERMS, require_terms
from qubonn.errors import QubonnError
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.ortools import Solved, cp_model_for, solve
from qubonn.stopping import Watch, require_seed


class Proof(Enum):
    """What CP-SAT proved."""

    OPTIMAL = "the result is proved to be optimal"
    FEASIBLE = "a network was found; a better one may exist"
    INFEASIBLE = "proved: no network satisfies all constraints"
    UNKNOWN = "nothing found and nothing proved before the limit"


@dataclass(frozen=True, eq=False)
class ExactResult:
    """The result of CP-SAT: a network (or None), its objective, and the proved bound on that.

    Without a network there is no value and no bound.
    """

    proof: Proof
    network: BinaryNetwork | None
    activations: NDArray[np.int8] | None  # examples x nodes, as in the solution
    value: int | None
    bound: float | None
    seconds: float

    def __repr__(self) -> str:
        bound = None if self.bound is None else f"{self.bound:g}"
        return (
            f"ExactResult({self.proof.name}, value={self.value}, bound={bound}, "
            f"{self.seconds:.3f} s)"
        )


@dataclass(frozen=True, kw_only=True)
class CpSat:
    """OR-tools CP-SAT on the training problem; any topology, cycles included.

    `find_feasible`, `fewest_violations` and `largest_margin` do not depend on the strengths of a
    problem's terms or on the weights of its examples. A field and extra terms would change which
    network is best, so a problem with them is refused. With one worker the same seed gives the same
    result unless the time limit is reached; with several it may not.
    """

    supported_terms: ClassVar[frozenset[str]] = PAPER_TERMS - {"field"}

    worker_count: int = 1

    def __post_init__(self) -> None:
        require_count("worker_count", self.worker_count)

    def find_feasible(
        self, problem: TrainingProblem, *, seed: int = 0, time_limit: float | None = None
    ) -> ExactResult:
        """Find a network that satisfies every constraint, or prove that there is none.

        Every output must be right, even if the problem leaves outputs free.
        """
        return self._solve(problem, seed, time_limit)

    def fewest_violations(
        self, problem: TrainingProblem, *, seed: int = 0, time_limit: float | None = None
    ) -> ExactResult:
        """Minimise the number of neurons that fail for an example, plus wrong outputs if free.

        Breaking a product is never better than breaking the activation it enters, so this is the
        least number of violated constraints of any kind.
        """
        return self._solve(problem, seed, time_limit, may_violate=True)

    def largest_margin(
        self, problem: TrainingProblem, *, seed: int = 0, time_limit: float | None = None
    ) -> ExactResult:
        """Maximise S2 over the networks that satisfy every constraint and give every output."""
        return self._solve(problem, seed, time_limit, wants_margin=True)

    def _solve(
        self, problem: TrainingProblem, seed: int, time_limit: float | None, **question: bool
    ) -> ExactResult:
        require_seed(seed)
        require_terms(problem, self)
        watch = Watch(time_limit=time_limit)
        model = _Model(problem, **question)
        left = None if time_limit is None else watch.seconds_left  # building took some of it
        solved = solve(model.model, seed=seed, worker_count=self.worker_count, seconds=left)
        return model.read(solved, watch.seconds)


class _Model:
    """The training problem in CP-SAT's language."""

    def __init__(
        self, problem: TrainingProblem, *, may_violate: bool = False, wants_margin: bool = False
    ) -> None:
        self.cp_model = cp_model_for("CpSat")
        self.problem, self.topology = problem, problem.topology
        self.may_violate, self.wants_margin = may_violate, wants_margin
        self.known_spins = np.zeros((problem.example_count, self.topology.node_count), np.int8)
        self.known_spins[:, self.topology.inputs] = self.topology.with_constant(problem.input_spins)
        if problem.has_fixed_outputs or not may_violate:
            self.known_spins[:, self.topology.outputs] = problem.output_spins
        self.model = self.cp_model.CpModel()
        new = self.model.new_bool_var
        self.weights = [
            self.model.new_constant(int(spin > 0)) if spin else new(f"v{w}")
            for w, spin in enumerate(self.topology.known_weights.tolist())
        ]
        self.biases = [
            self.model.new_constant(int(spin > 0)) if spin else new(f"d{j}")
            for j, spin in enumerate(self.topology.known_biases.tolist())
        ]
        self.costs: list[Any] = []
        self.margins: list[Any] = []
        self.activations = [self._add_example(k) for k in range(problem.example_count)]
        if may_violate:
            self.model.minimize(sum(self.costs))
        elif wants_margin:
            self.model.maximize(sum(self.margins))

    def read(self, solved: Solved, seconds: float) -> ExactResult:
        """Turn a solution back into a network."""
        solver, status = solved.solver, solved.status
        proof = {
            self.cp_model.OPTIMAL: Proof.OPTIMAL,
            self.cp_model.FEASIBLE: Proof.FEASIBLE,
            self.cp_model.INFEASIBLE: Proof.INFEASIBLE,
            self.cp_model.UNKNOWN: Proof.UNKNOWN,
        }.get(status)
        if proof is None:
            raise QubonnError(f"CP-SAT refused the model: {solver.status_name(status)}")
        if proof in (Proof.INFEASIBLE, Proof.UNKNOWN):
            # CP-SAT has a bound here too, but it is 0 where nothing was proved
            return ExactResult(proof, None, None, None, None, seconds)
        network = BinaryNetwork(
            self.topology, _spins(solver, self.weights), _spins(solver, self.biases)
        )
        activations = np.array([_spins(solver, row) for row in self.activations], dtype=np.int8)
        value, bound = 0, 0.0
        if self.may_violate or self.wants_margin:
            value, bound = round(solver.objective_value), solver.best_objective_bound
        return ExactResult(proof, network, activations, value, bound, seconds)

    def _add_example(self, k: int) -> list[Any]:
        activations = [self._activation(k, node) for node in range(self.topology.node_count)]
        for node in range(self.topology.input_count, self.topology.node_count):
            self._add_neuron(k, node, activations)
        return activations

    def _activation(self, k: int, node: int) -> Any:
        if self.known_spins[k, node]:
            return self.model.new_constant(int(self.known_spins[k, node] > 0))
        free = self.model.new_bool_var(f"y{k},{node}")
        if node in self.topology.outputs:
            wanted = self.problem.output_spins[k, node - self.topology.outputs.start] > 0
            self.costs.append(1 - free if wanted else free)
        return free

    def _add_neuron(self, k: int, node: int, activations: list[Any]) -> None:
        """Make the activation true exactly when more than half of the terms are."""
        terms = [self.biases[node - self.topology.input_count]]
        terms += [self._term(k, arc, activations) for arc in self.topology.arcs_into(node).tolist()]
        count, own = sum(terms), activations[node]
        least = len(terms) // 2 + 1
        conditions = []
        if self.may_violate:
            conditions = [self.model.new_bool_var(f"holds{k},{node}")]
            self.costs.append(1 - conditions[0])
        self.model.add(count >= least).only_enforce_if([own, *conditions])
        self.model.add(count <= least - 1).only_enforce_if([~own, *conditions])
        if self.wants_margin:
            margin = self.model.new_int_var(0, len(terms), f"m{k},{node}")
            self.model.add(margin == 2 * count - len(terms)).only_enforce_if(own)
            self.model.add(margin == len(terms) - 2 * count).only_enforce_if(~own)
            self.margins.append(margin)

    def _term(self, k: int, arc: int, activations: list[Any]) -> Any:
        """Return whether weight times activation is +1: the two bits are equal."""
        source = int(self.topology.source_of[arc])
        weight = self.weights[int(self.topology.weight_of[arc])]
        if self.known_spins[k, source]:
            return weight if self.known_spins[k, source] > 0 else ~weight
        agree = self.model.new_bool_var(f"t{k},{arc}")
        y = activations[source]
        self.model.add_bool_or([weight, y, agree])
        self.model.add_bool_or([~weight, ~y, agree])
        self.model.add_bool_or([weight, ~y, ~agree])
        self.model.add_bool_or([~weight, y, ~agree])
        return agree


def _spins(solver: Any, variables: list[Any]) -> list[int]:
    return [2 * solver.value(variable) - 1 for variable in variables]
