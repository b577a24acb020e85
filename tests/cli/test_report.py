from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Call = Callable[..., Result]


@pytest.fixture
def store(tmp_path: Path, call: Call) -> Path:
    """The margins of one network, two runs."""
    given = ("margins", "--engine", "native", "--network", 5, "--runs", 2, "--jobs", 1)
    call("reproduce", *given, "--store", tmp_path / "store")
    return tmp_path / "store"


def test_a_store_becomes_a_page_and_tables(store: Path, call: Call) -> None:
    output = call("report", store, "--csv", "tables").stdout
    assert "report.html" in output
    assert "bytes" in output
    assert Path("report.html").read_text().startswith("<!doctype html>")
    assert (Path("tables") / "margins-native.csv").exists()
    assert (Path("tables") / "comparisons.csv").exists()


def test_programs_get_the_names_of_the_files(
    store: Path, call_json: Callable[..., dict[str, Any]]
) -> None:
    said = call_json("report", store, "--markdown", "-o", "out/r.md", "--files", "out/figures")
    assert "out/r.md" in said["written"]
    assert all(Path(path).exists() for path in said["written"])
    assert any(path.startswith("out/figures/") for path in said["written"])


def test_options_of_markdown_need_it(store: Path, call: Call) -> None:
    result = call("report", store, "--files", "figures", code=2)
    assert "--template and --files need --markdown" in result.stderr


def test_a_folder_without_stores_is_refused(tmp_path: Path, call: Call) -> None:
    assert "there are none" in call("report", tmp_path, code=2).stderr
