import csv
import io

from rich.console import Console

from experiments.tiny import row
from qubonn.experiments import Cell, ResultTable
from qubonn.experiments.significance import Verdict
from qubonn.experiments.tables import means_table, runs_csv

ROWS = [
    row({"faces": 6}, 0, {"eyes": 3, "name": "x"}, versions='{"numpy": "2"}'),
    row({"faces": 6}, 1, {"eyes": 5, "name": "y"}),
    row({"faces": 20, "kind": "odd"}, 0, {"eyes": 0.123456789, "more": None}),
]
TABLE = ResultTable(
    "t",
    "Title",
    ("name", "bits"),
    [
        (Cell("one"), Cell("1", "(+1)", Verdict.MORE)),
        (Cell("two"), Cell("2", "(0)", Verdict.CHANCE)),
        (Cell("three"), Cell("3", "(-1)", Verdict.UNKNOWN)),
    ],
    group_starts={0, 2},
)


def test_marks_stand_after_notes_in_markdown() -> None:
    assert TABLE.markdown().splitlines() == [
        "| name | bits |",
        "|---|---|",
        "| one | 1 (+1)\\* |",
        "| two | 2 (0) |",
        "| three | 3 (-1)? |",
    ]


def test_a_terminal_shows_the_same_cells_with_lines_between_groups() -> None:
    console = Console(width=60, record=True, file=io.StringIO())
    console.print(TABLE.rich())
    text = console.export_text()
    for word in ("Title", "name", "bits", "(+1)*", "(0)", "(-1)?"):
        assert word in text
    assert TABLE.group_starts == {0, 2}
    assert TABLE.word_columns == {0}


def test_csv_has_a_column_for_each_value_of_any_run() -> None:
    lines = list(csv.DictReader(io.StringIO(runs_csv("dice", ROWS))))
    assert [line["faces"] for line in lines] == ["6", "6", "20"]
    assert [line["kind"] for line in lines] == ["", "", "odd"]
    assert [line["eyes"] for line in lines] == ["3", "5", "0.123457"]
    assert [line["numpy"] for line in lines] == ["2", "", ""]
    assert lines[0]["study"] == "dice"


def test_means_are_by_setting_and_of_numbers_only() -> None:
    table = means_table("dice", "Dice", ROWS)
    assert table.heads == ("faces", "kind", "runs", "eyes")
    assert [[cell.text for cell in line] for line in table.rows] == [
        ["6", "", "2", "4.000 ± 1.414"],
        ["20", "odd", "1", "0.123"],
    ]
