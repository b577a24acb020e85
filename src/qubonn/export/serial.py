"""The serial style: a counter for each lane, weights in ROM, a word of inputs a clock.

Circuit -> SerialMachine.  Inputs and neurons are bits of a small memory of words; every level
starts a new word. Neurons of a level are computed in groups, one neuron a lane: the words that a
group reads, XOR signs, AND masks (where some weights are zero), are counted and added up; weights
of several levels take a pass for each binary digit, the highest first. Then the sums of the lanes
are compared with their thresholds, one a clock. Records of groups and rows of weights are ROMs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from qubonn.encoding.table_encoder import EQUAL, MISSING
from qubonn.export.c_text import template
from qubonn.export.circuit import Circuit, Sum
from qubonn.export.features import BIT, Comparison, Features
from qubonn.export.verilog_text import bounds

Arrivals = list[tuple[Comparison, int | None]]  # tests in order, and the input that each makes

CLOCKS_OF_A_GROUP = 4  # besides those of its rows, and one for each neuron
BLOCK = 128  # rows of a ROM in an initial block: yosys takes quadratic time to read one
NEVER = 4  # a rule of a column that no input depends on


@dataclass(frozen=True)
class Rom:
    """Rows of fields; a field that never changes is a constant instead."""

    name: str
    fields: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    widths: tuple[int, ...]

    @classmethod
    def of(cls, name: str, fields: Sequence[str], rows: Sequence[Sequence[int]]) -> "Rom":
        """Return a ROM whose fields are as wide as their largest values require."""
        widths = tuple(max(1, max(column).bit_length()) for column in zip(*rows, strict=True))
        return cls(name, tuple(fields), tuple(map(tuple, rows)), widths)

    @property
    def index_width(self) -> int:
        """Bits of the index of a row."""
        return max(1, (len(self.rows) - 1).bit_length())

    @property
    def is_stored(self) -> list[bool]:
        """Whether each field changes from row to row."""
        return [len(set(column)) > 1 for column in zip(*self.rows, strict=True)]

    @property
    def bit_count(self) -> int:
        """Bits of the ROM."""
        pairs = zip(self.widths, self.is_stored, strict=True)
        return len(self.rows) * sum(width for width, is_stored in pairs if is_stored)

    def lines(self, index: str) -> Iterator[str]:
        """Yield a memory with its contents, read at each clock, and a wire for each field."""
        stored = [k for k, is_stored in enumerate(self.is_stored) if is_stored]
        total = sum(self.widths[k] for k in stored)
        if stored:
            yield f"reg {bounds(total)}{self.name}s [0:{len(self.rows) - 1}];"
            yield f"reg {bounds(total)}{self.name};"
            yield f"always @(posedge clk) {self.name} <= {self.name}s[{index}];"
        place = 0
        for k, (name, width) in enumerate(zip(self.fields, self.widths, strict=True)):
            value = f"{width}'d{self.rows[0][k]}"
            if k in stored:
                value = self.name + (f"[{place + width - 1}:{place}]" if total > 1 else "")
                place += width
            yield f"wire {bounds(width)}{name} = {value};"
        for number, row in enumerate(self.rows if stored else ()):
            if number % BLOCK == 0:
                yield from ["initial begin"] if number == 0 else ["end", "initial begin"]
            yield f"    {self.name}s[{number}] = {total}'h{self._joined(row, stored):x};"
        if stored:
            yield "end"

    def _joined(self, row: tuple[int, ...], stored: list[int]) -> int:
        joined, place = 0, 0
        for k in stored:
            joined |= row[k] << place
            place += self.widths[k]
        return joined


@dataclass(frozen=True, eq=False)
class SerialMachine:
    """Tables of the serial style, and its text."""

    word: int
    lanes: int
    source_width: int
    source_words: int
    latency: int
    rom_bits: int
    memory_words: int
    lines: list[str] = field(repr=False)


def serial_machine(
    circuit: Circuit, features: Features | None, word: int, lanes: int = 1
) -> SerialMachine:
    """Return the tables of a circuit for words of `word` bits, `lanes` neurons at once."""
    lanes = min(lanes, max(map(len, (*circuit.levels, circuit.votes))))
    arrivals = None if features is None else _arrivals(features)
    layout = _Layout(circuit, word, arrivals)
    sums = [neuron for level in circuit.levels for neuron in level]
    tables = _tables(circuit, layout, lanes)
    if features is not None and arrivals is not None:
        tables["tests"] = _test_rom(features, arrivals, word)
    scores = circuit.scores if circuit.has_class else circuit.votes
    most = max((one.size + max(one.constant, 0) * circuit.has_class for one in scores), default=0)
    most = max(most, *(one.size + 1 for one in (*sums, *scores)), word)
    text = template("serial.v.in").render(
        circuit=circuit,
        features=features,
        layout=layout,
        tables=tables,
        word=word,
        lanes=lanes,
        count_width=word.bit_length(),
        sum_width=most.bit_length(),
        group_count=sum(-(-len(level) // lanes) for level in circuit.levels),
        rules=None if arrivals is None else sorted({test.rule for test, _ in arrivals}),
        bounds=bounds,
    )
    return SerialMachine(
        word=word,
        lanes=lanes,
        source_width=word if features is None else features.width,
        source_words=layout.input_words if features is None else features.count,
        latency=_latency(tables["records"], arrivals),
        rom_bits=sum(table.bit_count for table in tables.values()),
        memory_words=layout.memory_words,
        lines=text.splitlines(),
    )


def _latency(records: Rom, arrivals: Arrivals | None) -> int:
    """Return the clocks from the last word or feature to the results."""
    clocks = 0
    for _, last_word, last_pass, last_lane, *_ in records.rows:
        clocks += (last_word + 1) * (last_pass + 1) + CLOCKS_OF_A_GROUP + last_lane + 1
    if arrivals:
        last_column = arrivals[-1][0].column
        clocks += 2 * sum(test.column == last_column for test, _ in arrivals) - 1
    return clocks


# ---- where bits are ----


def _arrivals(features: Features) -> Arrivals:
    """Return tests in the order of their columns, with the input that each one makes."""
    tests = sorted((test.column, number, test) for number, test in enumerate(features.tests))
    found: Arrivals = []
    for column in range(features.count):
        own = [(test, number) for at, number, test in tests if at == column]
        found += own or [(Comparison(column, NEVER), None)]
    return found


class _Layout:
    """The word and the bit of each node."""

    def __init__(self, circuit: Circuit, word: int, arrivals: Arrivals | None) -> None:
        self.word = word
        self.place_of: dict[int, tuple[int, int]] = {}
        self.used: list[int] = []  # bits of each word that are nodes
        if arrivals is None:
            for start in range(0, circuit.input_count, word):
                count = min(word, circuit.input_count - start)
                self._add_word(list(range(start, start + count)), first_bit=0)
        else:
            self._add_shifted([node for _, node in arrivals])
        self.input_words = len(self.used)
        self.last_used = self.used[-1]
        node = circuit.input_count
        for level in circuit.levels:
            self._add_shifted(list(range(node, node + len(level))))
            node += len(level)
        self.memory_words = len(self.used)

    @property
    def address_width(self) -> int:
        """Bits of the index of a word."""
        return max(1, (self.memory_words - 1).bit_length())

    def _add_shifted(self, nodes: Sequence[int | None]) -> None:
        """Add nodes whose bits are shifted in from above, so that the last word is full there."""
        for start in range(0, len(nodes), self.word):
            own = nodes[start : start + self.word]
            self._add_word(own, first_bit=self.word - len(own))

    def _add_word(self, nodes: Sequence[int | None], first_bit: int) -> None:
        for bit, node in enumerate(nodes, start=first_bit):
            if node is not None:
                self.place_of[node] = len(self.used), bit
        self.used.append(((1 << len(nodes)) - 1) << first_bit)


# ---- tables ----


def _tables(circuit: Circuit, layout: _Layout, lanes: int) -> dict[str, Rom]:
    """Return the ROMs of records and of rows, and with several lanes that of neurons."""
    ends = _word_ends(circuit, layout.word)
    scores = circuit.scores if circuit.has_class else circuit.votes
    records, rows = [], []
    neurons: list[tuple[int, int]] = []
    for sums in (*circuit.levels, scores):
        for start in range(0, len(sums), lanes):
            group = sums[start : start + lanes]
            first, last, passes, own = _rows(layout, group, lanes)
            rows += own
            records.append((first, last - first, passes - 1, len(group) - 1))
            for one in group:
                is_score = len(neurons) >= circuit.neuron_count and circuit.has_class
                level = min(max(one.least_count, 0), one.size + 1)
                neurons.append((one.constant if is_score else level, int(len(neurons) in ends)))
    if not any(needs_mask for *_, needs_mask in rows):
        rows = [(signs, (1 << layout.word * lanes) - 1, False) for signs, *_ in rows]
    fields, about = ("first_word", "last_word", "last_pass", "last_lane"), ("level", "ends_word")
    row_rom = Rom.of("row", ("signs", "mask"), [row[:2] for row in rows])
    if lanes == 1:
        joined = [(*record, *neuron) for record, neuron in zip(records, neurons, strict=True)]
        return {"records": Rom.of("record", (*fields, *about), joined), "rows": row_rom}
    return {
        "records": Rom.of("record", fields, records),
        "rows": row_rom,
        "neurons": Rom.of("neuron", about, neurons),
    }


def _rows(
    layout: _Layout, group: Sequence[Sum], lanes: int
) -> tuple[int, int, int, list[tuple[int, int, bool]]]:
    """Return first and last word, number of passes, and for each row signs, mask, and its need.

    Bits that are no nodes are 0, and so are their signs: they need no mask.
    """
    places = [[layout.place_of[source] for source in one.sources] for one in group]
    words = [word for own in places for word, _ in own] or [0]
    first, last = min(words), max(words)
    passes = max((abs(weight) for one in group for weight in one.weights), default=1).bit_length()
    used = layout.used[first : last + 1]
    rows = []
    for digit in reversed(range(passes)):
        signs, masks = [0] * len(used), [(1 << layout.word * lanes) - 1] * len(used)
        needs_mask = [False] * len(used)
        for lane, (own, one) in enumerate(zip(places, group, strict=True)):
            place = lane * layout.word
            read = [0] * len(used)
            for (word, bit), weight in zip(own, one.weights, strict=True):
                if abs(weight) >> digit & 1:
                    read[word - first] |= 1 << bit
                    signs[word - first] |= (weight < 0) << place + bit
            for number, (mask, full) in enumerate(zip(read, used, strict=True)):
                masks[number] ^= ((1 << layout.word) - 1 ^ mask) << place
                needs_mask[number] |= mask != full
        rows += list(zip(signs, masks, needs_mask, strict=True))
    return first, last, passes, rows


def _word_ends(circuit: Circuit, word: int) -> set[int]:
    """Return the neurons after which a word is complete."""
    ends, start = set(), 0
    for level in circuit.levels:
        ends |= {start + k for k in range(word - 1, len(level), word)} | {start + len(level) - 1}
        start += len(level)
    return ends


def _test_rom(features: Features, arrivals: Arrivals, word: int) -> Rom:
    """Return the tests of features: rule, level, and whether a column or a word ends."""
    rows = []
    for number, (test, _) in enumerate(arrivals):
        is_last = number + 1 == len(arrivals)
        ends_column = is_last or arrivals[number + 1][0].column != test.column
        ends_word = is_last or number % word == word - 1
        level = test.level
        if test.rule == BIT:
            level = 1 << test.level
        elif test.rule not in (EQUAL, MISSING, NEVER):
            level = features.raised(level) + 1  # at least this; 0 where all are above
        rows.append((test.rule, level, int(ends_column), int(ends_word)))
    return Rom.of("test", ("rule", "bound", "ends_column", "ends_inputs"), rows)
