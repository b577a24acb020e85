"""Small QUBOs of every kind for properties, and their energies in the slowest obvious way."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from hypothesis import strategies as st

from qubonn.quadratic import Qubo

Term = tuple[int, int, int | float]

WHOLE = st.integers(-50, 50)
EIGHTHS = st.integers(-400, 400).map(lambda number: number / 8)  # sums of these are exact
LABEL = st.recursive(
    st.text(max_size=4) | st.integers(-(2**63), 2**63 - 1),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)

SMALL = Qubo.of(
    [0, 0, 1, 2],
    [0, 1, 2, 2],
    [-3, 2, 7, 1],
    variable_count=3,
    offset=5,
    labels=[("weight", 0), ("activation", 1, 2), "bias"],
)


@dataclass(frozen=True)
class TermList:
    """An energy as people write it down: terms in any order, with repeats."""

    variable_count: int
    terms: list[Term]
    offset: int | float

    def qubo(self) -> Qubo:
        rows, columns, values = zip(*self.terms, strict=True) if self.terms else ((), (), ())
        return Qubo.of(
            rows, columns, values, variable_count=self.variable_count, offset=self.offset
        )

    def energy(self, bits: tuple[int, ...]) -> int | float:
        total = self.offset
        for row, column, value in self.terms:
            total += value * bits[row] * bits[column]
        return total

    def assignments(self) -> Iterator[tuple[int, ...]]:
        return product((0, 1), repeat=self.variable_count)


@st.composite
def term_lists(
    draw: st.DrawFn,
    values: st.SearchStrategy[int] | st.SearchStrategy[float] = WHOLE,
    most_variables: int = 5,
) -> TermList:
    count = draw(st.integers(0, most_variables))
    variable = st.integers(0, max(count - 1, 0))
    terms = st.lists(st.tuples(variable, variable, values), max_size=12 if count else 0)
    return TermList(count, draw(terms), draw(values))


@st.composite
def labelled_qubos(
    draw: st.DrawFn, values: st.SearchStrategy[int] | st.SearchStrategy[float] = WHOLE
) -> Qubo:
    plain = draw(term_lists(values)).qubo()
    count = plain.variable_count
    own_labels = st.lists(LABEL, min_size=count, max_size=count, unique=True)
    labels: Sequence[Hashable] | None = draw(st.none() | own_labels)
    return Qubo(
        plain.linear,
        plain.rows,
        plain.columns,
        plain.couplings,
        plain.offset,
        labels or plain.labels,
    )
