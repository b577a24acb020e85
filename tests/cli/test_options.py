from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from qubonn.cli import options
from qubonn.cli.screen import Screen


@dataclass(frozen=True, kw_only=True)
class Meal:
    dish: str = options.option(default="soup")
    spoon_count: int = options.option("-n", "--spoons", type=int, default=1)


@click.command()
@options.gathered("meal", Meal, dish="stew")
@options.out("File.", ".txt", ".csv")
@options.screen
def serve(meal: Meal, out: Path | None, screen: Screen) -> None:
    screen.document(dish=meal.dish, spoons=meal.spoon_count, out=str(out))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], '"dish": "stew"'),
        (["--dish", "pie"], '"dish": "pie"'),
        (["-n", "3"], '"spoons": 3'),
        (["-o", "a.csv"], '"out": "a.csv"'),
    ],
)
def test_options_are_gathered_into_a_record(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(serve, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    assert said in result.output


@pytest.mark.parametrize(
    ("path", "words"),
    [("a.png", "must end in .txt or .csv"), ("no/folder/a.txt", "the folder no/folder must exist")],
)
def test_a_file_that_cannot_be_written_is_refused_before_any_work(path: str, words: str) -> None:
    result = CliRunner().invoke(serve, ["-o", path])
    assert result.exit_code == 2
    assert words in result.output
