import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from qubonn.cli import main
from qubonn.errors import FileFormatError
from qubonn.experiments.store import Store


def reproduce(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["reproduce", *map(str, arguments)], env={"COLUMNS": "150"})


def row_count(path: Path) -> int:
    with Store.read(path) as store:
        return len(store.rows())


def wait_for_a_row(path: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(FileFormatError):  # not there, or made and not filled yet
            if row_count(path):
                return
        time.sleep(0.1)
    raise AssertionError("no run was finished")


def test_table1_counts_what_the_paper_counts() -> None:
    result = reproduce("table1")
    assert result.exit_code == 0, result.output
    assert result.output.count("(0)") == 18 * 5
    assert "built as conv(4x4x2)+fc(4)" in result.output


def test_runs_are_kept_shown_beside_the_papers_and_not_done_again(tmp_path: Path) -> None:
    given = ("table2", "--engine", "native", "--network", 10, "--store", tmp_path, "--jobs", 1)
    result = reproduce(*given, "--runs", 2)
    assert result.exit_code == 0, result.output
    assert "architectures-native: 2 of 2 runs" in result.output
    assert "0.569" in result.output
    assert f"qubonn report {tmp_path}" in result.output.replace("\n", "")
    assert row_count(tmp_path / "architectures-native.sqlite") == 2
    again = reproduce(*given, "--runs", 3)
    assert "2 of 3 runs" in again.output
    assert row_count(tmp_path / "architectures-native.sqlite") == 3


def test_another_seed_needs_another_store(tmp_path: Path) -> None:
    given = ("margins", "--engine", "native", "--network", 5, "--runs", 1, "--jobs", 1)
    assert reproduce(*given, "--store", tmp_path).exit_code == 0
    result = reproduce(*given, "--store", tmp_path, "--seed", 1)
    assert result.exit_code == 2
    assert "seed: 1 here, 0 there" in result.output
    result = reproduce(*given, "--store", tmp_path, "--fresh")
    assert result.exit_code == 2
    assert "--fresh needs a new store" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table3"], "is not one of"),
        (["margins", "--network", "17"], "none of the networks (17,) is in these studies"),
        (["margins", "--runs", "0"], "0 is not in the range"),
        (["margins", "--cluster", "local:none"], "--cluster must be an address or local:N"),
    ],
)
def test_wrong_options_get_one_clear_sentence(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    if "--cluster" in arguments:
        pytest.importorskip("distributed")
    result = reproduce(*arguments, "--store", tmp_path)
    assert result.exit_code != 0
    assert message in result.output


def test_an_interrupt_says_how_to_go_on(tmp_path: Path) -> None:
    arguments = ["reproduce", "table2", "--engine", "native", "--jobs", "2", "--network", "8"]
    command = [sys.executable, "-c", "from qubonn.cli import main; main()", *arguments]
    process = subprocess.Popen(
        [*command, "--runs", "100000", "--store", str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_for_a_row(tmp_path / "architectures-native.sqlite")
    finally:
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: workers hear it too
        _, output = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Stopped; every finished run is stored. To continue:" in output
    assert f"qubonn {' '.join(arguments)} --runs 100000 --store {tmp_path}" in output


def test_programs_get_the_tables_as_json(tmp_path: Path) -> None:
    given = ("all", "--engine", "native", "--network", 10, "--runs", 1, "--jobs", 1)
    result = reproduce(*given, "--store", tmp_path, "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["store"] == str(tmp_path)
    counts, *results = said["tables"]
    assert len(counts["rows"]) == 18
    assert results
    assert all(len(row) == len(table["heads"]) for table in results for row in table["rows"])
