"""A circuit as a list of operations on bits: counters, additions, comparisons.

Circuit -> Netlist.  The combinational and the pipelined style are two ways to print it. Weights
of -1 are inverters and weights of +1 wires. Counters of three or six bits reduce each sum to two
numbers; neurons that read the same sources share the counters of the first step, since three spins
with signs can be counted in four ways only (the others are negatives), and six in 32. Sources that
have one weight in every sum, as thresholds of a column can, are counted once, and neurons read the
number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from qubonn.encoding.table_encoder import EQUAL, MISSING
from qubonn.export.circuit import Circuit, Sum
from qubonn.export.features import BIT, Comparison, Features

LEAST_SHARED = 3  # sources that are counted once for all neurons: of two, a count has two bits too


class Bits(NamedTuple):
    """Bits of the result of an operation; one of them inverted perhaps."""

    operation: int
    bit: int | None = None  # None: all of them
    is_inverted: bool = False

    def inverted(self) -> "Bits":
        """Return the negative of a bit."""
        return self._replace(is_inverted=not self.is_inverted)


@dataclass(frozen=True)
class Operation:
    """A Verilog expression with ``{0}``, ``{1}``, ... for its arguments; `depth` in counters.

    Where `text` is `COUNT`, a module that counts the arguments.
    """

    width: int
    text: str
    arguments: tuple[Bits, ...]
    depth: int = 1
    about: str = ""  # a comment


INPUTS = Bits(0)  # the operation that stands for the inputs
COUNT = "count"


@dataclass
class Netlist:
    """Operations in order: arguments come before results."""

    counter: int  # bits that a counter counts: 3 or 6
    operations: list[Operation] = field(default_factory=list)
    results: dict[str, Bits] = field(default_factory=dict)
    known: dict[tuple[object, ...], Bits] = field(default_factory=dict)
    uses: int = 0  # of shared counters

    def add(self, width: int, text: str, *arguments: Bits, depth: int = 1, about: str = "") -> Bits:
        """Add an operation unless the same one is there; return its result."""
        key = text, arguments
        if key not in self.known:
            self.known[key] = Bits(len(self.operations), 0 if width == 1 else None)
            self.operations.append(Operation(width, text, arguments, depth, about))
        else:
            self.uses += 1
        return self.known[key]

    def bits(self, number: Bits) -> list[Bits]:
        """Return the bits of a number, the lowest first."""
        return [Bits(number.operation, place) for place in range(self.width(number))]

    def table_estimate(self, inputs: int) -> int:
        """Return about how many lookup tables of this many inputs synthesis will need."""
        found = 0
        for operation in self.operations:
            count, width = len(operation.arguments), operation.width
            if operation.text == COUNT:
                found += min(width, 3)
            elif operation.depth and operation.arguments:
                is_logic = all(bits.bit is not None for bits in operation.arguments) and width == 1
                widest = max(width, *(self.width(bits) for bits in operation.arguments))
                found += -(-(count - 1) // (inputs - 1)) if is_logic else widest
        return found

    def width(self, bits: Bits) -> int:
        """Return the number of bits."""
        return 1 if bits.bit is not None else self.operations[bits.operation].width


class Number(NamedTuple):
    """How many of some sources, with the same weight in every sum, are +1: bits, lowest first."""

    size: int
    bits: list[Bits]


@dataclass
class Nodes:
    """Numbers that sums are made of, most of them a single node, and the number of each node."""

    shared: list[tuple[int, ...]]  # nodes that are one number
    features: Features | None
    numbers: list[Number] = field(default_factory=list)
    number_of: list[int] = field(default_factory=list)

    def add(self, netlist: Netlist, bits: list[Bits]) -> None:
        """Add the nodes of a level."""
        first = len(self.number_of)
        for bit in bits:
            self.number_of.append(len(self.numbers))
            self.numbers.append(Number(1, [bit]))
        for nodes in self.shared:
            if first <= nodes[0] < len(self.number_of):
                own = self._counted(netlist, nodes)
                for node in nodes:
                    self.number_of[node] = len(self.numbers)
                self.numbers.append(Number(len(nodes), own))

    def _counted(self, netlist: Netlist, nodes: tuple[int, ...]) -> list[Bits]:
        """Add how many of some nodes are +1."""
        if self.features is not None and self.features.are_rising(nodes):
            bits = [self.numbers[node].bits[0] for node in nodes]
            return _rank(netlist, bits, len(nodes).bit_length())
        ones = Sum(nodes, (1,) * len(nodes), 0)
        total, low = _count(netlist, self, ones, f"inputs {nodes[0]} to {nodes[-1]}")
        assert low == 0, "spins of nodes are not inverted"
        return netlist.bits(total)


def netlist_of(circuit: Circuit, features: Features | None, counter: int) -> Netlist:
    """Return the operations of a circuit; results are named as ports."""
    netlist = Netlist(counter)
    nodes = Nodes(circuit.equal_sources(LEAST_SHARED), features)
    nodes.add(netlist, _inputs(netlist, circuit, features))
    for depth, level in enumerate(circuit.levels):
        spins = []
        for number, neuron in enumerate(level):
            about = f"level {depth + 1}, neuron {number}: {len(neuron.sources)} inputs"
            spins.append(_at_least(netlist, nodes, neuron, about))
        nodes.add(netlist, spins)
    largest = None
    if circuit.has_class:
        largest = netlist.results["class_index"] = _class_index(netlist, nodes, circuit)
    if circuit.has_outputs:
        netlist.results["outputs"] = _outputs(netlist, nodes, circuit, largest)
    return netlist


def _inputs(netlist: Netlist, circuit: Circuit, features: Features | None) -> list[Bits]:
    """Add the inputs, or the features and what makes inputs of them."""
    if features is None:
        netlist.add(circuit.input_count, "")
        return [Bits(0, number) for number in range(circuit.input_count)]
    netlist.add(features.count * features.width, "")
    return [_test(netlist, features, test) for test in features.tests]


def _test(netlist: Netlist, features: Features, test: Comparison) -> Bits:
    """Add whether an input is +1; features that may be negative are raised by inverting a bit."""
    first = test.column * features.width
    bits = [Bits(0, first + place) for place in range(features.width)]
    missing = _equal(netlist, bits, features.missing) if features.has_missing else None
    if test.rule == BIT:
        above = bits[test.level + 1 : test.level + 2] if features.is_gray else []
        own = [bits[test.level], *above]
        return netlist.add(1, "{0} ^ {1}", *own) if above else own[0]
    if test.rule == MISSING:
        return missing or _constant(netlist, 0, 1)
    if test.rule == EQUAL:
        return _equal(netlist, bits, test.level)
    if features.is_signed:
        bits[-1] = bits[-1].inverted()
    found = _above(netlist, bits, features.raised(test.level))
    return found if missing is None else netlist.add(1, "{0} & {1}", found, missing.inverted())


def _equal(netlist: Netlist, bits: list[Bits], value: int) -> Bits:
    own = [bit if value >> place & 1 else bit.inverted() for place, bit in enumerate(bits)]
    return netlist.add(1, " & ".join(f"{{{k}}}" for k in range(len(own))), *own)


def _above(netlist: Netlist, bits: list[Bits], level: int) -> Bits:
    """Add whether a number is above a constant: AND and OR from the lowest bit on, no carries."""
    if level < 0 or level >= (1 << len(bits)) - 1:
        return _constant(netlist, int(level < 0), 1)
    text = ""
    for place in range(len(bits)):
        if not level >> place & 1:
            text = f"({{{place}}} | {text})" if text else f"{{{place}}}"
        elif text:
            text = f"({{{place}}} & {text})"
    return netlist.add(1, text, *bits)


def _outputs(netlist: Netlist, nodes: Nodes, circuit: Circuit, largest: Bits | None) -> Bits:
    count = len(circuit.votes)
    if largest is None:
        spins = [
            _at_least(netlist, nodes, vote, f"output {number}")
            for number, vote in enumerate(circuit.votes)
        ]
        return netlist.add(count, _joined(count), *reversed(spins), depth=0)
    return netlist.add(count, f"{count}'d1 << {{0}}", largest, about="the first largest")


# ---- sums ----


def _at_least(netlist: Netlist, nodes: Nodes, sums: Sum, about: str) -> Bits:
    """Add whether a sum is positive; of a constant one, a constant."""
    least = sums.least_count
    if least <= 0 or least > sums.size:
        return _constant(netlist, int(least <= 0), 1)
    total, low = _count(netlist, nodes, sums, about)
    return _above(netlist, netlist.bits(total), least - low - 1)


def _count(netlist: Netlist, nodes: Nodes, sums: Sum, about: str) -> tuple[Bits, int]:
    """Add the count of a sum, minus a constant that is returned too."""
    columns, low = _columns(netlist, nodes, sums)
    while max(map(len, columns)) > 2:
        columns = _compressed(netlist, columns)
    first, second = (
        [column[row] if len(column) > row else None for column in columns] for row in (0, 1)
    )
    width = (sums.size - low).bit_length()  # of the largest count
    texts: list[str] = []
    arguments: list[Bits] = []
    for number in (first, second):
        bits = [bit for bit in reversed(number) if bit is not None]
        if bits:
            places = iter(range(len(arguments), len(arguments) + len(bits)))
            shown = ["1'b0" if bit is None else f"{{{next(places)}}}" for bit in reversed(number)]
            texts.append(f"{{{{{', '.join(shown)}}}}}")
            arguments += bits
    depth = 2 if len(texts) == 2 else 0
    return netlist.add(width, " + ".join(texts), *arguments, depth=depth, about=about), low


def _columns(netlist: Netlist, nodes: Nodes, sums: Sum) -> tuple[list[list[Bits]], int]:
    """Add shared counters; return bits by the power of two they stand for, and a constant.

    The count of a sum is the bits plus the constant, which is not positive.
    """
    weights = {
        nodes.number_of[source]: weight
        for source, weight in zip(sums.sources, sums.weights, strict=True)
    }
    terms = [(place, nodes.numbers[place], weight) for place, weight in weights.items()]
    columns: list[list[Bits]] = [[] for _ in range(sums.size.bit_length() + 3)]
    low = sum(
        -weight * (number.size + 1 - (1 << len(number.bits)))  # as in `_counted`
        for _, number, weight in terms
        if weight < 0
    )
    for power in range(len(columns)):
        groups: dict[tuple[int, int], list[Bits]] = {}
        for place, number, weight in terms:
            for digit, bit in enumerate(number.bits[: power + 1]):
                if abs(weight) >> (power - digit) & 1:
                    own = groups.setdefault((place // netlist.counter, digit), [])
                    own.append(bit if weight > 0 else bit.inverted())
        single = [bit for own in groups.values() if len(own) < netlist.counter for bit in own]
        whole = [own for own in groups.values() if len(own) == netlist.counter]
        chunks = [single[k : k + netlist.counter] for k in range(0, len(single), netlist.counter)]
        for bits in whole + chunks:
            if len(bits) < netlist.counter:
                columns[power] += bits
                continue
            found, lower = _counted(netlist, bits)
            low += lower << power
            for place, bit in enumerate(found):
                columns[power + place].append(bit)
    while not columns[-1]:
        columns.pop()
    return columns, low


def _counted(netlist: Netlist, bits: Sequence[Bits]) -> tuple[list[Bits], int]:
    """Add a counter of bits, the first of which is not inverted; return its bits, a constant.

    The count of inverted bits is ``len(bits)`` minus that of the bits: all its bits inverted, and a
    constant.
    """
    width, is_inverted = len(bits).bit_length(), bits[0].is_inverted
    own = [bit.inverted() if is_inverted else bit for bit in bits]
    found = _counter(netlist, own)
    if is_inverted:
        found = [bit.inverted() for bit in found]
    return found, len(bits) - (1 << width) + 1 if is_inverted else 0


def _counter(netlist: Netlist, bits: Sequence[Bits]) -> list[Bits]:
    """Add the count of 3, 5 or 6 bits; inverted ones come first, since any order has one count."""
    own = sorted(bits, key=lambda bit: not bit.is_inverted)
    return netlist.bits(netlist.add(len(bits).bit_length(), COUNT, *own))


def _rank(netlist: Netlist, bits: list[Bits], width: int) -> list[Bits]:
    """Add the number of ones, all of which come first: a binary search, without counters."""
    if width == 0:
        return []
    middle = (1 << (width - 1)) - 1
    if middle >= len(bits):
        return [*_rank(netlist, bits, width - 1), _constant(netlist, 0, 1)]
    parts = bits[middle + 1 :], bits[:middle]
    upper, lower = (_rank(netlist, part, width - 1) for part in parts)
    pairs = zip(upper, lower, strict=True)
    found = [netlist.add(1, "{0} ? {1} : {2}", bits[middle], *pair) for pair in pairs]
    return [*found, bits[middle]]


def _compressed(netlist: Netlist, columns: list[list[Bits]]) -> list[list[Bits]]:
    """Return columns after one step of counters.

    Counters of six bits remove a bit for each lookup table, those of fewer bits less: they wait
    until no column has six. Of four bits, three are counted, so that two stay.
    """
    found: list[list[Bits]] = [[] for _ in range(len(columns) + 2)]
    longest = min(netlist.counter, max(map(len, columns)))
    for power, column in enumerate(columns):
        size = longest if longest == netlist.counter else {5: 5, 4: 3, 3: 3}.get(len(column), 6)
        place = 0
        while len(column) - place >= size:
            for digit, bit in enumerate(_counter(netlist, column[place : place + size])):
                found[power + digit].append(bit)
            place += size
        found[power] += column[place:]
    while not found[-1]:
        found.pop()
    return found


# ---- decisions ----


def _class_index(netlist: Netlist, nodes: Nodes, circuit: Circuit) -> Bits:
    """Add the index of the first largest score."""
    best = [
        (
            _raised(netlist, nodes, score, f"score of class {number}"),
            _constant(netlist, number, circuit.index_width),
        )
        for number, score in enumerate(circuit.scores)
    ]
    while len(best) > 1:
        pairs = [best[k : k + 2] for k in range(0, len(best), 2)]
        best = [_larger(netlist, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return best[0][1]


def _larger(
    netlist: Netlist, first: tuple[Bits, Bits], second: tuple[Bits, Bits]
) -> tuple[Bits, Bits]:
    """Add the larger of two scores with its index; the first if they are equal."""
    is_second = netlist.add(1, "{1} > {0}", first[0], second[0], about="the larger of two scores")
    score, index = (
        netlist.add(
            max(netlist.width(one), netlist.width(other)), "{0} ? {2} : {1}", is_second, one, other
        )
        for one, other in zip(first, second, strict=True)
    )
    return score, index


def _raised(netlist: Netlist, nodes: Nodes, sums: Sum, about: str) -> Bits:
    """Add the count of a sum plus its constant, which is not negative."""
    if not sums.sources:
        return _constant(netlist, sums.constant, max(1, sums.constant.bit_length()))
    total, low = _count(netlist, nodes, sums, about)
    added = sums.constant + low
    if added == 0:
        return total
    width = max((sums.size + sums.constant).bit_length(), netlist.width(total))
    text = f"{{0}} {'+' if added > 0 else '-'} {width}'d{abs(added)}"
    return netlist.add(width, text, total)


def _constant(netlist: Netlist, value: int, width: int) -> Bits:
    return netlist.add(width, f"{width}'d{value}", depth=0)


def _joined(count: int) -> str:
    return f"{{{{{', '.join(f'{{{k}}}' for k in range(count))}}}}}"
