import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import qubonn as qn
from cli.conftest import KINDS
from qubonn.datasets import read_csv

Call = Callable[..., Result]
CallJson = Callable[..., dict[str, Any]]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def answers(model: Path, flowers: Path) -> list[str]:
    classifier = qn.load(model)
    assert isinstance(classifier, qn.QuboClassifier)
    del classifier.feature_names_in_
    return [str(kind) for kind in classifier.predict(read_csv(flowers, target="kind").inputs)]


def test_answers_are_those_of_the_classifier_one_a_row(
    model: Path, flowers: Path, call: Call
) -> None:
    result = call("predict", model, flowers)
    assert [row["prediction"] for row in rows(result.stdout)] == answers(model, flowers)
    assert result.stderr == ""


def test_columns_are_found_by_their_names(model: Path, flowers: Path, call: Call) -> None:
    lines = [line.split(",") for line in flowers.read_text().splitlines()]
    moved = [",".join([row[2], "text", row[0], row[3], row[1]]) for row in lines]
    Path("moved.csv").write_text("\n".join(moved).replace("text", "remark", 1))
    assert call("predict", model, "moved.csv").stdout == call("predict", model, flowers).stdout


def test_probabilities_add_up_and_agree_with_the_answer(
    model: Path, flowers: Path, call: Call
) -> None:
    result = call("predict", model, flowers, "--proba", "-o", "predictions.csv")
    assert result.stdout == ""
    assert "predictions.csv: 60 predictions" in result.stderr
    for row in rows(Path("predictions.csv").read_text()):
        shares = {kind: float(row[f"probability of {kind}"]) for kind in KINDS}
        assert sum(shares.values()) == pytest.approx(1, abs=1e-5)
        assert shares[row["prediction"]] == max(shares.values())


def test_with_labels_it_reports_the_accuracy(
    model: Path, flowers: Path, call: Call, call_json: CallJson
) -> None:
    wanted = read_csv(flowers, target="kind").known_labels
    right = int((np.array(answers(model, flowers)) == wanted).sum())
    assert f"({right} of 60)" in call("predict", model, flowers, "-t", "kind").stderr
    said = call_json("predict", model, flowers, "-t", "kind")
    assert said["accuracy"] == right / 60
    assert said["predictions"]["prediction"] == answers(model, flowers)


def test_labels_that_are_all_numbers_are_compared_as_text_where_classes_are(
    flowers: Path, call: Call
) -> None:
    text = flowers.read_text()
    Path("mixed.csv").write_text(text.replace("small", "1").replace("middle", "2"))
    call("train", "mixed.csv", "-t", "kind", "--hidden", 6, "--committee", 3, "-o", "m.qubonn")
    lines = Path("mixed.csv").read_text().splitlines()
    Path("some.csv").write_text("\n".join(line for line in lines if "large" not in line) + "\n")
    assert "(40 of 40)" in call("predict", "m.qubonn", "some.csv", "-t", "kind").stderr
    said = call("train", "mixed.csv", "-t", "kind", "--committee", 1, "--test", "some.csv").stdout
    assert "(40 of 40)" in said


def test_examples_come_through_a_pipe(model: Path, flowers: Path, call: Call) -> None:
    piped = call("predict", model, "-", input=flowers.read_bytes())
    assert piped.stdout == call("predict", model, flowers).stdout


def test_bare_networks_and_committees_answer_with_outputs(tmp_path: Path, call: Call) -> None:
    topology = qn.Topology.dense(3, 2)
    members = [qn.BinaryNetwork.random(topology, seed=seed) for seed in range(3)]
    numbers = np.array([[1, -2, 3], [-1, 0, 0.5]])
    np.savez(tmp_path / "d.npz", X=numbers)
    for model in (members[0], qn.Committee(members)):
        model.save(tmp_path / "m.qubonn")
        said = rows(call("predict", "m.qubonn", "d.npz").stdout)
        assert [[int(row["output 1"]), int(row["output 2"])] for row in said] == (
            model.predict_outputs(numbers).tolist()
        )
    assert "bare committee" in call("predict", "m.qubonn", "d.npz", "--proba", code=2).stderr


def test_labels_with_quotes_and_line_ends_stay_one_cell(flowers: Path, call: Call) -> None:
    text = flowers.read_text().replace("large", '"a ""big""\none, or so"')
    Path("odd.csv").write_text(text)
    call("train", "odd.csv", "-t", "kind", "--committee", 1, "-o", "odd.qubonn")
    call("predict", "odd.qubonn", "odd.csv", "-o", "out.csv")
    with open("out.csv", newline="") as stream:
        kinds = {row["prediction"] for row in csv.DictReader(stream)}
    assert kinds == {"small", "middle", 'a "big"\none, or so'}


def test_missing_cells_are_predicted_or_skipped_with_rows_aligned(
    model: Path, call: Call, call_json: CallJson
) -> None:
    Path("gap.csv").write_text("length,width,height\n0,0,0\n1,,3\n20,20,20\n,,9\n")
    whole = call("predict", model, "gap.csv", "--proba")
    assert len(rows(whole.stdout)) == 4
    assert all(row["prediction"] for row in rows(whole.stdout))
    assert whole.stderr == ""
    skipped = call("predict", model, "gap.csv", "--skip-missing", "--proba")
    assert "gap.csv: 2 rows with missing values skipped" in skipped.stderr
    found = rows(skipped.stdout)
    assert [row["prediction"] for row in found] == ["small", "", "large", ""]
    assert set(found[1].values()) == {""}
    assert found[0] == rows(whole.stdout)[0]
    said = call_json("predict", model, "gap.csv", "--skip-missing")
    assert said["predictions"]["prediction"] == ["small", None, "large", None]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["flowers.csv", "flowers.csv"], "flowers.csv must be a model that qubonn wrote"),
        (["flowers.qubonn", "other.csv"], "must have a column 'length'"),
        (["flowers.qubonn", "empty.csv"], "a row for each example"),
        (["flowers.qubonn", "wide.csv", "--no-header"], "3 numbers for each example"),
        (["flowers.qubonn", "text.csv"], "line 2, column 'width'"),
        (["flowers.qubonn", "flowers.csv", "-o", "flowers.qubonn"], "must end in .csv"),
        (["cut.qubonn", "flowers.csv"], "cut.qubonn"),
        (["flowers.qubonn", "numbered.csv", "-t", "kind"], "labels such as 'large'"),
        (["flowers.qubonn", "foreign.csv", "-t", "kind"], "got 'fox', and no known label"),
    ],
)
def test_wrong_input_ends_with_2_and_one_sentence(
    model: Path, flowers: Path, call: Call, arguments: list[str], words: str
) -> None:
    Path("other.csv").write_text("a,b\n1,2\n")
    Path("empty.csv").write_text("length,width,height\n")
    Path("wide.csv").write_text("1,2,3,4\n")
    Path("text.csv").write_text("length,width,height\n1,wide,3\n")
    Path("numbered.csv").write_text("length,width,height,kind\n1,2,3,1\n")
    Path("foreign.csv").write_text("length,width,height,kind\n1,2,3,fox\n")
    Path("cut.qubonn").write_bytes(model.read_bytes()[:-100])
    result = call("predict", *arguments, code=2)
    assert result.stdout == ""
    assert words in result.stderr
    assert result.stderr.splitlines()[-1].startswith("Error: ")


def test_a_confusion_matrix_follows_predictions_in_a_file(
    model: Path, flowers: Path, call: Callable[..., Result]
) -> None:
    shown = call("predict", model, flowers, "-t", "kind", "-o", "p.csv").stdout
    assert "actual \\ predicted" in shown
    assert "actual" not in call("predict", model, flowers, "-t", "kind").stdout


ODD = "\x1b]0;owned\x07"


@pytest.fixture
def odd_model(tmp_path: Path, call: Call) -> Path:
    """A model with labels that a terminal or a spreadsheet would act on."""
    lines = ["a,b,c,k", *(3 * f"{n % 2}," + (ODD, "=1+1")[n % 2] for n in range(20))]
    Path("odd.csv").write_text("\n".join(lines), encoding="utf-8")
    options = ("-t", "k", "--test-share", 0, "--committee", 3)
    call("train", "odd.csv", *options, "-o", "odd.qubonn")
    return tmp_path / "odd.qubonn"


def test_labels_go_unchanged_to_files_and_pipes_with_a_note_on_formulas(
    odd_model: Path, call: Call
) -> None:
    result = call("predict", odd_model, "odd.csv")
    assert {row["prediction"] for row in rows(result.stdout)} == {ODD, "=1+1"}
    assert "Note: the label '=1+1' is written as it is; a spreadsheet may" in result.stderr


def test_labels_are_escaped_on_a_terminal(
    odd_model: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True)
    result = call("predict", odd_model, "odd.csv")
    assert "\x1b" not in result.stdout
    assert r"\x1b]0;owned\x07" in result.stdout


def test_formulas_are_marked_as_text_for_spreadsheets(odd_model: Path, call: Call) -> None:
    result = call("predict", odd_model, "odd.csv", "--spreadsheet")
    assert {row["prediction"] for row in rows(result.stdout)} == {ODD, "'=1+1"}
    assert "Note" not in result.stderr
