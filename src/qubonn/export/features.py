"""Features of a classifier as whole numbers: what a device compares them with.

Comparisons or BitPlanes, scale -> levels, notes for a reader, and tests that a circuit makes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from qubonn.encoding import BitPlanes
from qubonn.encoding.table_encoder import ABOVE
from qubonn.errors import RangeError
from qubonn.export.model import Comparisons, Exported

Numbers = Literal["uint8", "int8", "uint16", "int16", "int32"]

LOWEST = 1 - 2**31  # of an int32 feature, so that a level below all of them fits too
SHOWN_LETTERS = 60  # of a word or a name in a comment
BIT = 3  # a rule beside ABOVE, EQUAL and MISSING: bit `level` of a number is set


class Comparison(NamedTuple):
    """Whether an input is +1: what a column is compared with."""

    column: int
    rule: int
    level: int = 0


@dataclass(frozen=True)
class Features:
    """Whole numbers that a circuit reads, and the test of each input."""

    kind: str
    count: int
    tests: tuple[Comparison, ...]
    has_missing: bool = False
    is_gray: bool = False
    notes: tuple[str, ...] = ()
    scale: int = 1  # features are this many times the columns of the training data

    @property
    def width(self) -> int:
        """Bits of a feature."""
        return 8 * np.dtype(self.kind).itemsize

    @property
    def missing(self) -> int:
        """The bits of a missing feature: the smallest of a signed, the largest of an unsigned."""
        return 1 << (self.width - 1) if self.is_signed else (1 << self.width) - 1

    @property
    def is_signed(self) -> bool:
        """Whether features may be negative."""
        return not self.kind.startswith("u")

    def are_rising(self, nodes: Sequence[int]) -> bool:
        """Whether nodes compare a column with rising levels, so that their +1 come first."""
        tests = [self.tests[node] for node in nodes if node < len(self.tests)]
        kinds = {(test.column, test.rule) for test in tests}
        is_column = len(tests) == len(nodes) and kinds == {(tests[0].column, ABOVE)}
        return is_column and tests == sorted(tests)

    def raised(self, level: int) -> int:
        """Return a level, raised such that no feature is negative."""
        return level + (self.is_signed << (self.width - 1))

    def raised_text(self, value: str) -> str:
        """Return a Verilog expression for a feature, raised in the same way."""
        return f"{value} ^ {self.width}'d{1 << (self.width - 1)}" if self.is_signed else value


def features_of(model: Exported, inputs: str, scale: int) -> Features | None:
    """Return the features of a model, None if its inputs are bits."""
    require_whole(inputs, scale)
    if inputs == "bits":
        return None
    if inputs not in get_args(Numbers):
        raise RangeError(
            f"inputs must be 'bits' or one of {', '.join(get_args(Numbers))}; got {inputs!r}"
            f"{': choose one of these, and a scale' if inputs == 'float' else ''}"
        )
    if isinstance(model.encoder, BitPlanes):
        return _planes(model, model.encoder, inputs, scale)
    spins = model.require_comparisons(inputs)
    levels = feature_levels(spins, scale, np.iinfo(inputs)).tolist()
    tests = zip(spins.column_of.tolist(), spins.rule_of.tolist(), levels, strict=True)
    has_missing = spins.categories is not None
    is_plain = not has_missing and model.names is None
    notes = () if is_plain else feature_notes(spins, model.names)
    return Features(
        inputs,
        spins.column_count,
        tuple(Comparison(*test) for test in tests),
        has_missing,
        notes=notes,
        scale=scale,
    )


def require_whole(inputs: str, scale: int) -> None:
    """Refuse a scale of bits or floats."""
    if inputs in ("bits", "float") and scale != 1:
        raise RangeError(
            f"scale is for whole numbers; got scale={scale} for inputs={inputs!r}: choose a type "
            f"of whole numbers ({', '.join(get_args(Numbers))}), or leave scale out"
        )


def _planes(model: Exported, planes: BitPlanes, inputs: str, scale: int) -> Features:
    require_planes(planes, inputs, scale, int(np.iinfo(inputs).max))
    count = model.topology.column_count // planes.bits
    tests = [
        Comparison(c, BIT, planes.bits - 1 - p) for p in range(planes.bits) for c in range(count)
    ]
    return Features(inputs, count, tuple(tests), is_gray=planes.gray)


def require_planes(planes: BitPlanes, inputs: str, scale: int, highest: int) -> None:
    """Require a type that holds all numbers of bit planes."""
    if scale != 1 or 2**planes.bits - 1 > highest:
        raise RangeError(
            f"bit planes of {planes.bits} bits need scale=1 and inputs that hold "
            f"{2**planes.bits - 1:,}; got scale={scale} and {inputs!r}, up to {highest:,}"
        )


def feature_levels(spins: Comparisons, scale: int, limits: Any) -> NDArray[Any]:
    """Return levels as whole numbers; indices of words are not scaled."""
    most = max((len(words) for words in spins.categories or () if words is not None), default=0)
    if most >= limits.max:
        raise RangeError(
            f"a column has {most} words; {limits.dtype} holds indices below {limits.max}"
        )
    ends = max(limits.min, LOWEST), limits.max
    is_word = np.array([spins.words(column) is not None for column in spins.column_of.tolist()])
    scaled = np.array(whole_levels(spins.levels, scale, *ends))
    plain = np.array(whole_levels(spins.levels, 1, *ends))
    return np.where(is_word, plain, scaled)


def whole_levels(levels: NDArray[np.float64], scale: int, lowest: int, highest: int) -> list[int]:
    """Return a level for whole numbers n: n is above it exactly if ``n / scale`` is above `levels`.

    n lies in lowest..highest, of 32 bits at most, and ``n / scale`` is a float64, rounded as usual.
    Levels are cut off where that changes nothing.

    >>> whole_levels(np.array([0.5, 0.3, -7.5, 1e9]), 10, 0, 255)
    [5, 3, -1, 255]
    """
    found: list[int] = []
    for level in levels.tolist():
        whole = min(max(floor(Fraction(level) * scale), lowest - 1), highest)
        # 3 / 10 is not above 0.3, the float64
        is_rounded_down = whole < highest and (whole + 1) / scale <= level
        found.append(whole + is_rounded_down)
    return found


def feature_notes(spins: Comparisons, names: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return a line for each feature: its name, and the words that numbers stand for."""
    lines = []
    for column in range(spins.column_count):
        name = "" if names is None else f" {names[column][:SHOWN_LETTERS]}"
        words = spins.words(column)
        lines.append(
            f"feature {column}{name}: {'a number' if words is None else 'the index of a word'}"
        )
        for index, word in enumerate(words or ()):
            lines.append(f"    {index} = {word[:SHOWN_LETTERS]}")
        if words is not None:
            lines.append(f"    {len(words)} = any other word")
    return tuple(lines)
