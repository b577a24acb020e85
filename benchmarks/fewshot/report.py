"""Scores -> tables, as aligned text or Markdown: mean ± standard deviation over seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fewshot.plan import (
    COMMITTEE,
    DIGITS,
    GREY,
    IMAGES,
    LOGISTIC,
    OURS,
    OURS_IMAGES,
    SINGLE,
    STRAIGHT,
    STRAIGHT_SHIFTED,
    Score,
)

# Bernardelli, Gualandi, Milanesi, Lau, Yorke-Smith: Multiobjective Linear Ensembles for Robust and
# Sparse Training of Few-Bit Neural Networks. INFORMS Journal on Computing 37 (2025), 623-643
BEMI = {2: 49.5, 6: 63.7, 10: 68.4, 20: 75.7, 30: 81.0, 40: 81.8}  # per cent

NAMES = {
    (LOGISTIC, SINGLE): "logistic regression, float32",
    (STRAIGHT, SINGLE): "straight-through, single",
    (STRAIGHT, COMMITTEE): "straight-through, {} together",
    (OURS, SINGLE): "qubonn, single",
    (OURS, COMMITTEE): "qubonn, {} together",
    (GREY, SINGLE): "qubonn on grey pixels, single",
    (GREY, COMMITTEE): "qubonn on grey pixels, {} together",
    (STRAIGHT_SHIFTED, SINGLE): "straight-through on moved images, single",
    (STRAIGHT_SHIFTED, COMMITTEE): "straight-through on moved images, {} together",
    (OURS_IMAGES, SINGLE): "qubonn on images, single",
    (OURS_IMAGES, COMMITTEE): "qubonn on images, {} together",
}


@dataclass(frozen=True)
class Section:
    """A title, a table (its head first) and lines below it."""

    title: str
    rows: list[list[str]]
    lines: Sequence[str] = ()


def sections(scores: Sequence[Score], member_count: int) -> list[Section]:
    """Return all tables for which there are scores."""
    images = [score for score in scores if score.case.part == IMAGES]
    digits = [score for score in scores if score.case.part == DIGITS]
    found = []
    if images:
        found += [_accuracies(images, member_count), _seconds(images, member_count)]
    if digits:
        found.append(_digits(digits, member_count))
    return found


def chosen(
    scores: Sequence[Score], part: str, per_class: int, method: str, kind: str
) -> list[Score]:
    """Return the scores of one cell, one a seed."""
    wanted = (part, per_class, method, kind)
    return [
        score
        for score in scores
        if (score.case.part, score.case.per_class, score.method, score.kind) == wanted
    ]


def mean_and_spread(values: Sequence[float], digits: int) -> str:
    """Return "70.1 ± 0.5", or the value alone where there is one.

    >>> mean_and_spread([1.0, 3.0], 1), mean_and_spread([2.0], 1), mean_and_spread([], 1)
    ('2.0 ± 1.4', '2.0', '')
    """
    if not values:
        return ""
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):.{digits}f}"


def as_text(parts: Sequence[Section]) -> str:
    return "\n".join(f"{part.title}\n\n{_aligned(part.rows)}{_below(part, '')}" for part in parts)


def as_markdown(parts: Sequence[Section]) -> str:
    return "\n".join(
        f"### {part.title}\n\n{_piped(part.rows)}{_below(part, '- ')}" for part in parts
    )


def _accuracies(scores: Sequence[Score], member_count: int) -> Section:
    counts = _counts(scores)
    rows = [["images a class", "bytes", *map(str, counts)]]
    for (method, kind), name in _lines(scores):
        cells = [chosen(scores, IMAGES, count, method, kind) for count in counts]
        percents = [mean_and_spread([100 * one.share for one in cell], 1) for cell in cells]
        rows.append([name.format(member_count), _bytes(cells), *percents])
    published = [str(BEMI.get(count, "")) for count in counts]
    rows.append(["BeMi, 45 networks (Gurobi), published", "", *published])
    return Section("MNIST: per cent of the test images, mean ± standard deviation of seeds", rows)


def _seconds(scores: Sequence[Score], member_count: int) -> Section:
    counts = _counts(scores)
    rows = [["images a class", *map(str, counts)]]
    for (method, kind), name in _lines(scores):
        if kind == SINGLE:
            cells = [chosen(scores, IMAGES, count, method, kind) for count in counts]
            each = [mean_and_spread([one.seconds for one in cell], 2) for cell in cells]
            rows.append([name.format(member_count), *each])
    lines = ["logistic regression: with the search for C; the others: one network of many"]
    return Section("MNIST: seconds to train", rows, lines)


def _digits(scores: Sequence[Score], member_count: int) -> Section:
    rows = [["classifier", "bytes", "per cent", "seconds to train one"]]
    for (method, kind), name in _lines(scores):
        cell = chosen(scores, DIGITS, 0, method, kind)
        percent = mean_and_spread([100 * one.share for one in cell], 1)
        seconds = mean_and_spread([one.seconds for one in cell], 2)
        rows.append([name.format(member_count), _bytes([cell]), percent, seconds])
    return Section("Digits: per cent of the test examples, mean ± standard deviation", rows)


def _lines(scores: Sequence[Score]) -> list[tuple[tuple[str, str], str]]:
    present = {(score.method, score.kind) for score in scores}
    return [(both, name) for both, name in NAMES.items() if both in present]


def _counts(scores: Sequence[Score]) -> list[int]:
    return sorted({score.case.per_class for score in scores})


def _bytes(cells: Sequence[Sequence[Score]]) -> str:
    sizes = {score.byte_count for cell in cells for score in cell}
    return " to ".join(f"{size:,}" for size in sorted({min(sizes), max(sizes)})) if sizes else ""


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for first, *others in rows:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(lines) + "\n"


def _piped(rows: list[list[str]]) -> str:
    marks = ["---", *("---:" for _ in rows[0][1:])]
    lines = [f"| {' | '.join(row)} |" for row in (rows[0], marks, *rows[1:])]
    return "\n".join(lines) + "\n"


def _below(part: Section, mark: str) -> str:
    return "".join(f"\n{mark}{line}" for line in part.lines) + ("\n" if part.lines else "")
