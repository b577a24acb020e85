"""Tables of a report, before anybody decides how they look.

Summaries, paper -> Table.  HTML, Markdown and the terminal draw the same tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qubonn.datasets import letters
from qubonn.experiments.comparison import Comparison, Verdict, compare
from qubonn.experiments.spec import Setting, Study
from qubonn.experiments.studies import STUDIES, published_row
from qubonn.experiments.summary import SettingSummary, StudySummary
from qubonn.formulation import ProblemSize, TrainingProblem
from qubonn.paper import Published, published_counts, topology

HEADS = {
    "test_min": "min",
    "test_max": "max",
    "test_mean": "mean",
    "test_median": "median",
    "training_mean": "training",
    "unsatisfied_percent": "unsatisfied %",
    "s1_mean": "S1",
    "s2_mean": "S2",
}


@dataclass(frozen=True)
class Cell:
    """What stands in a place of a table: text, a smaller note after it, and a verdict."""

    text: str
    note: str = ""
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Table:
    """Heads and rows; `groups` are the numbers of rows that belong together."""

    name: str
    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    groups: tuple[int, ...] = ()


def engine_name(study: Study) -> str:
    """What an engine is called in a report."""
    if study.engine == "native":
        return "native"
    return "QUBO, each run" if study.tune == "each" else "QUBO"


def plain_name(text: str) -> str:
    """A name that is safe as part of a file name, an anchor or a template: a store may lie.

    >>> plain_name("../<b>margins"), plain_name("")
    ('----b-margins', 'part')
    """
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text)[:80] or "part"


# ---- counts ----


def counts_table() -> Table:
    """The paper's table of networks, counted again."""
    rows = []
    for counts in published_counts():
        size = _size(counts.network)
        pairs = (
            (counts.neurons, size.nodes),
            (counts.connections, size.arcs),
            (counts.binary, size.binary),
            (counts.integer, size.integer),
            (counts.constraints, size.constraints),
        )
        cells = [_count(printed, ours) for printed, ours in pairs]
        notation = Cell(
            counts.notation, "built as conv(4x4x2)+fc(4)" if counts.network == 7 else ""
        )
        rows.append((Cell(str(counts.network)), notation, *cells, Cell(f"{size.qubo_variables}")))
    return Table(
        "table1",
        "Networks",
        ("network", "architecture", "neurons", "connections", "binary", "integer", "constraints",
         "QUBO bits (ours)"),
        tuple(rows),
        "Ours, and in brackets ours minus the paper's. These are counts: a difference of one would "
        "be an error, not chance. The counts printed for network 7 are those of two filters.",
    )  # fmt: skip


def _size(network: int) -> ProblemSize:
    data = letters(seed=0)
    return TrainingProblem(topology(network), data.train_inputs, data.train_outputs).size


def _count(printed: int, ours: int) -> Cell:
    verdict = Verdict.CHANCE if printed == ours else Verdict.MORE
    return Cell(str(ours), f"({ours - printed:+d})" if ours != printed else "(0)", verdict)


# ---- results beside the paper's ----


def results_table(name: str, summaries: Sequence[StudySummary]) -> Table:
    """The paper's table of a study: its row, then ours of each engine with the difference."""
    compared = [(summary, compare(summary)) for summary in summaries]
    settings = settings_in(summaries)
    first = published_row(summaries[0].study, settings[0])
    measures = tuple(first.numbers) if first else tuple(HEADS)[:6]
    rows, groups = [], []
    for setting in settings:
        lines = []
        printed = published_row(summaries[0].study, setting)
        if printed is not None:
            lines.append(_printed(printed, measures))
        for summary, comparisons in compared:
            one = summary.of(setting)
            if one is not None:
                lines.append(_ours(summary, one, comparisons.get(setting, {}), measures))
        rows += [(*setting_cells(name, setting), *line) for line in lines]
        groups.append(len(lines))
    return Table(
        plain_name(name),
        f"{STUDIES.get(name, name)}: results",
        (*setting_heads(name), "who", "runs", *(HEADS[measure] for measure in measures)),
        tuple(rows),
        "Test accuracy (min, max, mean, median), training accuracy and constraints left "
        "unsatisfied. In brackets: ours minus the paper's.",
        tuple(groups),
    )


def _printed(row: Published, measures: tuple[str, ...]) -> tuple[Cell, ...]:
    numbers = (Cell(str(row.numbers[measure])) for measure in measures)
    return (Cell("paper"), Cell(str(row.run_count)), *numbers)


def _ours(
    summary: StudySummary,
    one: SettingSummary,
    comparisons: Mapping[str, Comparison],
    measures: tuple[str, ...],
) -> tuple[Cell, ...]:
    cells = []
    for measure in measures:
        found = comparisons.get(measure)
        if found is None:
            cells.append(Cell(f"{one.number(measure):.3f}"))
        else:
            note = f"({_signed(found.difference, found.places)})"
            cells.append(Cell(f"{found.ours:.{found.places}f}", note, found.verdict))
    return (Cell(engine_name(summary.study)), Cell(str(one.run_count)), *cells)


def agreement_table(summaries: Sequence[StudySummary]) -> Table:
    """How many of the paper's numbers come out the same."""
    rows = []
    for summary in summaries:
        found = [one for row in compare(summary).values() for one in row.values()]
        counts = [sum(one.verdict is verdict for one in found) for verdict in Verdict]
        means = [one for one in found if one.measure == "test_mean"]
        gap = max((abs(one.difference) for one in means), default=float("nan"))
        average = sum(abs(one.difference) for one in means) / len(means) if means else float("nan")
        rows.append(
            (
                Cell(STUDIES.get(summary.study.name, summary.study.name)),
                Cell(engine_name(summary.study)),
                Cell(f"{summary.run_count:,}"),
                Cell(str(len(found))),
                *(Cell(str(count)) for count in counts),
                Cell(f"{average:.3f}"),
                Cell(f"{gap:.3f}"),
            )
        )
    return Table(
        "agreement",
        "How much agrees",
        ("study", "who", "runs", "numbers compared", "chance", "test images", "more than chance",
         "cannot tell", "mean gap", "largest gap"),
        tuple(rows),
        "Each printed number beside ours, by what the difference is; and how far our mean test "
        "accuracies are from the paper's.",
    )  # fmt: skip


# ---- pieces ----


def settings_in(summaries: Sequence[StudySummary]) -> list[Setting]:
    """Settings with runs in any of the summaries, in the order of the studies."""
    ordered = dict.fromkeys(setting for one in summaries for setting in one.study.settings)
    return [setting for setting in ordered if any(one.of(setting) for one in summaries)]


def setting_heads(name: str) -> tuple[str, ...]:
    """Heads of the columns that say which setting a row is."""
    extra = {"margins": ("gamma",), "dropout": ("eta", "dropped")}
    return ("network", *extra.get(name, ()))


def setting_cells(name: str, setting: Setting) -> tuple[Cell, ...]:
    """Which setting a row is."""
    cells = [Cell(str(setting.network))]
    if name == "margins":
        cells.append(Cell(f"{setting.margin_strength:.2f}"))
    if name == "dropout":
        cells.append(Cell(f"{setting.learning_rate:.2f}"))
        cells.append(Cell("-" if setting.dropped is None else str(setting.dropped)))
    return tuple(cells)


def _signed(value: float, places: int) -> str:
    """A difference with its sign; no sign on zero.

    >>> _signed(-0.0004, 3), _signed(0.0125, 2), _signed(-0.2, 1)
    ('0.000', '+0.01', '-0.2')
    """
    text = f"{value:+.{places}f}"
    return text[1:] if float(text) == 0 else text
