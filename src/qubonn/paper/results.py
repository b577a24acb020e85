"""The paper's tables with our numbers, and the report on its studies.

Summaries -> Tables -> Report.  Paper, tab:networks, tab:results-oneshot, tab:som-summary and
tab:dropout-results-summary.
"""

from collections.abc import Iterable, Sequence
from importlib.resources import files

import numpy as np

from qubonn.datasets import letters
from qubonn.errors import NotationError
from qubonn.experiments.report import Picture, Report, Section
from qubonn.experiments.runner import duration
from qubonn.experiments.significance import Verdict
from qubonn.experiments.store import Store
from qubonn.experiments.study import Setting, canonical
from qubonn.experiments.tables import Cell, Table, means_table, plain_name, read_versions
from qubonn.formulation import TrainingProblem
from qubonn.paper.comparison import (
    Comparison,
    SettingSummary,
    Summary,
    Values,
    compare,
    published_row,
)
from qubonn.paper.published import MEASURES, published, published_counts, topology
from qubonn.paper.studies import STUDIES, PaperStudy

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


def counts_table() -> Table:
    """The paper's table of networks, counted again."""
    rows: list[tuple[Cell | str, ...]] = []
    data = letters(seed=0)
    for counts in published_counts():
        network = topology(counts.network)
        size = TrainingProblem(network, data.train_inputs, data.train_outputs).size
        pairs = (
            (counts.neurons, size.nodes),
            (counts.connections, size.arcs),
            (counts.binary, size.binary),
            (counts.integer, size.integer),
            (counts.constraints, size.constraints),
        )
        cells = [
            Cell(str(ours), f"({ours - printed:+d})" if ours != printed else "(0)",
                 Verdict.CHANCE if printed == ours else Verdict.MORE)
            for printed, ours in pairs
        ]  # fmt: skip
        note = "built as conv(4x4x2)+fc(4)" if counts.network == 7 else ""
        name = Cell(counts.notation, note)
        rows.append((str(counts.network), name, *cells, str(size.qubo_variables)))
    return Table(
        "table1",
        "Networks",
        ("network", "architecture", "neurons", "connections", "binary", "integer", "constraints",
         "QUBO bits (ours)"),
        rows,
        "Ours, and in brackets ours minus the paper's. These are counts: a difference of one would "
        "be an error, not chance. The counts printed for network 7 are those of two filters.",
    )  # fmt: skip


def results_table(summaries: Sequence[Summary]) -> Table:
    """The paper's table of a study: its row, then ours of each engine with the difference."""
    study = summaries[0].study
    measures = tuple(published(study.name)[0].numbers)
    found = {id(summary): compare(summary) for summary in summaries}
    rows: list[tuple[Cell | str, ...]] = []
    groups = []
    for setting in _settings_in(summaries):
        lines: list[tuple[Cell | str, ...]] = []
        printed = published_row(study, setting)
        if printed is not None:
            numbers = (str(printed.numbers[measure]) for measure in measures)
            lines.append(("paper", str(printed.run_count), *numbers))
        for summary in summaries:
            one = summary.of_setting(setting)
            if one is not None:
                compared = {c.measure: c for c in found[id(summary)] if c.setting == setting}
                cells = (_ours(one, compared.get(measure), measure) for measure in measures)
                lines.append((summary.engine_name, str(len(one.rows)), *cells))
        rows += [(*_setting_cells(study, setting), *line) for line in lines]
        groups.append(len(lines))
    return Table(
        study.name,
        f"{study.title}: results",
        (*study.columns.values(), "source", "runs", *(HEADS[measure] for measure in measures)),
        rows,
        "Test accuracy (min, max, mean, median), training accuracy and constraints left "
        "unsatisfied. In brackets: ours minus the paper's.",
        groups,
    )


def _ours(one: SettingSummary, found: Comparison | None, measure: str) -> Cell:
    if found is None:
        return Cell(f"{one.number(measure):.3f}")
    text = f"{found.difference:+.{found.places}f}"
    signed = text[1:] if float(text) == 0 else text
    return Cell(f"{found.ours:.{found.places}f}", f"({signed})", found.verdict)


def agreement_table(summaries: Sequence[Summary]) -> Table:
    """Count the paper's numbers by what their differences are."""
    rows = []
    for summary in summaries:
        found = compare(summary)
        counts = [sum(one.verdict is verdict for one in found) for verdict in Verdict]
        gaps = [abs(one.difference) for one in found if one.measure == "test_mean"]
        texts = (
            summary.study.title,
            summary.engine_name,
            f"{len(summary.rows):,}",
            str(len(found)),
            *map(str, counts),
            f"{np.mean(gaps):.3f}" if gaps else "-",
            f"{np.max(gaps):.3f}" if gaps else "-",
        )
        rows.append(texts)
    return Table(
        "agreement",
        "Agreement",
        ("study", "source", "runs", "numbers compared", "chance", "test images",
         "more than chance", "undecided", "mean gap", "largest gap"),
        rows,
        "Each printed number beside ours, by what the difference is; and the distance of our mean "
        "test accuracies from the paper's.",
    )  # fmt: skip


def replicas_table(summaries: Sequence[Summary]) -> Table:
    """What the replicas add that the paper discards."""
    study = summaries[0].study
    means = {
        "lowest energy": "test_accuracy",
        "best feasible": "feasible_accuracy",
        "25 vote": "small_committee_accuracy",
        "all feasible vote": "committee_accuracy",
    }
    rows, groups = [], []
    for setting in _settings_in(summaries):
        printed = published_row(study, setting)
        known = [(one, run) for one in summaries if (run := one.of_setting(setting)) is not None]
        groups.append(len(known))
        for summary, one in known:
            texts = (
                summary.engine_name,
                str(printed.numbers["test_mean"]) if printed else "",
                *(_number(one.mean(name)) for name in means.values()),
                f"{one.mean('committee_size'):.0f}",
                f"{100 * (one.values('feasible_count') > 0).mean():.0f} %",
            )
            rows.append((*_setting_cells(study, setting), *texts))
    return Table(
        f"{study.name}-replicas",
        f"{study.title}: the other replicas",
        (*study.columns.values(), "source", "paper", *means, "members",
         "runs with a feasible network"),
        rows,
        "Mean test accuracy of the network of lowest energy (the paper's choice), of the feasible "
        "network of lowest energy, and of committees of feasible networks of one run.",
        groups,
    )  # fmt: skip


def draws_table(summary: Summary) -> Table:
    """The same networks on other draws of test images."""
    study, seeds = summary.study, summary.study.data_seeds
    rows = []
    for one in summary.settings:
        means = one.draws(seeds).mean(axis=1)
        error = one.values("test_accuracy").std() / max(len(one.rows) - 1, 1) ** 0.5
        texts = (
            *(f"{mean:.3f}" for mean in means),
            f"{means.std(ddof=1):.3f}",
            f"{error:.3f}" if len(one.rows) > 1 else "",
            f"{one.mean('all_accuracy'):.3f}",
        )
        rows.append((*_setting_cells(study, one.setting), *texts))
    return Table(
        f"{study.label}-draws-table",
        f"{study.title}: the effect of the draw of test images ({summary.engine_name})",
        (*study.columns.values(), *(f"seed {seed}" for seed in seeds), "between draws",
         "error of the mean", "all 1,200 images"),
        rows,
        "Mean test accuracy of the same networks on five draws of 40 test images, the standard "
        "deviation between the draws, the standard error of the mean over runs, and the mean on "
        "all images with two pixels inverted.",
    )  # fmt: skip


def temperatures_table(summary: Summary) -> Table:
    """Temperatures that Nelder-Mead found, or their range over the runs."""
    rows = []
    for one in summary.settings:
        tuned = summary.preparations.get(canonical(one.setting))
        texts = (
            _range(one.values("hottest")),
            _range(one.values("coldest")),
            f"{tuned.record.get('lowest_energy', float('nan')):g}" if tuned else "",
            str(tuned.record.get("anneal_count")) if tuned else "",
        )
        rows.append((*_setting_cells(summary.study, one.setting), *texts))
    return Table(
        f"{summary.study.label}-temperatures",
        f"{summary.study.title}: temperatures ({summary.engine_name})",
        (*summary.study.columns.values(), "hottest", "coldest", "lowest energy while tuning",
         "anneals"),
        rows,
        "In units of energy, as Nelder-Mead left them.",
    )  # fmt: skip


def making_table(summaries: Sequence[Summary]) -> Table:
    """What was run."""
    rows = []
    for summary in summaries:
        study = summary.study
        counts = sorted({len(one.rows) for one in summary.settings})
        tuned = {"once": "once per setting", "each": "each run"}[study.tune]
        texts = (
            study.label,
            f"{len(summary.settings)} of {len(study.settings)}",
            f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}",
            f"{study.replica_count:,} x {study.sweep_count:,}",
            tuned if study.engine == "paper" else "measured, not tuned",
            str(study.seed),
            duration(summary.seconds),
            study.digest[:12],
        )
        rows.append(texts)
    return Table(
        "making",
        "What was run",
        ("study", "settings", "runs per setting", "replicas x sweeps", "temperatures", "seed",
         "time on one core", "digest of the study"),
        rows,
    )  # fmt: skip


def _settings_in(summaries: Sequence[Summary]) -> list[Setting]:
    """Settings with runs in any of the summaries, in the order of the studies."""
    every = {canonical(one.setting): one.setting for s in summaries for one in s.settings}
    order = {canonical(setting): None for s in summaries for setting in s.study.settings}
    return [every[text] for text in order if text in every]


def _setting_cells(study: PaperStudy, setting: Setting) -> tuple[str, ...]:
    values = (setting[name] for name in study.columns)
    return tuple(
        "-" if one is None else f"{one:.2f}" if isinstance(one, float) else str(one)
        for one in values
    )


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def _range(values: Values) -> str:
    low, high = f"{values.min():.3g}", f"{values.max():.3g}"
    return low if low == high else f"{low} to {high}"


def report_of(stores: Sequence[Store]) -> Report:
    """Arrange everything that the stores have; those of other studies get their means."""
    summaries = in_order(Summary.of(store) for store in stores if store.spec["name"] in STUDIES)
    sections = [Section("overview", "Overview", _overview(summaries))]
    sections.append(Section("table1", "Networks", [counts_table()]))
    for name, kind in STUDIES.items():
        some = [one for one in summaries if one.study.name == name]
        if some:
            sections.append(Section(name, kind.title, _parts(some)))
    for store in stores:
        name, rows = str(store.spec["name"]), store.rows()
        if name not in STUDIES and rows:
            label = plain_name(f"{name}-{store.path.stem}")
            sections.append(Section(label, name, [means_table(label, name, rows)]))
    return Report(
        title="The paper's studies, run again",
        introduction="Quadratic Unconstrained Binary Optimisation for Training and Regularisation "
        "of Binary Neural Networks: every number of its tables beside ours. Made by qubonn "
        "reproduce and qubonn report.",
        sections=sections,
        texts={"how": _prose("how"), "judging": _prose("judging"), "versions": _versions(stores)},
        value=lambda asked: _value(summaries, asked),
    )


def in_order(summaries: Iterable[Summary]) -> list[Summary]:
    """Studies with runs, as the paper has them; of each the paper's engine first, then ours."""

    def key(summary: Summary) -> tuple[int, bool, bool]:
        study = summary.study
        return list(STUDIES).index(study.name), study.engine != "paper", study.tune != "once"

    return sorted((summary for summary in summaries if summary.rows), key=key)


def _overview(summaries: Sequence[Summary]) -> list[Table]:
    return [agreement_table(summaries), making_table(summaries)] if summaries else []


def _parts(summaries: Sequence[Summary]) -> list[Table | Picture]:
    from qubonn.paper.figures import pictures

    parts: list[Table | Picture] = [results_table(summaries)]
    for summary in summaries:
        parts += pictures(summary)
    parts.append(replicas_table(summaries))
    parts += [draws_table(one) for one in summaries if len(one.study.data_seeds) > 1]
    parts += [temperatures_table(one) for one in summaries if one.study.engine == "paper"]
    return parts


def _versions(stores: Sequence[Store]) -> list[str]:
    """Every combination of versions that made a row."""
    found = sorted({row.versions for store in stores for row in store.rows()})
    lists = (read_versions(made).items() for made in found)
    return [", ".join(f"{name} {version}" for name, version in one) for one in lists]


def _prose(name: str) -> list[str]:
    path = files("qubonn.paper").joinpath("prose", f"{name}.txt")
    return path.read_text(encoding="utf-8").splitlines()


def _value(summaries: Sequence[Summary], asked: str) -> str:
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
