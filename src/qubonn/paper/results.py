"""The paper's tables with our numbers, and the report on its studies.

Summaries -> Tables -> Report.  Paper, tab:networks, tab:results-oneshot, tab:som-summary and
tab:dropout-results-summary.
"""

from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files

import numpy as np

from qubonn.datasets import letters
from qubonn.errors import NotationError
from qubonn.experiments.report import Picture, Report, Section
from qubonn.experiments.runner import duration
from qubonn.experiments.significance import Verdict
from qubonn.experiments.store import Store
from qubonn.experiments.study import canonical
from qubonn.experiments.tables import Cell, ResultTable, means_table, plain_name, read_versions
from qubonn.formulation import TrainingProblem
from qubonn.paper.comparison import SettingSummary, StudySummary
from qubonn.paper.diagrams import diagrams
from qubonn.paper.published import MEASURES, published, published_counts, topology
from qubonn.paper.studies import STUDIES

COUNTED = {
    "neurons": "nodes",
    "connections": "arcs",
    "binary": "binary",
    "integer": "integer",
    "constraints": "constraints",
}  # column of the paper's table -> field of `problem.size`
TUNED = {"once": "once per setting", "each": "each run"}
Cells = Sequence[Cell | str]


def counts_table() -> ResultTable:
    """The paper's table of networks, counted again."""
    rows: list[Cells] = []
    data = letters(seed=0)
    for counts in published_counts():
        network = topology(counts.network)
        size = TrainingProblem(network, data.train_inputs, data.train_outputs).size
        pairs = [(getattr(size, ours), getattr(counts, name)) for name, ours in COUNTED.items()]
        cells = [_counted(*pair) for pair in pairs]
        name = Cell(counts.notation, "built as conv(4x4x2)+fc(4)" if counts.network == 7 else "")
        rows.append((str(counts.network), name, *cells, str(size.qubo_variables)))
    return ResultTable(
        "table1",
        "Networks",
        ("network", "architecture", *COUNTED, "QUBO bits (ours)"),
        rows,
        "Ours, and in brackets ours minus the paper's. These are counts: a difference of one would "
        "be an error, not chance. The counts printed for network 7 are those of two filters.",
    )


def _counted(ours: int, printed: int) -> Cell:
    verdict = Verdict.CHANCE if ours == printed else Verdict.MORE
    return Cell(str(ours), f"({ours - printed:+d})" if ours != printed else "(0)", verdict)


def results_table(summaries: Sequence[StudySummary]) -> ResultTable:
    """The paper's table of a study: its row, then ours of each engine with the difference."""
    study = summaries[0].study
    measures = tuple(published(study.name)[0].numbers)

    def cells(summary: StudySummary, one: SettingSummary) -> Cells:
        numbers = (_ours(summary, one, measure) for measure in measures)
        return summary.engine_name, str(len(one.rows)), *numbers

    return _by_setting(
        summaries,
        study.name,
        f"{study.title}: results",
        ("source", "runs", *(MEASURES[measure] for measure in measures)),
        cells,
        "Test accuracy (min, max, mean, median), training accuracy and constraints left "
        "unsatisfied. In brackets: ours minus the paper's.",
        with_paper=True,
    )


def _ours(summary: StudySummary, one: SettingSummary, measure: str) -> Cell:
    same = (c for c in summary.comparisons if (c.setting, c.measure) == (one.setting, measure))
    found = next(same, None)
    if found is None:
        return Cell(f"{one.number(measure):.3f}")
    text = f"{found.difference:+.{found.places}f}"
    signed = text[1:] if float(text) == 0 else text
    return Cell(f"{found.ours:.{found.places}f}", f"({signed})", found.verdict)


def agreement_table(summaries: Sequence[StudySummary]) -> ResultTable:
    """Count the paper's numbers by the verdict on their difference."""
    rows = []
    for summary in summaries:
        found = summary.comparisons
        counts = [sum(one.verdict is verdict for one in found) for verdict in Verdict]
        gaps = [abs(one.difference) for one in found if one.measure == "test_mean"]
        ends = [f"{np.mean(gaps):.3f}", f"{np.max(gaps):.3f}"] if gaps else ["-", "-"]
        names = summary.study.title, summary.engine_name, f"{len(summary.rows):,}"
        rows.append((*names, str(len(found)), *map(str, counts), *ends))
    return ResultTable(
        "agreement",
        "Agreement",
        ("study", "source", "runs", "numbers compared", "chance", "test images",
         "more than chance", "undecided", "mean gap", "largest gap"),
        rows,
        "Each printed number beside ours, by what the difference is; and the distance of our mean "
        "test accuracies from the paper's.",
    )  # fmt: skip


def replicas_table(summaries: Sequence[StudySummary]) -> ResultTable:
    """What the replicas add that the paper discards."""
    study = summaries[0].study
    means = {
        "lowest energy": "test_accuracy",
        "best feasible": "feasible_accuracy",
        "25 vote": "small_committee_accuracy",
        "all feasible vote": "committee_accuracy",
    }

    def cells(summary: StudySummary, one: SettingSummary) -> Cells:
        numbers = [one.mean(name) for name in means.values()]
        return (
            summary.engine_name,
            str(one.printed.numbers["test_mean"]) if one.printed else "",
            *("-" if np.isnan(number) else f"{number:.3f}" for number in numbers),
            f"{one.mean('committee_size'):.0f}",
            f"{100 * (one.values('feasible_count') > 0).mean():.0f} %",
        )

    return _by_setting(
        summaries,
        f"{study.name}-replicas",
        f"{study.title}: the other replicas",
        ("source", "paper", *means, "members", "runs with a feasible network"),
        cells,
        "Mean test accuracy of the network of lowest energy (the paper's choice), of the feasible "
        "network of lowest energy, and of committees of feasible networks of one run.",
    )


def draws_table(summary: StudySummary) -> ResultTable:
    """The same networks on other draws of test images."""
    study, seeds = summary.study, summary.study.data_seeds

    def cells(_: StudySummary, one: SettingSummary) -> Cells:
        means = one.draws(seeds).mean(axis=1)
        error = one.values("test_accuracy").std() / max(len(one.rows) - 1, 1) ** 0.5
        numbers = *means, means.std(ddof=1), error, one.mean("all_accuracy")
        texts = [f"{number:.3f}" for number in numbers]
        return texts if len(one.rows) > 1 else [*texts[:-2], "", texts[-1]]

    return _by_setting(
        [summary],
        f"{study.label}-draws-table",
        f"{study.title}: the effect of the draw of test images ({summary.engine_name})",
        (*(f"seed {s}" for s in seeds), "between draws", "error of the mean", "all 1,200 images"),
        cells,
        "Mean test accuracy of the same networks on five draws of 40 test images, the standard "
        "deviation between the draws, the standard error of the mean over runs, and the mean on "
        "all images with two pixels inverted.",
    )


def temperatures_table(summary: StudySummary) -> ResultTable:
    """The temperatures found by Nelder-Mead, or their range over the runs."""

    def cells(_: StudySummary, one: SettingSummary) -> Cells:
        both = one.values("hottest"), one.values("coldest")
        ends = [(f"{values.min():.3g}", f"{values.max():.3g}") for values in both]
        tuned = summary.preparations.get(canonical(one.setting))
        return (
            *(low if low == high else f"{low} to {high}" for low, high in ends),
            f"{tuned.record.get('lowest_energy', float('nan')):g}" if tuned else "",
            str(tuned.record.get("anneal_count")) if tuned else "",
        )

    return _by_setting(
        [summary],
        f"{summary.study.label}-temperatures",
        f"{summary.study.title}: temperatures ({summary.engine_name})",
        ("hottest", "coldest", "lowest energy while tuning", "anneals"),
        cells,
        "In units of energy, as Nelder-Mead left them.",
    )


def making_table(summaries: Sequence[StudySummary]) -> ResultTable:
    """What was run."""
    rows = []
    for summary in summaries:
        study = summary.study
        counts = sorted({len(one.rows) for one in summary.settings})
        texts = (
            study.label,
            f"{len(summary.settings)} of {len(study.settings)}",
            f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}",
            f"{study.replica_count:,} x {study.sweep_count:,}",
            TUNED[study.tune] if study.engine == "paper" else "measured, not tuned",
            str(study.seed),
            duration(summary.seconds),
            study.digest[:12],
        )
        rows.append(texts)
    return ResultTable(
        "making",
        "What was run",
        ("study", "settings", "runs per setting", "replicas x sweeps", "temperatures", "seed",
         "time on one core", "digest of the study"),
        rows,
    )  # fmt: skip


def _by_setting(
    summaries: Sequence[StudySummary],
    name: str,
    title: str,
    heads: Sequence[str],
    cells: Callable[[StudySummary, SettingSummary], Cells],
    caption: str,
    *,
    with_paper: bool = False,
) -> ResultTable:
    """A row for each setting and study with runs of it, in the order of the studies."""
    columns = summaries[0].study.columns
    every = {canonical(one): one for summary in summaries for one in summary.study.settings}
    rows: list[Cells] = []
    starts = []
    for setting in every.values():
        known = [(s, one) for s in summaries for one in s.settings if one.setting == setting]
        lines = [cells(*pair) for pair in known]
        printed = known[0][1].printed if known else None
        if with_paper and printed is not None:
            numbers = map(str, printed.numbers.values())
            lines.insert(0, ("paper", str(printed.run_count), *numbers))
        starts += [len(rows)] if lines else []
        rows += [(*(_shown(setting[key]) for key in columns), *line) for line in lines]
    is_grouped = "source" in heads
    heads = (*columns.values(), *heads)
    return ResultTable(name, title, heads, rows, caption, starts if is_grouped else ())


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def report_of(stores: Sequence[Store]) -> Report:
    """Return the report on all stores; studies that are not the paper's get a table of means."""
    summaries = in_order(
        StudySummary.of(store) for store in stores if store.spec["name"] in STUDIES
    )
    overview = [agreement_table(summaries), making_table(summaries)] if summaries else []
    sections = [Section("overview", "Overview", overview)]
    sections.append(Section("table1", "Networks", [counts_table(), *diagrams()]))
    for name, title in STUDIES.items():
        some = [one for one in summaries if one.study.name == name]
        if some:
            sections.append(Section(name, title, _parts(some)))
    for store in stores:
        name, rows = str(store.spec["name"]), store.rows()
        if name not in STUDIES and rows:
            label = plain_name(f"{name}-{store.path.stem}")
            sections.append(Section(label, name, [means_table(label, name, rows)]))
    prose = files("qubonn.paper").joinpath("prose")
    texts = {
        name: prose.joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines()
        for name in ("how", "judging")
    }
    return Report(
        title="The paper's studies, run again",
        introduction="Quadratic Unconstrained Binary Optimisation for Training and Regularisation "
        "of Binary Neural Networks: every number of its tables beside ours. Made by qubonn "
        "reproduce and qubonn report.",
        sections=sections,
        texts=texts | {"versions": _versions(stores)},
        value=lambda asked: _value(summaries, asked),
    )


def in_order(summaries: Iterable[StudySummary]) -> list[StudySummary]:
    """Studies with runs, in the paper's order; of each the paper's engine first, then ours."""
    found = [summary for summary in summaries if summary.rows]
    found.sort(key=lambda one: (one.study.engine == "native", one.study.label))
    return sorted(found, key=lambda one: list(STUDIES).index(one.study.name))


def _parts(summaries: Sequence[StudySummary]) -> list[ResultTable | Picture]:
    from qubonn.paper.figures import pictures

    parts: list[ResultTable | Picture] = [results_table(summaries)]
    for summary in summaries:
        parts += pictures(summary)
    parts.append(replicas_table(summaries))
    parts += [draws_table(one) for one in summaries if len(one.study.data_seeds) > 1]
    parts += [temperatures_table(one) for one in summaries if one.study.engine == "paper"]
    return parts


def _versions(stores: Sequence[Store]) -> list[str]:
    """Every combination of versions that made a row."""
    found = sorted({row.versions for store in stores for row in store.rows()})
    return [", ".join(map(" ".join, read_versions(made).items())) for made in found]


def _value(summaries: Sequence[StudySummary], asked: str) -> str:
    """One number: ``margins-native network=10 margin_strength=0.02 test_mean``."""
    label, *pairs, measure = asked.split()
    keys = [(name, value) for name, _, value in (pair.partition("=") for pair in pairs)]
    found = [
        one
        for summary in summaries
        if summary.study.label == label
        for one in summary.settings
        if all(name in one.setting and str(one.setting[name]) == value for name, value in keys)
    ]
    is_known = measure in MEASURES or (found and measure in found[0].rows[0].record)
    if len(found) != 1 or not is_known:
        raise NotationError(
            f"{{{{{asked}}}}} must name a study, keys of one setting and a measure; "
            f"{len(found)} settings of this store fit"
        )
    if measure in MEASURES:
        return f"{found[0].number(measure):.{2 if measure[0] in 'us' else 3}f}"
    return f"{found[0].mean(measure):.3f}"
