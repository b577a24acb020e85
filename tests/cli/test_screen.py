import json

import pytest

from qubonn.cli.screen import Screen, printable, printable_lines
from qubonn.experiments.tables import Cell, ResultTable


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain é 日本", "plain é 日本"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\ud800\u202e", "\\ud800\\u202e"),
    ],
)
def test_control_characters_are_written_out(text: str, safe: str) -> None:
    assert printable(text) == safe


def test_lines_stay_lines() -> None:
    assert printable_lines("a\nb\x1b") == "a\nb\\x1b"


def test_a_table_in_a_pipe_is_whole_however_wide(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().table(["name", "x" * 200], [["a", 1], ["long name", 22]])
    lines = capsys.readouterr().out.splitlines()
    assert [len(line) for line in lines] == [211, 211, 211]
    assert lines[1].startswith("a ")
    assert lines[2].endswith(" 22")


def test_a_table_on_a_narrow_terminal_is_not_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    heads = [f"column {number}" for number in range(12)]
    table = ResultTable("t", "Numbers", tuple(heads), [[Cell("0.5625", "(+0.0125)")] * 12])
    Screen().show(table.rich())
    Screen().table(heads, [["0.8125"] * 12])
    output = capsys.readouterr().out
    assert "…" not in output
    assert [output.count(text) for text in ("0.5625", "(+0.0125)", "0.8125")] == [12, 12, 12]
    assert all(output.count(head) == 2 for head in heads[2:])  # 1 is in 10 and 11 too


def test_facts_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().facts(("a", 1), ("longer\x1b", "two"))
    assert capsys.readouterr().out == "a           1\nlonger\\x1b  two\n"


def test_rich_markup_in_names_is_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    screen = Screen()
    screen.table(["[red]name[/red]"], [["[bold]cell[/nonsense]"]])
    screen.heading("[link=x]head")
    output = capsys.readouterr().out
    for text in ("[red]name[/red]", "[bold]cell[/nonsense]", "[link=x]head"):
        assert text in output


def test_with_json_there_is_one_document_and_nothing_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    screen = Screen(as_json=True)
    screen.heading("head")
    screen.say("text")
    screen.facts(("a", 1))
    screen.table(["a"], [["b"]])
    screen.note("remark")
    screen.document(a=1)
    output = capsys.readouterr()
    assert json.loads(output.out) == {"a": 1}
    assert output.err == "remark\n"


def test_a_confusion_matrix_names_its_axes(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    screen.confusion("Examples", ["a", "b"], ["a", "b", "b"], ["a", "a", "b"])
    assert capsys.readouterr().out.splitlines() == [
        "",
        "Examples",
        "actual \\ predicted  a  b",
        "a                   1  0",
        "b                   1  1",
    ]
    screen.confusion("Examples", list(range(13)), [0], [1])
    assert capsys.readouterr().out == ""
