"""TrainingProblem: a network, its examples and the strengths of the energy; to bits and back.

Topology, inputs, outputs -> QUBO; network -> assignment -> certificate; bits -> network.
Paper, eq:training, eq:training-som and eq:augmented-training in one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import (
    BitVector,
    IntVector,
    SpinMatrix,
    require_count,
    require_memory,
    require_real_matrix,
    require_spin_matrix,
    require_strength,
    require_weights,
)
from qubonn.drawing.cards import card, problem_facts
from qubonn.errors import AlphabetError, RangeError, ShapeError, TopologyError
from qubonn.formulation.assignment import Assignment, implied, pack, unpack
from qubonn.formulation.contradictions import Contradictions, find_contradictions
from qubonn.formulation.evaluation import Terms, Violations, evaluate_terms, find_violations
from qubonn.formulation.structure import structure_of
from qubonn.formulation.terms import (
    ActivationTerm,
    DecayTerm,
    Field,
    FieldTerm,
    MarginTerm,
    OutputTerm,
    ProductTerm,
    Term,
    coupling_bound,
)
from qubonn.formulation.variables import Variables
from qubonn.network import BinaryNetwork, Margins
from qubonn.network.binary_network import require_topology
from qubonn.network.forward import plan_levels, run_forward, sign
from qubonn.quadratic import Hamiltonian, Qubo
from qubonn.quadratic.hardware import Hardware, hardware_of
from qubonn.topology import Topology

BYTES_PER_TERM = 64  # of an unmerged term at the peak of building
LARGEST_WHOLE = 2**31  # of weights of examples that are kept as whole numbers


@dataclass(frozen=True)
class ProblemSize:
    """The counts of the paper's tab:networks, and the number of bits of the QUBO."""

    nodes: int
    arcs: int
    binary: int  # free weights, biases and activations, and products
    integer: int  # one count chi per neuron and example
    constraints: int
    qubo_variables: int


@dataclass(frozen=True, eq=False)
class Certificate:
    """What a network costs when it is written out as a full assignment of the problem."""

    terms: Terms
    violations: Violations
    margins: Margins

    @property
    def is_feasible(self) -> bool:
        """Whether every constraint holds and every output is right."""
        return self.violations.count == 0 and self.terms.output == 0

    def __repr__(self) -> str:
        verdict = "feasible"
        if not self.is_feasible:
            verdict = f"infeasible, {self.violations!r}, {self.terms.output} wrong outputs"
        return (
            f"Certificate({verdict}: H1={self.terms.activation}, H2={self.terms.product}, "
            f"S1={self.margins.s1}, S2={self.margins.s2})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class TrainingProblem:
    """Find weights and biases so that the network maps every input to its output.

    The energy is H1 + alpha * H2 - gamma * H_som - H_ext with alpha = `product_strength`,
    gamma = `margin_strength` and H_ext given by `field`. Inputs are real and binarised by f
    (positive is +1, the rest -1); outputs are -1 or +1. Outputs are fixed, or, with
    `output_strength`, left free with that penalty for each wrong one. `decay_strength` times the
    sum of squares of all weights of several levels, and `extra_terms`, are added to the energy:
    samplers minimise any term, engines refuse those that they do not support. The energy of each
    example, its part of H1, H2, H_som and the wrong outputs, is multiplied by its weight in
    `example_weights`; 2 is the same as giving the example twice. `encoding` is how counts become
    bits: "binary" as in the paper; "unary", bits of weight 1; or the largest weight of a bit. All
    have the same networks and energies; smaller weights need more bits of less precision. With
    `share`, examples whose inputs to a neuron agree share its activation, count bits and products
    in the QUBO; the energy of each state remains that of the same state written out in full.

    >>> problem = TrainingProblem(Topology.dense(2, 1), [[1, 1], [1, -1]], [[1], [-1]])
    >>> problem.qubo()
    Qubo(5 variables, 7 couplings, int64)
    >>> network = problem.decode(problem.encode(BinaryNetwork(problem.topology, [1, 1], [-1])))
    >>> problem.certify(network)
    Certificate(feasible: H1=0, H2=0, S1=1, S2=2)
    """

    topology: Topology
    inputs: ArrayLike
    outputs: ArrayLike
    product_strength: float = 1
    margin_strength: float = 0
    field: Field = None  # type: ignore[assignment]  # None becomes a field of zeros
    output_strength: float | None = None
    extra_terms: Sequence[Term] = ()
    decay_strength: float = 0
    example_weights: ArrayLike | None = None
    encoding: str | int = "binary"
    share: bool = False

    def __post_init__(self) -> None:
        # checked, frozen and as spins before anything is built on them
        columns = require_topology(self.topology).column_count
        inputs = require_real_matrix("inputs", self.inputs, columns=columns, of="input neuron")
        size = {"columns": self.topology.output_count, "rows": len(inputs)}
        outputs = require_spin_matrix("outputs", self.outputs, of="output neuron", **size)
        for name, spins in (("inputs", sign(inputs)), ("outputs", outputs.copy())):
            spins.setflags(write=False)
            object.__setattr__(self, name, spins)
        for name in ("product_strength", "margin_strength", "decay_strength"):
            object.__setattr__(self, name, require_strength(name, getattr(self, name)))
        if self.output_strength is not None:
            checked = require_strength("output_strength", self.output_strength)
            object.__setattr__(self, "output_strength", checked)
        if self.field is None:
            object.__setattr__(self, "field", Field.zero(self.topology))
        if not isinstance(self.field, Field):
            raise ShapeError(
                "field must be a Field(weights, biases), one strength per weight and per neuron; "
                f"got {type(self.field).__name__}"
            )
        self.field.require_fit(self.topology)
        object.__setattr__(self, "extra_terms", tuple(self.extra_terms))
        weights = _example_weights(self.example_weights, len(inputs))
        object.__setattr__(self, "example_weights", weights)
        self._count_bound  # noqa: B018 - refuses other encodings
        names = [term.name for term in self.energy_terms]
        if len(set(names)) < len(names):
            raise RangeError(f"each term must have a name of its own; got {', '.join(names)}")

    @property
    def example_count(self) -> int:
        """Number of examples, |K| in the paper."""
        return len(self.input_spins)

    @property
    def input_spins(self) -> SpinMatrix:
        """Inputs after f, examples x columns of the data."""
        return self.inputs  # type: ignore[return-value]

    @property
    def output_spins(self) -> SpinMatrix:
        """Wanted outputs, examples x outputs."""
        return self.outputs  # type: ignore[return-value]

    @property
    def weight_of_example(self) -> NDArray[Any]:
        """The weight of each example; whole numbers as int64."""
        given: NDArray[Any] | None = self.example_weights  # type: ignore[assignment]
        return np.ones(self.example_count, dtype=np.int64) if given is None else given

    def of_examples(self, rows: IntVector | slice) -> "TrainingProblem":
        """Return the problem of some of the examples."""
        weights = self.example_weights
        return replace(
            self,
            inputs=self.input_spins[rows],
            outputs=self.output_spins[rows],
            example_weights=None if weights is None else self.weight_of_example[rows],
        )

    @property
    def has_fixed_outputs(self) -> bool:
        """Whether outputs are constants of the problem rather than variables with a penalty."""
        return self.output_strength is None

    @cached_property
    def energy_terms(self) -> tuple[Term, ...]:
        """The terms whose weighted sum is the energy."""
        outputs: tuple[Term, ...] = ()
        if self.output_strength is not None:
            outputs = (OutputTerm(self.output_strength, self.output_spins),)
        return (
            ActivationTerm(),
            ProductTerm(self.product_strength),
            MarginTerm(self.margin_strength),
            FieldTerm(self.field),
            DecayTerm(self.decay_strength),
            *outputs,
            *self.extra_terms,
        )

    @cached_property
    def variables(self) -> Variables:
        """The numbers and labels of all variables."""
        topology = self.topology
        bits = np.zeros((self.example_count, topology.node_count), dtype=np.int8)
        bits[:, : topology.input_count] = topology.with_constant(self.input_spins) > 0
        if self.has_fixed_outputs:
            bits[:, topology.outputs.start :] = self.output_spins > 0
        weights = None if self.example_weights is None else self.weight_of_example
        structure = structure_of(topology, self.has_fixed_outputs, self._count_bound)
        return Variables(structure, bits, weights, bool(self.share))

    @property
    def size(self) -> ProblemSize:
        """How large the problem is, counted as the paper counts."""
        topology, variables = self.topology, self.variables
        products = self.example_count * len(variables.structure.product_arcs)
        neurons = self.example_count * topology.neuron_count
        activations = self.example_count * len(variables.structure.free_nodes)
        parameters = len(topology.free_weights) + len(topology.free_biases)
        return ProblemSize(
            nodes=topology.node_count,
            arcs=topology.arc_count,
            binary=parameters + activations + products,
            integer=neurons,
            constraints=neurons + products,
            qubo_variables=variables.count,
        )

    @cached_property
    def contradictions(self) -> Contradictions:
        """Examples with the same input spins and different outputs, and what they cost at least.

        Always none for a network with cycles, which may have several states for the same inputs.

        >>> torn = TrainingProblem(Topology.dense(2, 1), [[1, 1], [1, 1]], [[1], [-1]])
        >>> torn.contradictions
        Contradictions(groups=((0, 1),), least_penalty=1)
        """
        if not self.topology.is_acyclic:
            return Contradictions()
        free = () if self.output_strength is None else (self.output_strength,)
        least = min(1, self.product_strength, *free)  # of a violated constraint, or a wrong output
        examples = self.input_spins, self.output_spins, self.weight_of_example
        return find_contradictions(*examples, least)

    # ---- to a QUBO ----

    def hamiltonian(self, term: str | None = None) -> Hamiltonian:
        """Return the whole energy, or one term before its factor.

        Terms are "activation" (H1), "product" (H2), "margin" (H_som), "field" (H_ext), "decay",
        "output" where outputs are free, and the names of extra terms.
        """
        variables, terms = self.variables, {one.name: one for one in self.energy_terms}
        if term in terms:
            return terms[term].hamiltonian(variables)
        if term is not None:
            free = "" if "output" in terms else " or, where output_strength is given, 'output'"
            raise RangeError(f"term must be {', '.join(map(repr, terms))}{free}; got {term!r}")
        weighed = [(one.sign * one.strength, one) for one in self.energy_terms if one.strength]
        return Hamiltonian.total([factor * one.hamiltonian(variables) for factor, one in weighed])

    def qubo(self, term: str | None = None) -> Qubo:
        """Build the QUBO of the whole energy, or of one term before its factor.

        Coefficients are int64 while all strengths are whole numbers, float64 otherwise. All terms
        have the same variables in the same order, described in `qubonn.formulation.variables`.
        """
        if term in (None, "activation"):  # all other terms are linear in the size of the data
            bound = coupling_bound(self.variables)
            require_memory(f"a QUBO of up to {bound:,} couplings", bound * BYTES_PER_TERM)
        return self.hamiltonian(term).to_qubo(self.variables.count, self.variables.labels)

    def hardware(self, *, embed: bool = False, seed: int = 0, time_limit: float = 60) -> Hardware:
        """Describe what the QUBO asks of an annealing machine, before it is sent anywhere.

        Qubits and chains on Pegasus and Zephyr graphs are estimated, or with `embed` found by
        minorminer within `time_limit` seconds for each graph.
        """
        found = hardware_of(self.qubo(), embed=embed, seed=seed, time_limit=time_limit)
        return replace(found, suggested_alpha=self._suggested_alpha(found))

    # ---- networks to bits and back ----

    def encode(self, network: BinaryNetwork, activations: ArrayLike | None = None) -> BitVector:
        """Return the full assignment that the network's forward pass implies.

        Fixed outputs have their wanted value, also for neurons that depend on them. Where cycles
        remain, consistent activations are looked for, or given as `activations` (examples x nodes).
        """
        return pack(self.variables, self.assignment(network, activations))

    def decode(self, bits: ArrayLike) -> BinaryNetwork:
        """Return the network whose weights and biases stand in a full assignment."""
        return self.read(bits).network

    def read(self, bits: ArrayLike) -> Assignment:
        """Return a full assignment as named parts: network, activations, counts and products."""
        return unpack(self.variables, bits)

    def assignment(
        self, network: BinaryNetwork, activations: ArrayLike | None = None
    ) -> Assignment:
        """Return what `encode` encodes, as named parts instead of flat bits."""
        if not isinstance(network, BinaryNetwork):
            raise TopologyError(
                f"network must be a BinaryNetwork; got {type(network).__name__}: "
                "problem.decode(bits) makes one from an assignment"
            )
        if network.topology != self.topology:
            raise TopologyError(
                f"the network must have the problem's topology, {self.topology!r}; "
                f"got {network.topology!r}"
            )
        if activations is None:
            spins = self._activations(network)
        else:
            spins = self._checked_activations(activations)
        return implied(self.variables, network, spins)

    # ---- evaluation ----

    def terms(self, bits: ArrayLike) -> Terms:
        """Return H1, H2, H_som, H_ext, the other terms and the total of a full assignment."""
        return evaluate_terms(self.energy_terms, self.variables, self.read(bits))

    def violations(self, bits: ArrayLike) -> Violations:
        """Return which activation and product constraints a full assignment fails."""
        return find_violations(self.variables, self.read(bits))

    def certify(self, network: BinaryNetwork, activations: ArrayLike | None = None) -> Certificate:
        """Write the network out as a full assignment and evaluate it, without building the QUBO."""
        assignment = self.assignment(network, activations)
        terms = evaluate_terms(self.energy_terms, self.variables, assignment)
        sums = network.pre_activations_at(assignment.activation_spins)
        found = find_violations(self.variables, assignment)
        return Certificate(terms, found, Margins(np.abs(sums)))

    def __repr__(self) -> str:
        return f"TrainingProblem({self.topology!r}, {self.example_count} examples)"

    def _repr_html_(self) -> str:
        return card("TrainingProblem", problem_facts(self), self.topology)

    # ---- helpers ----

    @property
    def _count_bound(self) -> int | None:
        """The largest weight of a count bit; None for powers of two."""
        if self.encoding == "binary":
            return None
        if isinstance(self.encoding, str) and self.encoding != "unary":
            raise RangeError(
                "encoding must be 'binary', 'unary' or the largest weight of a count bit; got "
                f"{self.encoding!r}"
            )
        return 1 if self.encoding == "unary" else require_count("encoding", self.encoding)

    def _suggested_alpha(self, found: Hardware) -> float | None:
        """Return the largest alpha up to 4 that does not widen the range of the Ising form.

        A broken product changes a residual r by 2, which saves at most 4 * (r - 1) of H1: with
        alpha = 4, breaking one no longer hides a residual of 2. Larger ones only cost range.
        """
        if not len(self.variables.structure.product_arcs):
            return None
        widest = max(map(abs, found.ising_range))
        for alpha in range(4, 1, -1):
            ising = replace(self, product_strength=alpha).qubo().to_ising()
            if max(np.abs(ising.fields).max(), np.abs(ising.couplings).max()) <= widest:
                return alpha
        return 1

    def _activations(self, network: BinaryNetwork) -> SpinMatrix:
        """Activations of all nodes; outputs clamped where they are fixed."""
        topology = self.topology
        held = np.array(topology.outputs if self.has_fixed_outputs else [], dtype=np.int64)
        held_spins = self.output_spins[:, : len(held)]
        if topology.levels_or_none(tuple(held.tolist())) is None:
            return self._settled(network, held, held_spins)
        plan = plan_levels(topology, network.weight_spins, network.bias_spins, held.tolist())
        return run_forward(plan, topology, self.input_spins, (held, held_spins)).activation_spins

    def _settled(
        self, network: BinaryNetwork, held: NDArray[np.int64], held_spins: SpinMatrix
    ) -> SpinMatrix:
        """For each example the consistent state that agrees best with the outputs."""
        first = self.topology.input_count
        chosen = []
        rows = zip(self.input_spins, held_spins, self.output_spins, strict=True)
        for inputs, outputs, wanted in rows:
            settled = network.settle(inputs, clamped=(held, outputs))
            states = settled.states if len(settled.states) else settled.closest[None]
            sums = network.pre_activations_at(states)
            wrong_count = (sign(sums) != states[:, first:]).sum(axis=1)
            wrong_count += (states[:, self.topology.outputs.start :] != wanted).sum(axis=1)
            chosen.append(states[np.argmin(wrong_count)])
        return np.stack(chosen)

    def _checked_activations(self, activations: ArrayLike) -> SpinMatrix:
        size = {"columns": self.topology.node_count, "rows": self.example_count}
        spins = require_spin_matrix("activations", activations, of="node", **size)
        known_spins = 2 * self.variables.known_bits - 1
        differs = (spins != known_spins) & self.variables.structure.is_known
        if differs.any():
            example, node = np.argwhere(differs)[0]
            raise AlphabetError(
                "activations must agree with the inputs and the fixed outputs; example "
                f"{example} has {spins[example, node]:+d} at node {node}, where the problem "
                f"has {known_spins[example, node]:+d}"
            )
        return spins


def _example_weights(values: ArrayLike | None, count: int) -> NDArray[Any] | None:
    """Return checked, frozen weights, int64 if all are whole; None if all are 1."""
    if values is None:
        return None
    weights = require_weights("example_weights", values, count=count)
    if (weights == 1).all():
        return None
    is_whole = (weights == np.rint(weights)).all() and weights.max() < LARGEST_WHOLE
    weights = weights.astype(np.int64 if is_whole else np.float64)
    weights.setflags(write=False)
    return weights
