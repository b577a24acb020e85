"""A report as Markdown, with its figures as files beside it.

Contents -> text, files.  In a template the lines ``<!-- table: NAME -->``,
``<!-- figure: NAME -->`` and ``<!-- text: NAME -->`` are replaced, and so is
``{{STUDY key=value ... MEASURE}}`` inside a sentence: prose stays in a file, and every number comes
from a store.
"""

import re
from pathlib import Path

import numpy as np

from qubonn.drawing.palette import style, svg_file
from qubonn.errors import NotationError
from qubonn.experiments.contents import Contents, Picture
from qubonn.experiments.rows import COLUMNS
from qubonn.experiments.spec import Setting
from qubonn.experiments.tables import Cell, Table
from qubonn.experiments.wording import HOW, JUDGING, MARKS, MEANINGS
from qubonn.paper import MEASURES
from qubonn.storage import write_whole

_PLACE = re.compile(r"^<!-- (table|figure|text): ([\w.-]+) -->$", re.MULTILINE)
_VALUE = re.compile(r"\{\{([^{}\n]+)\}\}")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~!])")


def markdown(contents: Contents, figure_folder: str, template: str | None = None) -> str:
    """Fill a template, or one that has everything in order.

    Texts are ``how``, ``judging``, ``marks`` and ``versions``. A name that is not there is an
    error, which lists those that are.
    """
    filled = default_template(contents) if template is None else template

    def fill(match: re.Match[str]) -> str:
        kind, name = match.groups()
        if kind == "text":
            return _text(contents, name)
        part = contents.part(name)
        if kind == "table" and isinstance(part, Table):
            return table_text(part)
        if kind == "figure" and isinstance(part, Picture):
            return f"![{_plain(part.title)}]({figure_folder}/{name}.svg)\n\n*{_plain(part.title)}*"
        there = [
            one.name for one in contents.parts() if isinstance(one, Table) == (kind == "table")
        ]
        raise NotationError(
            f"there is no {kind} {name!r} in this store; there are {', '.join(there)}"
        )

    return _VALUE.sub(lambda match: _value(contents, match[1]), _PLACE.sub(fill, filled))


def default_template(contents: Contents) -> str:
    """Everything that the store has, under headings."""
    lines = ["# The paper's studies, run again", "", "<!-- text: marks -->"]
    for section in contents.sections:
        lines += ["", f"## {_plain(section.title)}"]
        for part in section.parts:
            kind = "table" if isinstance(part, Table) else "figure"
            if kind == "table":
                lines += ["", f"### {_plain(part.title)}"]
            lines += ["", f"<!-- {kind}: {part.name} -->"]
    lines += ["", "## How it was made", "", "<!-- text: how -->", ""]
    lines += ["### When is a difference more than chance?", "", "<!-- text: judging -->", ""]
    return "\n".join([*lines, "### Versions", "", "<!-- text: versions -->", ""])


def write_figures(contents: Contents, folder: Path, text: str) -> list[Path]:
    """Draw the figures that a text shows into a folder; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for part in contents.parts():
        if isinstance(part, Picture) and f"/{part.name}.svg)" in text:
            with style(part.name):
                data = svg_file(part.draw())
            paths.append(folder / f"{part.name}.svg")
            write_whole(paths[-1], data)
    return paths


def table_text(table: Table) -> str:
    """A table in pipes, with its caption."""
    heads = " | ".join(_plain(head) for head in table.heads)
    lines = [f"| {heads} |", "|" + "---|" * len(table.heads)]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in table.rows]
    caption = [_plain(table.caption), ""] if table.caption else []
    return "\n".join([*caption, *lines])


def _cell(cell: Cell) -> str:
    mark = MARKS[cell.verdict] if cell.verdict and cell.note else ""
    return _plain(f"{cell.text} {cell.note}{mark}".strip())


def _text(contents: Contents, name: str) -> str:
    if name == "marks":
        lines = [f"{MEANINGS[v]}: {_plain(mark) or 'no mark'}" for v, mark in MARKS.items()]
        return "In brackets: ours minus the paper's. A difference that is " + "; ".join(lines) + "."
    if name == "versions":
        return "\n".join(f"- {_plain(made)}" for made in contents.versions)
    texts = {"how": HOW, "judging": JUDGING}
    if name not in texts:
        raise NotationError(f"texts are how, judging, marks and versions; got {name!r}")
    return "\n".join(f"- {_plain(line)}" for line in texts[name])


def _value(contents: Contents, asked: str) -> str:
    """One number: ``margins-native network=10 margin_strength=0.02 test_mean``."""
    label, *pairs, measure = asked.split()
    keys = [pair.split("=", 1) for pair in pairs]
    found = [
        one
        for summary in contents.summaries
        if summary.study.label == label
        for one in summary.settings
        if all(_matches(one.setting, *key) for key in keys)
    ]
    if len(found) != 1 or not (measure in MEASURES or measure in COLUMNS):
        raise NotationError(
            f"{{{{{asked}}}}} must name a study, keys of one setting and a measure; "
            f"{len(found)} settings of this store fit"
        )
    if measure in MEASURES:
        return f"{found[0].number(measure):.{2 if measure[0] in 'us' else 3}f}"
    values = found[0].values(measure)
    return f"{values[~np.isnan(values)].mean():.3f}"


def _matches(setting: Setting, key: str, value: str = "") -> bool:
    return hasattr(setting, key) and str(getattr(setting, key)) == value


def _plain(text: str) -> str:
    """Text that Markdown leaves alone."""
    return _SPECIAL.sub(r"\\\1", text.replace("\n", " ").replace("\r", " "))
