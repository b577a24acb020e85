"""What a report holds: tables and figures of all studies, in reading order, each with a name.

Summaries -> Contents.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qubonn.experiments import extra_tables as extra
from qubonn.experiments import plots
from qubonn.experiments.studies import STUDIES
from qubonn.experiments.summary import StudySummary
from qubonn.experiments.tables import (
    Table,
    agreement_table,
    counts_table,
    engine_name,
    plain_name,
    results_table,
)
from qubonn.experiments.versions import read_versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn when somebody wants it."""

    name: str
    title: str
    draw: "Callable[[], Figure]"


@dataclass(frozen=True)
class Section:
    """A chapter: its tables and its figures."""

    name: str
    title: str
    parts: tuple[Table | Picture, ...]


@dataclass(frozen=True)
class Contents:
    """All sections, and the studies behind them."""

    sections: tuple[Section, ...]
    summaries: tuple[StudySummary, ...]

    @property
    def versions(self) -> list[str]:
        """Every combination of versions that made a row, in words."""
        found = {made for summary in self.summaries for made in summary.versions}
        lists = (read_versions(made).items() for made in sorted(found))
        return [", ".join(f"{name} {version}" for name, version in one) for one in lists]

    def parts(self) -> Iterator[Table | Picture]:
        """Every table and figure in order."""
        for section in self.sections:
            yield from section.parts

    def part(self, name: str) -> Table | Picture | None:
        """The table or figure of a name."""
        return next((part for part in self.parts() if part.name == name), None)


def contents_of(summaries: Sequence[StudySummary]) -> Contents:
    """Arrange everything there is; studies without runs are left out."""
    known = in_order([summary for summary in summaries if summary.settings])
    sections = [Section("overview", "Overview", _overview(known))]
    sections.append(Section("table1", "Networks", (counts_table(),)))
    names = dict.fromkeys([*STUDIES, *(one.study.name for one in known)])
    for name in names:
        some = [one for one in known if one.study.name == name]
        if some:
            sections.append(Section(name, STUDIES.get(name, name), _parts(name, some)))
    return Contents(tuple(sections), tuple(known))


def in_order(summaries: Sequence[StudySummary]) -> list[StudySummary]:
    """Studies as the paper has them; of each the paper's engine first, then ours."""
    names = list(STUDIES)

    def key(summary: StudySummary) -> tuple[int, str, bool, bool]:
        study = summary.study
        place = names.index(study.name) if study.name in names else len(names)
        return place, study.name, study.engine != "paper", study.tune != "once"

    return sorted(summaries, key=key)


def _overview(summaries: Sequence[StudySummary]) -> tuple[Table, ...]:
    if not summaries:
        return ()
    return (agreement_table(summaries), extra.making_table(summaries))


def _parts(name: str, summaries: Sequence[StudySummary]) -> tuple[Table | Picture, ...]:
    parts: list[Table | Picture] = [results_table(name, summaries)]
    for summary in summaries:
        parts += _pictures(name, summary)
    parts.append(extra.replicas_table(name, summaries))
    draws = [summary for summary in summaries if len(summary.study.data_seeds) > 1]
    parts += [extra.draws_table(name, summary) for summary in draws]
    parts += [
        extra.temperatures_table(name, summary)
        for summary in summaries
        if summary.study.engine == "paper"
    ]
    return tuple(parts)


def _pictures(name: str, summary: StudySummary) -> list[Picture]:
    there = list(dict.fromkeys(one.setting.network for one in summary.settings))
    recipes = _recipes(name, summary, there)
    label = plain_name(summary.study.label)
    return [
        Picture(f"{label}-{kind}", f"{title} ({engine_name(summary.study)})", draw)
        for kind, (title, draw) in recipes.items()
    ]


def _recipes(
    name: str, summary: StudySummary, there: list[int]
) -> "Mapping[str, tuple[str, Callable[[], Figure]]]":
    networks = ", ".join(str(network) for network in there)
    if name == "margins":
        recipes: dict[str, tuple[str, Callable[[], Figure]]] = {
            "boxes": (
                f"Test and training accuracy against gamma, networks {networks}",
                lambda: plots.draw_margin_boxes(summary, there),
            ),
            "feasibility": (
                "Test accuracy of feasible and infeasible runs",
                lambda: plots.draw_feasibility(summary, there),
            ),
            "committees": (
                "Mean test accuracy of single networks and committees",
                lambda: plots.draw_committees(summary, there),
            ),
        }
        if 10 in there:
            recipes["s-plain"] = (
                "Test accuracy against S1 and S2, network 10 without margins",
                lambda: plots.draw_margins_against_accuracy(summary, 10, (0.0,)),
            )
            recipes["s"] = (
                "Test accuracy against S1 and S2, network 10 with gamma 0, 0.01 and 0.02",
                lambda: plots.draw_margins_against_accuracy(summary, 10, (0.0, 0.01, 0.02)),
            )
        return recipes
    if name == "dropout":
        return {
            "boxes": (
                f"Test accuracy (boxes) and training accuracy (squares) with dropout, networks "
                f"{networks}; dashed: median test accuracy without dropout",
                lambda: plots.draw_dropout(summary, there),
            )
        }
    shown = [network for network in (5, 10) if network in there] or there[:1]
    return {
        "boxes": (
            "Test and training accuracy of all networks",
            lambda: plots.draw_boxes(summary),
        ),
        "histograms": (
            "Histograms of test accuracy, networks " + " and ".join(map(str, shown)),
            lambda: plots.draw_histograms(summary, shown),
        ),
        "draws": (
            "The same networks on five draws of test images",
            lambda: plots.draw_draws(summary),
        ),
    }
