import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import qubonn as qn
from drawing.html_reading import Elements
from experiments.tiny import rows_of, some_records
from qubonn.experiments import Store
from qubonn.paper.studies import study_of

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
    tables = {table["name"]: table for table in said["tables"]}
    assert {"agreement", "table1", "margins", "margins-replicas"} <= tables.keys()
    assert len(tables["margins"]["rows"]) == 16  # eight strengths, the paper's row and ours
    assert all(len(row) == len(one["heads"]) for one in tables.values() for row in one["rows"])


def test_options_of_markdown_need_it(store: Path, call: Call) -> None:
    result = call("report", store, "--files", "figures", code=2)
    assert "--template and --files need --markdown" in result.stderr


def test_a_folder_without_stores_is_refused(tmp_path: Path, call: Call) -> None:
    assert "there are none" in call("report", tmp_path, code=2).stderr


@pytest.fixture
def made_store(tmp_path: Path) -> Path:
    """A store of the paper's margins with three runs of no meaning."""
    path, study = tmp_path / "made.sqlite", study_of("margins", "native", tune="once", seed=0)
    with Store.open(path, study) as store:
        for row in rows_of(study.settings[0], some_records(3)):
            store.add(row)
    return path


DAMAGE = (
    ("runs", "record", "{}"),
    ("runs", "record", '{"test_accuracy": "much"}'),
    ("runs", "record", "[" * 100_000),
    ("runs", "number", "x"),
    ("runs", "seconds", "long"),
    ("settings", "setting", "{}"),
    ("settings", "setting", '{"network": 10, "margin_strength": "x"}'),
    ("settings", "setting", b"\xff"),
    ("study", "spec", '{"name": "margins"}'),
    ("study", "spec", '{"name": ["margins"], "data_seeds": 7}'),
    ("study", "spec", "{}"),
)


@pytest.mark.parametrize(("table", "column", "value"), DAMAGE)
def test_a_damaged_store_gets_one_sentence(
    made_store: Path, call: Call, table: str, column: str, value: object
) -> None:
    connection = sqlite3.connect(made_store)
    connection.execute("DROP TRIGGER runs_stay")
    connection.execute(f"UPDATE OR REPLACE {table} SET {column} = ?", (value,))
    connection.commit()
    connection.close()
    (line,) = call("report", made_store, code=2).stderr.splitlines()
    assert line.startswith("Error: ")
    assert not Path("report.html").exists()


# ---- models ----


def read(path: str) -> Elements:
    return Elements(Path(path).read_text("utf-8"))


def test_a_model_and_its_data_become_a_page(model: Path, flowers: Path, call: Call) -> None:
    output = call("report", model, flowers, "-o", "flowers.html").stdout
    assert "balanced accuracy" in output
    page = read("flowers.html")
    assert "flowers.qubonn on flowers.csv" in page.text
    for heading in ("Scores", "Confusion matrix", "Calibration", "Columns that matter", "Margins"):
        assert heading in page.words
    for fact in (
        "predicted",
        "actual",
        "bytes on a device",
        "ForwardAnnealing",
        "training examples 48",
    ):
        assert fact in page.text
    assert page.tags.count("svg") == 3
    assert not qn.load(model).verbose  # type: ignore[union-attr]


def test_the_page_loads_nothing(model: Path, flowers: Path, call: Call) -> None:
    call("report", model, flowers)
    page = read("report.html")
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    links = [value or "" for name, value in page.attributes if name in ("src", "href")]
    assert [link for link in links if not link.startswith("#")] == []


def test_programs_get_the_scores(
    model: Path, flowers: Path, call_json: Callable[..., dict[str, Any]]
) -> None:
    said = call_json("report", model, flowers, "-t", "kind")
    assert said["accuracy"] >= 0.9
    assert said["written"] == ["report.html"]


def test_hostile_names_and_labels_stay_text(tmp_path: Path, call: Call) -> None:
    hostile = "<script>alert('$x$')</script>"
    rows = [f"{n},{-n},{hostile if n % 2 else 'b & c'}" for n in range(20)]
    path = tmp_path / "hostile.csv"
    path.write_text("\n".join([f"{hostile},b,kind", *rows]))
    call("train", path, "-t", "kind", "--hidden", 2, "--committee", 1, "-o", "h.qubonn")
    call("report", "h.qubonn", path)
    page = read("report.html")
    assert "script" not in page.tags
    assert hostile in page.words


def test_pixels_that_matter_are_an_image(tmp_path: Path, call: Call) -> None:
    generator = np.random.default_rng(0)
    labels = np.arange(40) % 2
    images = generator.normal(size=(40, 4, 3)) + 2 * labels[:, None, None]
    np.savez(tmp_path / "images.npz", X=images, y=labels)
    given = ("--hidden", 2, "--committee", 1, "--shifts", 0)
    call("train", "images.npz", *given, "-o", "i.qubonn")
    call("report", "i.qubonn", "images.npz")
    page = read("report.html")
    assert "Pixels that matter" in page.words
    assert "image" in page.tags
    np.savez(tmp_path / "bare.npz", X=images)
    assert "needs labels" in call("report", "i.qubonn", "bare.npz", code=2).stderr


def test_bare_networks_and_committees_are_reported_with_the_sorted_labels(
    gates: Path, call: Call
) -> None:
    network = qn.BinaryNetwork(qn.Topology.dense(2, 1), [-1, -1], [1])
    network.save("network.qubonn")
    qn.Committee([network] * 3).save("committee.qubonn")
    for name in ("network.qubonn", "committee.qubonn"):
        call("report", name, gates, "-t", "gate")
        text = read("report.html").text
        assert "the file holds networks only" in text
        assert "open (-1), shut (+1)" in text


def test_the_errors_of_many_classes_are_listed(
    model: Path, flowers: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qubonn.cli.report.MOST_CLASSES", 2)
    flowers.write_text(flowers.read_text().replace("small", "tiny", 1))
    call("report", model, flowers, "-t", "kind")
    text = read("report.html").text
    assert "There are 4 classes" in text
    assert "1 examples have labels that the model does not know" in text


def test_a_file_with_several_other_columns_needs_a_target(
    model: Path, flowers: Path, call: Call
) -> None:
    lines = [f"{line},1" for line in flowers.read_text().splitlines()]
    flowers.write_text("\n".join([lines[0].replace(",1", ",extra"), *lines[1:]]))
    assert "needs --target" in call("report", model, flowers, code=2).stderr
    call("report", model, flowers, "-t", "kind")
    call("report", model, flowers, "--drop", "extra")


def test_a_model_needs_one_file_of_examples(model: Path, flowers: Path, call: Call) -> None:
    assert "qubonn report MODEL DATA" in call("report", model, code=2).stderr
    assert "need a store" in call("report", model, flowers, "--markdown", code=2).stderr
