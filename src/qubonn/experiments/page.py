"""A report as one HTML page that needs nothing else: light and dark, wide and narrow.

Contents -> text.
"""

from html import escape

from qubonn.drawing.palette import page_svg, style
from qubonn.experiments.comparison import Verdict
from qubonn.experiments.contents import Contents, Picture, Section
from qubonn.experiments.tables import Cell, Table, plain_name
from qubonn.experiments.wording import HOW, JUDGING, MARKS, MEANINGS

_CSS = """
:root { color-scheme: light dark; --back: #ffffff; --ink: #1f2430; --muted: #6b7383;
  --line: #dfe3ea; --soft: #f5f7fa; --band: #c9ced8; --first: #2f6fde; --second: #c9571c;
  --third: #1f8a5d; --more: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --back: #14171d; --ink: #e4e8ef; --muted: #98a1b2;
  --line: #333a46; --soft: #1c2129; --band: #49515f; --first: #7aa7ff; --second: #ff9a62;
  --third: #5fd0a0; --more: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main, header, nav { max-width: 78rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 2.5rem; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.35rem; margin: 3rem 0 .8rem; padding-top: .6rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1.02rem; margin: 2rem 0 .4rem; }
p, li { max-width: 46rem; }
.quiet, figcaption, caption { color: var(--muted); font-size: .88rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; list-style: none; }
a { color: var(--first); }
.scroll { overflow: auto; border: 1px solid var(--line); border-radius: 8px; max-height: 80vh;
  background: linear-gradient(to right, var(--back) 30%, transparent) 0 0 / 3rem 100% no-repeat
  local, linear-gradient(to left, var(--back) 30%, transparent) 100% 0 / 3rem 100% no-repeat local,
  linear-gradient(to right, var(--band), transparent) 0 0 / .8rem 100% no-repeat scroll,
  linear-gradient(to left, var(--band), transparent) 100% 0 / .8rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-size: .8rem; width: 100%;
  font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .4rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, td.word, th.word { text-align: left; }
thead th { position: sticky; top: 0; background: var(--soft); border-bottom: 1px solid var(--line);
  font-weight: 600; z-index: 1; white-space: normal; vertical-align: bottom; }
tr.first td { border-top: 1px solid var(--line); }
tr.paper td { color: var(--muted); }
td .note { color: var(--muted); font-size: .92em; }
td.more .note { color: var(--more); font-weight: 600; }
td.draw .note { color: var(--second); }
figure { margin: 1.2rem 0; padding: .8rem; border: 1px solid var(--line); border-radius: 8px; }
figure .wide { overflow-x: auto; }
figure svg { display: block; width: 100%; min-width: 34rem; height: auto; }
details { margin: 1rem 0; }
summary { cursor: pointer; font-weight: 600; }
code { font-size: .9em; background: var(--soft); padding: .1em .3em; border-radius: 4px; }
@media (max-width: 40rem) { table { font-size: .74rem; } th, td { padding: .25rem .35rem; }
  td .note { display: block; } }
@media print { .scroll { max-height: none; } }
"""


def html_page(contents: Contents, title: str = "The paper's studies, run again") -> str:
    """Return the page; everything that comes from a store is escaped."""
    sections = "\n".join(_section(section) for section in contents.sections)
    links = "".join(
        f'<li><a href="#{plain_name(section.name)}">{escape(section.title)}</a></li>'
        for section in contents.sections
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>{_CSS}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<p class="quiet">Quadratic Unconstrained Binary Optimisation for Training and Regularisation of
Binary Neural Networks: every number of its tables beside ours. Made by
<code>qubonn reproduce</code> and <code>qubonn report</code>.</p>
{_key()}
</header>
<nav aria-label="Contents"><ul>{links}<li><a href="#how">How it was made</a></li></ul></nav>
<main>
{sections}
{_how(contents)}
</main>
</body>
</html>
"""


def _key() -> str:
    lines = [
        f"<li><b>{escape(mark)}</b> {escape(MEANINGS[verdict])}</li>"
        for verdict, mark in MARKS.items()
        if mark
    ]
    return (
        '<p class="quiet">In brackets: ours minus the paper\'s. No mark: '
        f"{escape(MEANINGS[Verdict.CHANCE])}. Marks:</p>"
        f'<ul class="quiet">{"".join(lines)}</ul>'
    )


def _section(section: Section) -> str:
    parts = "\n".join(
        _table(part) if isinstance(part, Table) else _picture(part) for part in section.parts
    )
    return f'<h2 id="{plain_name(section.name)}">{escape(section.title)}</h2>\n{parts}'


def _table(table: Table) -> str:
    words = _word_columns(table)
    heads = "".join(
        f'<th scope="col"{_class("word" if number in words else "")}>{escape(head)}</th>'
        for number, head in enumerate(table.heads)
    )
    starts = _starts(table)
    body = "\n".join(
        f"<tr{_class(*_row_classes(number in starts, row))}>"
        + "".join(_cell(cell, column in words) for column, cell in enumerate(row))
        + "</tr>"
        for number, row in enumerate(table.rows)
    )
    caption = f'<p class="quiet">{escape(table.caption)}</p>' if table.caption else ""
    return (
        f'<h3 id="{plain_name(table.name)}-table">{escape(table.title)}</h3>{caption}\n'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}">'
        f"<table><thead><tr>{heads}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def _row_classes(is_first: bool, row: tuple[Cell, ...]) -> tuple[str, ...]:
    is_paper = any(cell.text == "paper" for cell in row)
    return ("first" if is_first else "", "paper" if is_paper else "")


def _cell(cell: Cell, is_word: bool) -> str:
    classes = [cell.verdict.value] if cell.verdict else []
    note = ""
    if cell.note:
        mark = MARKS[cell.verdict] if cell.verdict else ""
        meaning = f' title="{escape(MEANINGS[cell.verdict])}"' if cell.verdict else ""
        note = f' <span class="note"{meaning}>{escape(cell.note)}{escape(mark)}</span>'
    return f"<td{_class(*classes, 'word' if is_word else '')}>{escape(cell.text)}{note}</td>"


def _picture(picture: Picture) -> str:
    with style(picture.name):
        drawing = page_svg(picture.draw(), picture.title)
    return (
        f'<figure id="{plain_name(picture.name)}"><div class="wide">{drawing}</div>'
        f"<figcaption>{escape(picture.title)}</figcaption></figure>"
    )


def _how(contents: Contents) -> str:
    listed = "".join(f"<li><code>{escape(made)}</code></li>" for made in contents.versions)
    return (
        '<h2 id="how">How it was made</h2>\n'
        f"{_list(HOW)}\n<h3>When is a difference more than chance?</h3>\n{_list(JUDGING)}\n"
        f"<h3>Versions</h3>\n<ul>{listed}</ul>"
    )


def _list(lines: tuple[str, ...]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _starts(table: Table) -> set[int]:
    """Rows that begin a group; without groups no row does."""
    starts, place = set(), 0
    for size in table.groups:
        starts.add(place)
        place += size
    return starts


def _word_columns(table: Table) -> set[int]:
    return {
        number
        for number in range(len(table.heads))
        if table.rows and not table.rows[0][number].text.lstrip("-").replace(".", "")[:1].isdigit()
    }


def _class(*names: str) -> str:
    given = " ".join(name for name in names if name)
    return f' class="{escape(given)}"' if given else ""
