"""A model as sums of spins: what all styles of Verilog are written from.

Exported -> Circuit.  Paper, eq:activation.  Every neuron of every member, and every vote, is a sum
of whole weights times spins plus a constant; a neuron is +1 where its sum is positive. What cannot
matter is left out here, once for all styles: weights of zero, neurons whose sum always has the same
sign, copies (and negatives) of other neurons, and neurons that no vote depends on.
"""

from dataclasses import dataclass, field, replace
from math import gcd

import numpy as np

from qubonn.export.model import Classes, Exported
from qubonn.topology.blocks import blocks_by_level, threshold_sums

Literal = tuple[int, int]  # a node and +1, or -1 for its negative; node -1 is the constant +1
CONSTANT = -1


@dataclass(frozen=True)
class Sum:
    """``sum(weight * spin) + constant``; sources rise, and no weight is 0."""

    sources: tuple[int, ...]
    weights: tuple[int, ...]
    constant: int

    @property
    def size(self) -> int:
        """The sum of the weights without their signs."""
        return sum(map(abs, self.weights))

    @property
    def least_count(self) -> int:
        """The least count at which the sum is positive.

        The count is the sum of ``abs(weight)`` over the terms that are positive: the sum is twice
        the count, minus `size`, plus `constant`.
        """
        return (self.size - self.constant) // 2 + 1


@dataclass(frozen=True)
class Left:
    """How many neurons were left out, and why."""

    constant: int = 0
    copies: int = 0
    unused: int = 0


@dataclass(frozen=True, eq=False)
class Circuit:
    """Neurons level by level, and votes on what comes out.

    Nodes are the inputs, then the neurons of `levels` in order. If `has_class`, the index of the
    first largest vote comes out; if `has_outputs`, spins: a single one, at this index, is +1, or
    without `has_class` those whose votes are positive.
    """

    input_count: int
    levels: tuple[tuple[Sum, ...], ...]
    votes: tuple[Sum, ...]
    has_outputs: bool
    has_class: bool
    left: Left

    @property
    def neuron_count(self) -> int:
        """Number of neurons that are computed, without the votes."""
        return sum(map(len, self.levels))

    @property
    def index_width(self) -> int:
        """Bits of the index of a class."""
        return max(1, (len(self.votes) - 1).bit_length())

    def equal_sources(self, least: int) -> list[tuple[int, ...]]:
        """Return nodes of one level that have the same weight in every sum, `least` or more."""
        sizes = [self.input_count, *map(len, self.levels)]
        level_of = np.repeat(np.arange(len(sizes)), sizes).tolist()
        uses: list[list[int]] = [[level] for level in level_of]
        for number, one in enumerate([*(n for level in self.levels for n in level), *self.votes]):
            for source, weight in zip(one.sources, one.weights, strict=True):
                uses[source] += number, weight
        alike: dict[tuple[int, ...], list[int]] = {}
        for node, own in enumerate(uses):
            alike.setdefault(tuple(own), []).append(node)
        return [tuple(nodes) for own, nodes in alike.items() if len(nodes) >= least and own[1:]]

    @property
    def scores(self) -> tuple[Sum, ...]:
        """Votes as counts: ``count + constant`` of these ranks the classes; none is negative.

        Votes are twice the counts plus constants; what divides all of them is left out.
        """
        constants = np.array([vote.constant - vote.size for vote in self.votes], dtype=np.int64)
        constants -= constants.min()
        weights = [2 * weight for vote in self.votes for weight in vote.weights]
        divisor = gcd(*weights, *constants.tolist()) or 1
        return tuple(
            Sum(vote.sources, tuple(2 * weight // divisor for weight in vote.weights), constant)
            for vote, constant in zip(self.votes, (constants // divisor).tolist(), strict=True)
        )


def circuit_of(model: Exported) -> Circuit:
    """Return the circuit of a model, without what cannot matter."""
    plan = _Plan(model.topology.column_count)
    by_signs = model.is_committee and model.reading == "signs"
    members = [_add_member(plan, model, member) for member in range(model.member_count)]
    votes = []
    for node in model.topology.outputs:
        if by_signs:
            spins = [member.spin_of(node) for member in members]
            votes.append(plan.simplified([(*spin, 1) for spin in spins], 0))
        else:
            votes.append(_added([member.sums[node] for member in members]))
    if model.classes is not None:
        votes = _class_votes(plan, model.classes, votes, model.member_count)
    levels, votes, unused = plan.used(votes)
    left = Left(plan.constant_count, plan.copy_count, unused)
    has_class = model.classes is not None or model.reading == "largest"
    results = model.classes is None, has_class
    return Circuit(model.topology.column_count, tuple(levels), tuple(votes), *results, left)


def _class_votes(plan: "_Plan", classes: Classes, votes: list[Sum], size: int) -> list[Sum]:
    """Return the score of each class as a sum.

    The evidence of an output grows with the number of members that output +1. So it is a sum over
    neurons that are +1 where at least 1, 2, ... members are, weighted by what each of them adds.
    """
    if classes.evidence is None:
        offsets = [0] * len(votes) if classes.offsets is None else classes.offsets.tolist()
        return [
            replace(vote, constant=vote.constant + offset)
            for vote, offset in zip(votes, offsets, strict=True)
        ]
    least, most = int(classes.evidence[0]), int(classes.evidence[-1])
    steps = np.diff(classes.evidence).tolist()
    reached = [
        [
            (*plan.spin_of(replace(vote, constant=vote.constant + size - 2 * count + 1)), step)
            for count, step in enumerate(steps, start=1)
        ]
        for vote in votes
    ]
    found = []
    for codeword in classes.codewords.tolist():
        terms = [
            (node, sign * spin, step)
            for spin, own in zip(codeword, reached, strict=True)
            for node, sign, step in own
        ]
        found.append(plan.simplified(terms, sum(codeword) * (least + most)))
    return found


@dataclass
class _Member:
    """Sums of a member's neurons, and the spins that something depends on."""

    plan: "_Plan"
    spins: dict[int, Literal]
    sums: dict[int, Sum] = field(default_factory=dict)

    def spin_of(self, node: int) -> Literal:
        """Return the spin of a node of the topology."""
        if node not in self.spins:
            self.spins[node] = self.plan.spin_of(self.sums[node])
        return self.spins[node]


def _add_member(plan: "_Plan", model: Exported, number: int) -> _Member:
    """Add the neurons of a member."""
    topology, weights = model.topology, model.weight_spins[number]
    constants = threshold_sums(topology, weights[None], model.bias_spins[number][None])[0]
    member = _Member(plan, {node: (node, 1) for node in range(topology.column_count)})
    for block in (block for blocks in blocks_by_level(topology) for block in blocks):
        values = weights[block.weights].sum(axis=1, dtype=np.int64)  # filters x sources
        for nodes, sources in zip(block.nodes.tolist(), block.sources.tolist(), strict=True):
            own = [member.spin_of(source) for source in sources]
            for node, row in zip(nodes, values.tolist(), strict=True):
                terms = [(*spin, value) for spin, value in zip(own, row, strict=True)]
                constant = int(constants[node - topology.input_count])
                member.sums[node] = plan.simplified(terms, constant)
    return member


def _added(sums: list[Sum]) -> Sum:
    """Return the sum of sums."""
    weights: dict[int, int] = {}
    for one in sums:
        for source, weight in zip(one.sources, one.weights, strict=True):
            weights[source] = weights.get(source, 0) + weight
    return _sum(weights, sum(one.constant for one in sums))


def _sum(weights: dict[int, int], constant: int) -> Sum:
    terms = sorted((source, weight) for source, weight in weights.items() if weight)
    return Sum(tuple(s for s, _ in terms), tuple(w for _, w in terms), constant)


@dataclass
class _Plan:
    """Neurons as they are added; equal ones are one."""

    input_count: int
    neurons: list[Sum] = field(default_factory=list)
    known: dict[tuple[object, ...], int] = field(default_factory=dict)
    constant_count: int = 0
    copy_count: int = 0

    def simplified(self, terms: list[tuple[int, int, int]], constant: int) -> Sum:
        """Return the sum of ``sign * spin * weight``, with each source once."""
        weights: dict[int, int] = {}
        for node, sign, weight in terms:
            weights[node] = weights.get(node, 0) + sign * weight
        return _sum(weights, constant + weights.pop(CONSTANT, 0))

    def spin_of(self, sums: Sum) -> Literal:
        """Return where a sum is positive: a constant, a known node, or a new one."""
        if sums.size + sums.constant <= 0 or sums.constant - sums.size > 0:
            self.constant_count += 1
            return CONSTANT, 1 if sums.constant - sums.size > 0 else -1
        sign, least = 1, sums.least_count
        divisor = gcd(*sums.weights)
        weights, size = tuple(w // divisor for w in sums.weights), sums.size // divisor
        least = -(-least // divisor)
        if weights[0] < 0:  # the negative: it is positive where the count is too small
            sign, weights, least = -1, tuple(-w for w in weights), size - least + 1
        if len(weights) == 1:
            self.copy_count += 1
            return sums.sources[0], sign
        key = sums.sources, weights, least
        if key in self.known:
            self.copy_count += 1
        else:
            self.known[key] = self.input_count + len(self.neurons)
            constant = size - 2 * least + 1
            self.neurons.append(Sum(sums.sources, weights, constant))
        return self.known[key], sign

    def used(self, votes: list[Sum]) -> tuple[list[tuple[Sum, ...]], list[Sum], int]:
        """Return levels and votes, numbered again without neurons that no vote depends on."""
        needed = {source for vote in votes for source in vote.sources}
        level_of: dict[int, int] = {}
        for node in range(self.input_count + len(self.neurons) - 1, self.input_count - 1, -1):
            if node in needed:
                needed.update(self.neurons[node - self.input_count].sources)
        for node in sorted(needed):
            if node >= self.input_count:
                sources = self.neurons[node - self.input_count].sources
                level_of[node] = 1 + max(level_of.get(source, 0) for source in sources)
        order = sorted(level_of, key=lambda node: (level_of[node], node))
        number = {node: self.input_count + n for n, node in enumerate(order)}
        levels: list[list[Sum]] = [[] for _ in range(max(level_of.values(), default=0))]
        for node in order:
            sums = self.neurons[node - self.input_count]
            levels[level_of[node] - 1].append(_renumbered(sums, number))
        unused = len(self.neurons) - len(order)
        return [tuple(level) for level in levels], [_renumbered(v, number) for v in votes], unused


def _renumbered(sums: Sum, number: dict[int, int]) -> Sum:
    weights = zip(sums.sources, sums.weights, strict=True)
    return _sum({number.get(source, source): weight for source, weight in weights}, sums.constant)
