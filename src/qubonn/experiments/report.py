"""Report: tables and figures of studies in reading order, as one HTML page or as Markdown.

Sections, texts -> page, or Markdown with figures as files.  In a Markdown template the lines
``<!-- table: NAME -->``, ``<!-- figure: NAME -->`` and ``<!-- text: NAME -->`` are replaced, and so
is ``{{STUDY key=value ... MEASURE}}`` inside a sentence: prose stays in a file, and every number
comes from a store.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qubonn.drawing.pages import render
from qubonn.drawing.palette import page_svg, style, svg_file
from qubonn.errors import NotationError
from qubonn.experiments.significance import Verdict
from qubonn.experiments.tables import ResultTable, escaped, plain_name
from qubonn.storage import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHANCE = "When is a difference more than chance?"
_PLACE = re.compile(r"^<!-- (table|figure|text): ([\w.-]+) -->$", re.MULTILINE)
_VALUE = re.compile(r"\{\{([^{}\n]+)\}\}")


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn on demand."""

    name: str
    title: str
    draw: "Callable[[], Figure]"


@dataclass(frozen=True)
class Section:
    """A chapter: its tables and its figures."""

    name: str
    title: str
    parts: Sequence[ResultTable | Picture]


@dataclass(frozen=True)
class Report:
    """Sections, and lists of sentences: ``how``, ``judging`` and ``versions``.

    `value` returns the number for a text in double braces.
    """

    title: str
    introduction: str
    sections: Sequence[Section]
    texts: Mapping[str, Sequence[str]]
    value: Callable[[str], str]

    def parts(self) -> Iterator[ResultTable | Picture]:
        """Every table and figure in order."""
        for section in self.sections:
            yield from section.parts

    def html(self) -> str:
        """Return one page that needs no other file; everything from a store is escaped."""
        return render(
            "report.html",
            title=self.title,
            introduction=self.introduction,
            marks=_marks(),
            sections=self.sections,
            drawn=_drawn,
            anchor=plain_name,
            chance=CHANCE,
            **self.texts,
        )

    def markdown(self, figure_folder: str, template: str | None = None) -> str:
        """Fill a template, or by default one that has everything in order."""
        text = self._template() if template is None else template
        text = _PLACE.sub(lambda match: self._part(match[1], match[2], figure_folder), text)
        return _VALUE.sub(lambda match: self.value(match[1]), text)

    def write_figures(self, folder: Path, text: str) -> list[Path]:
        """Draw the figures that a Markdown text shows into a folder; return the files."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for part in self.parts():
            if isinstance(part, Picture) and f"/{part.name}.svg)" in text:
                with style(part.name):
                    data = svg_file(part.draw())
                paths.append(folder / f"{part.name}.svg")
                write_whole(paths[-1], data)
        return paths

    def _part(self, kind: str, name: str, figure_folder: str) -> str:
        if kind == "text":
            return self._text(name)
        wanted = ResultTable if kind == "table" else Picture
        known = {part.name: part for part in self.parts() if isinstance(part, wanted)}
        if name not in known:
            raise NotationError(
                f"there is no {kind} {name!r} in this store; there are {', '.join(known)}"
            )
        part = known[name]
        if isinstance(part, ResultTable):
            return part.markdown()
        title = escaped(part.title)
        return f"![{title}]({figure_folder}/{name}.svg)\n\n*{title}*"

    def _text(self, name: str) -> str:
        if name == "marks":
            return escaped(_marks())
        if name not in self.texts:
            raise NotationError(f"texts are {', '.join(self.texts)} and marks; got {name!r}")
        return "\n".join(f"- {escaped(line)}" for line in self.texts[name])

    def _template(self) -> str:
        lines = [f"# {escaped(self.title)}", "", "<!-- text: marks -->"]
        for section in self.sections:
            lines += ["", f"## {escaped(section.title)}"]
            for part in section.parts:
                if isinstance(part, ResultTable):
                    lines += ["", f"### {escaped(part.title)}", "", f"<!-- table: {part.name} -->"]
                else:
                    lines += ["", f"<!-- figure: {part.name} -->"]
        lines += ["", "## How it was made", "", "<!-- text: how -->", ""]
        lines += [f"### {CHANCE}", "", "<!-- text: judging -->", ""]
        return "\n".join([*lines, "### Versions", "", "<!-- text: versions -->", ""])


def _marks() -> str:
    meanings = "; ".join(f"{one.meaning}: {one.mark or 'no mark'}" for one in Verdict)
    return f"In brackets: ours minus the paper's. A difference that is {meanings}."


def _drawn(picture: Picture) -> str:
    with style(picture.name):
        return page_svg(picture.draw(), picture.title)
