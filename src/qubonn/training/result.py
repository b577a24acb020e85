"""TrainingResult: the distinct networks of a run, best first, each certified on demand.

Problem, replicas or networks -> distinct networks, their order by true energy, committees.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitVector, IntVector, SpinVector, require_count
from qubonn.drawing.cards import card, result_facts
from qubonn.encoding import Reading
from qubonn.engines import Solutions
from qubonn.errors import RangeError
from qubonn.formulation import Certificate, Terms, TrainingProblem, Violations
from qubonn.network import BinaryNetwork
from qubonn.stopping import Stop
from qubonn.topology import Topology
from qubonn.training.committee import Committee, pick_diverse


@dataclass(frozen=True, eq=False)
class Iteration:
    """One training of a thinned network on one batch, and how far it moved the field.

    The spins are those of the network of lowest energy, numbered as in ``topology.thin(dropped)``;
    with the votes of all iterations they give the field again, step by step.
    """

    number: int  # from 0
    dropped: IntVector  # nodes that were removed, in order
    example_count: int
    rows: IntVector | None  # the batch's rows of the whole data, where `Batches` made it
    weight_spins: SpinVector
    bias_spins: SpinVector
    violation_count: int  # n^USC: constraints that the solver left unsatisfied
    vote: float  # eta * beta^nUSC, by which the field moved
    energy: float  # of that network, with the field before this iteration
    accuracy: float | None  # of the thinned network on its batch; None for cyclic networks
    weight_norm: float  # Euclidean norm of c^w afterwards
    bias_norm: float  # of c^b
    solver: str
    seconds: float

    def network(self, topology: Topology) -> BinaryNetwork:
        """Return the thinned network; `topology` is that of the whole one."""
        return BinaryNetwork(
            topology.thin(self.dropped).topology, self.weight_spins, self.bias_spins
        )

    def __repr__(self) -> str:
        return (
            f"Iteration({self.number}: dropped {len(self.dropped)} nodes, {self.example_count} "
            f"examples, {self.violation_count} violations, vote {self.vote:g}, energy "
            f"{self.energy:g}, {self.seconds:.3g} s)"
        )


@dataclass(frozen=True, eq=False, repr=False)
class TrainingResult:
    """The distinct networks that training found, lowest energy first.

    ``energies`` are totals of H; those of `ForwardAnnealing` are its own, see there. `certificate`
    evaluates a network independently of the solver, from its full assignment of the problem.
    ``solver`` names the solver and why it was chosen. ``history`` has the iterations of dropout or
    mini-batches, and is empty for one-shot training.
    """

    problem: TrainingProblem
    networks: tuple[BinaryNetwork, ...]
    activations: tuple[NDArray[np.int8], ...]  # examples x nodes of each network, as found
    energies: NDArray[np.float64]
    solver: str
    stop: Stop
    info: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Iteration, ...] = ()
    best_bits: BitVector | None = None  # the best state of a QUBO sampler

    @classmethod
    def of(cls, found: Solutions, solver: str) -> "TrainingResult":
        """Keep each network of a run once, in the order of the run."""
        row_of: dict[BinaryNetwork, int] = {}
        parameters = found.weight_spins, found.bias_spins
        networks = BinaryNetwork.of_rows(found.problem.topology, *parameters)
        for row, network in enumerate(networks):
            row_of.setdefault(network, row)
        rows = list(row_of.values())
        return cls(
            found.problem,
            tuple(row_of),
            tuple(found.activation_spins[row] for row in rows),
            found.energies[rows],
            solver,
            found.stop,
            found.info,
        )

    @classmethod
    def of_networks(
        cls,
        problem: TrainingProblem,
        networks: Iterable[BinaryNetwork],
        solver: str,
        *,
        fewest_violations_first: bool = False,
    ) -> "TrainingResult":
        """Keep each network once, with the activations that it implies, ordered by true energy."""
        distinct = tuple(dict.fromkeys(networks))
        activations = tuple(problem.assignment(network).activation_spins for network in distinct)
        unknown = np.full(len(distinct), np.nan)
        result = cls(problem, distinct, activations, unknown, solver, Stop.FINISHED)
        return result.by_true_energy(fewest_violations_first=fewest_violations_first)

    def by_true_energy(self, *, fewest_violations_first: bool = False) -> "TrainingResult":
        """Sort the networks by the energy H of their certificates; the sort is stable."""
        energies = np.array([float(one.terms.total) for one in self.certificates])
        counts = [unsatisfied_count(one) * fewest_violations_first for one in self.certificates]
        order = sorted(range(len(energies)), key=lambda n: (counts[n], energies[n]))
        return replace(
            self,
            networks=tuple(self.networks[number] for number in order),
            activations=tuple(self.activations[number] for number in order),
            energies=energies[order],
        )

    @property
    def network(self) -> BinaryNetwork:
        """The network of lowest energy."""
        return self.networks[0]

    def certificate(self, number: int = 0) -> Certificate:
        """Evaluate a network: by its forward pass, or with cycles by the activations found."""
        given = None if self.problem.topology.is_acyclic else self.activations[number]
        return self.problem.certify(self.networks[number], given)

    @cached_property
    def certificates(self) -> tuple[Certificate, ...]:
        """The certificates of all networks."""
        return tuple(self.certificate(number) for number in range(len(self.networks)))

    @property
    def is_feasible(self) -> bool:
        """Whether the best network satisfies every constraint."""
        return self.certificate().is_feasible

    @property
    def violation_count(self) -> int:
        """Constraints that the best network violates."""
        return self.certificate().violations.count

    @property
    def unsatisfied_count(self) -> int:
        """Constraints that the best state violates as the solver left it; n^USC in the paper.

        The state of a QUBO sampler has counts and products of its own, that of an engine
        activations of its own; `violation_count` replaces them by those of the forward pass. Where
        outputs are free, wrong ones count too.
        """
        return self.found_violations.count + ceil(self.found_terms.output)

    @property
    def found_violations(self) -> Violations:
        """The violations of the best state as the solver left it, see `unsatisfied_count`."""
        return self._as_found[1]

    @property
    def found_terms(self) -> Terms:
        """H1, H2, H_som, H_ext and the total of the best state as the solver left it."""
        return self._as_found[0]

    @property
    def terms(self) -> Terms:
        """H1, H2, H_som, H_ext and the total of the best network."""
        return self.certificate().terms

    @property
    def feasible_networks(self) -> tuple[BinaryNetwork, ...]:
        """The networks that satisfy every constraint, lowest energy first."""
        return tuple(self.networks[number] for number in self._feasible_numbers)

    def committee(
        self,
        size: int | None = None,
        *,
        by: Literal["energy", "margin", "diversity"] = "energy",
        reading: Reading = "signs",
    ) -> Committee:
        """Return a committee of the feasible networks, or of all if none is; at most `size`.

        Chosen by lowest energy, by largest S2, or such that they disagree as much as possible on
        the training inputs with one input inverted each.
        """
        numbers = list(self._feasible_numbers) or list(range(len(self.networks)))
        count = len(numbers) if size is None else require_count("size", size)
        if by == "margin":
            numbers.sort(key=lambda n: -self.certificates[n].margins.s2)
        elif by == "diversity":
            numbers = [numbers[n] for n in pick_diverse(self._answers(numbers), count)]
        elif by != "energy":
            raise RangeError(f"by must be 'energy', 'margin' or 'diversity'; got {by!r}")
        return Committee([self.networks[n] for n in numbers[:count]], reading)

    @cached_property
    def _as_found(self) -> tuple[Terms, Violations]:
        if self.best_bits is not None:
            return self.problem.terms(self.best_bits), self.problem.violations(self.best_bits)
        certificate = self.problem.certify(self.network, self.activations[0])
        return certificate.terms, certificate.violations

    @cached_property
    def _feasible_numbers(self) -> tuple[int, ...]:
        """Without cycles a network is feasible exactly if its forward pass gives the outputs."""
        if not self.problem.topology.is_acyclic:
            return tuple(n for n, one in enumerate(self.certificates) if one.is_feasible)
        answers = Committee(self.networks).member_outputs(self.problem.input_spins)
        is_right = (answers == self.problem.output_spins).all(axis=(1, 2))
        return tuple(np.flatnonzero(is_right).tolist())

    def _answers(self, numbers: list[int]) -> NDArray[np.int8]:
        """Outputs of each network on every training input with one input inverted, as rows."""
        flips = 1 - 2 * np.eye(self.problem.topology.column_count, dtype=np.int8)
        inverted = (self.problem.input_spins[:, np.newaxis] * flips).reshape(-1, len(flips))
        return np.stack([self.networks[n].predict_outputs(inverted).ravel() for n in numbers])

    def __repr__(self) -> str:
        certificate = self.certificate()
        best = (
            "feasible" if certificate.is_feasible else f"{certificate.violations.count} violations"
        )
        after = f" after {len(self.history)} iterations" if self.history else ""
        return (
            f"TrainingResult({len(self.networks)} networks, best: {best}, energy "
            f"{self.energies[0]:g}; {self.solver}{after}; {self.stop.name})"
        )

    def _repr_html_(self) -> str:
        return card("TrainingResult", result_facts(self), self.problem.topology)


def unsatisfied_count(certificate: Certificate) -> int:
    """Return the number of violated constraints; wrong outputs count where they are free."""
    return certificate.violations.count + ceil(certificate.terms.output)
