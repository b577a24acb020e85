"""Small files and a way to call the command line without a new process."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from qubonn.cli import main

NAMES = ("length", "width", "height")
KINDS = ("small", "middle", "large")


@pytest.fixture
def flowers(tmp_path: Path) -> Path:
    """Sixty examples of three classes that are easy to tell apart."""
    generator = np.random.default_rng(0)
    path = tmp_path / "flowers.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*NAMES, "kind"])
        for number in range(60):
            row = generator.normal(loc=10 * (number % 3), size=3).round(3)
            writer.writerow([*row.tolist(), KINDS[number % 3]])
    return path


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Call a command in an empty folder, with the exit code that it must have."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, code: int = 0, **options: Any) -> Result:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments], **options)
        assert result.exit_code == code, result.output + repr(result.exception)
        return result

    return run


@pytest.fixture
def call_json(call: Callable[..., Result]) -> Callable[..., dict[str, Any]]:
    """Call a command with --json and return what it says."""

    def run(*arguments: object, **options: Any) -> dict[str, Any]:
        document = json.loads(call(*arguments, "--json", **options).stdout)
        assert isinstance(document, dict)
        return document

    return run


@pytest.fixture
def model(flowers: Path, call: Callable[..., Result]) -> Path:
    """A small model of the flowers."""
    path = flowers.with_name("flowers.qubonn")
    call("train", flowers, "-t", "kind", "--hidden", 6, "--committee", 3, "-o", path)
    return path


@pytest.fixture
def gates(tmp_path: Path) -> Path:
    """Which way a gate opens: AND of two columns."""
    path = tmp_path / "gates.csv"
    path.write_text("a,b,gate\n0,0,shut\n0,1,shut\n1,0,shut\n1,1,open\n")
    return path
