from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import qubonn as qn
from cli.conftest import KINDS, NAMES
from datasets.test_files import idx
from qubonn.cli.train import _class_weight

Call = Callable[..., Result]
CallJson = Callable[..., dict[str, Any]]
SMALL = ("--hidden", 6, "--committee", 3)


def test_a_csv_file_becomes_a_model_that_knows_its_columns_and_classes(
    flowers: Path, call_json: CallJson
) -> None:
    said = call_json("train", flowers, "--target", "kind", *SMALL, "-o", "m.qubonn")
    model = qn.load("m.qubonn")
    assert isinstance(model, qn.QuboClassifier)
    assert sorted(model.classes_.tolist()) == sorted(KINDS)
    assert tuple(model.feature_names_in_) == NAMES
    assert len(model.committee_) == said["committee_size"] == 3
    assert said["examples"] == 48
    assert said["test_accuracy"] > 0.9
    assert said["bytes"] == Path("m.qubonn").stat().st_size


def test_the_same_seed_gives_the_same_networks(flowers: Path, call: Call) -> None:
    for name in ("a", "b"):
        call("train", flowers, "-t", "kind", *SMALL, "--seed", 4, "-o", f"{name}.qubonn")
    first, second = qn.load("a.qubonn"), qn.load("b.qubonn")
    assert isinstance(first, qn.QuboClassifier)
    assert isinstance(second, qn.QuboClassifier)
    assert first.committee_.members == second.committee_.members


def test_the_report_says_what_was_reached(flowers: Path, call: Call) -> None:
    output = call("train", flowers, "-t", "kind", *SMALL).stdout
    for words in ("training accuracy", "test accuracy", "violations", "margins", "bytes", "large"):
        assert words in output
    assert "\x1b" not in output


def test_a_second_file_is_the_test(flowers: Path, call_json: CallJson) -> None:
    rows = flowers.read_text().splitlines()
    reordered = [",".join(reversed(row.split(","))) for row in rows]
    Path("test.csv").write_text("\n".join(reordered[:13]) + "\n")
    said = call_json("train", flowers, "-t", "kind", *SMALL, "--test", "test.csv")
    assert said["examples"] == 60
    assert said["test_accuracy"] == 1


def test_without_a_test_share_everything_is_learned_from(
    flowers: Path, call_json: CallJson
) -> None:
    said = call_json("train", flowers, "-t", "kind", *SMALL, "--test-share", 0)
    assert said["examples"] == 60
    assert "test_accuracy" not in said


def test_too_few_examples_for_a_test_are_all_learned_from(tmp_path: Path, call: Call) -> None:
    (tmp_path / "two.csv").write_text("a,k\n0,x\n1,y\n")
    result = call("train", "two.csv", "-t", "k", "--committee", 1)
    assert "No test: there are too few examples" in result.stderr
    assert "training accuracy" in result.stdout
    assert "test accuracy" not in result.stdout


def test_few_examples_a_class_are_drawn_on_request(flowers: Path, call_json: CallJson) -> None:
    assert call_json("train", flowers, "-t", "kind", *SMALL, "--per-class", 5)["examples"] == 15


def test_images_and_convolutions_are_trained_from_idx_files(
    tmp_path: Path, call_json: CallJson
) -> None:
    letters = qn.datasets.letters(seed=0)
    images = (letters.test_inputs > 0).reshape(-1, 5, 5).astype(np.uint8)
    labels = np.repeat(np.arange(4, dtype=np.uint8), 10)
    (tmp_path / "images-idx3-ubyte").write_bytes(idx(images))
    (tmp_path / "labels-idx1-ubyte").write_bytes(idx(labels))
    said = call_json(
        "train", "images-idx3-ubyte", "--labels", "labels-idx1-ubyte",
        "--topology", "conv(3x3)+fc(8)", "--committee", 2,
        "--test", "images-idx3-ubyte", "--test-labels", "labels-idx1-ubyte",
    )  # fmt: skip
    assert said["topology"].startswith("(1, 5, 5) -> (1, 3, 3) -> 8 -> 4")
    assert said["classes"] == [0, 1, 2, 3]
    assert said["test_accuracy"] > 0.7


def test_images_are_learned_from_where_they_are_and_beside_that(
    tmp_path: Path, call_json: CallJson
) -> None:
    images = np.zeros((2, 12, 12), dtype=np.uint8)
    images[0, 2:-2, 6] = images[1, 6, 2:-2] = 255
    moved = np.roll(images, 1, axis=(1, 2))
    np.savez(tmp_path / "bars.npz", x_train=images, y_train=[0, 1], x_test=moved, y_test=[0, 1])

    def train(*options: object) -> dict[str, Any]:
        words = ("train", "bars.npz", "--test", "bars.npz", "--hidden", 8, "--committee", 3)
        return call_json(*words, *options)

    moved_too, as_they_are = train("--shifts", 1), train()  # so small images stay where they are
    assert (moved_too["shift"], as_they_are["shift"]) == (1, 0)
    assert moved_too["test_accuracy"] == 1 > as_they_are["test_accuracy"]


def test_npz_arrays_are_trained_on_and_tested(tmp_path: Path, call_json: CallJson) -> None:
    letters = qn.datasets.letters(seed=0)
    np.savez(
        "d.npz",
        x_train=letters.test_inputs[::2],
        y_train=letters.test_labels[::2],
        x_test=letters.test_inputs[1::2],
        y_test=letters.test_labels[1::2],
    )
    said = call_json("train", "d.npz", "--test", "d.npz", *SMALL)
    assert said["examples"] == 20
    assert said["test_accuracy"] > 0.5


def test_csv_comes_through_a_pipe_too(flowers: Path, call_json: CallJson) -> None:
    said = call_json("train", "-", "-t", "kind", *SMALL, input=flowers.read_bytes())
    assert said["test_accuracy"] > 0.9


def test_accuracy_that_was_asked_for_decides_the_exit_code(flowers: Path, call: Call) -> None:
    call("train", flowers, "-t", "kind", *SMALL, "--at-least", 0.5)
    rows = flowers.read_text().splitlines()
    shuffled = [rows[0]] + [f"{row.rpartition(',')[0]},{n % 2}" for n, row in enumerate(rows[1:])]
    Path("noise.csv").write_text("\n".join(shuffled))
    result = call(
        "train", "noise.csv", "-t", "kind", *SMALL, "--at-least", 1, "-o", "n.qubonn", code=3
    )
    assert "below the required 1" in result.stderr
    assert Path("n.qubonn").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["flowers.csv"], "needs --target"),
        (["flowers.csv", "-t", "colour"], "must have a column 'colour'"),
        (["flowers.csv", "-t", "length", "--drop", "kind"], "a regression target"),
        (["flowers.csv", "-t", "kind", "--hidden", "a"], "sizes of layers"),
        (["flowers.csv", "-t", "kind", "--hidden", "0,3"], "sizes of layers"),
        (["flowers.csv", "-t", "kind", "--binariser", "x"], "number of thresholds"),
        (["flowers.csv", "-t", "kind", "--image", "7"], "a shape such as"),
        (["flowers.csv", "-t", "kind", "--image", "9x9"], "one per pixel"),
        (["flowers.csv", "-t", "kind", "--shifts", "1"], "--shifts needs images: pass --image"),
        (["flowers.csv", "-t", "kind", "--image", "1x3", "--shifts", "2"], "less than the sides"),
        (["flowers.csv", "-t", "kind", "--topology", "fc("], "fc("),
        (["flowers.csv", "-t", "kind", "--separator", "ab"], "one character"),
        (["flowers.csv", "-t", "kind", "-o", "flowers.csv"], "must end in .qubonn"),
        (["flowers.csv", "-t", "kind", "-o", "no/folder/m.qubonn"], "must exist"),
        (["flowers.csv", "-t", "kind", "--test", "absent.csv"], "does not exist"),
        (["flowers.csv", "-t", "kind", "--time-limit", "0"], "0"),
        (["flowers.csv", "-t", "kind", "--class-weight", "equal"], "must be balanced, or classes"),
        (["flowers.csv", "-t", "kind", "--class-weight", "small=-1"], "positive weights such as"),
        (["flowers.csv", "-t", "kind", "--class-weight", "small=2,tiny"], "weights such as yes=5"),
        (["flowers.csv", "-t", "kind", "--class-weight", "tiny=2"], "must name classes of"),
        (["absent.csv", "-t", "kind"], "does not exist"),
        (["flowers.csv", "-t", "kind", "--labels", "flowers.csv"], "is a CSV file"),
        (["flowers.qqq", "-t", "kind"], "a name that shows its format"),
        (["a-idx3-ubyte"], "needs --labels"),
        (["one.csv", "-t", "k"], "at least two classes"),
    ],
)
def test_wrong_usage_ends_with_2_and_one_sentence_before_any_work(
    flowers: Path, call: Call, arguments: list[str], words: str
) -> None:
    Path("flowers.qqq").write_text("")
    Path("a-idx3-ubyte").write_bytes(b"")
    Path("one.csv").write_text("a,k\n1,x\n2,x\n")
    result = call("train", *arguments, code=2)
    assert result.stdout == ""
    assert words in result.stderr
    assert result.stderr.splitlines()[-1].startswith("Error: ")
    assert not Path("model.qubonn").exists()


def test_labels_and_file_names_cannot_steer_the_terminal(flowers: Path, call: Call) -> None:
    text = flowers.read_text().replace("large", "\x1b[31m[bold]large")
    Path("a\x1b[2J.csv").write_text(text)
    output = call("train", "a\x1b[2J.csv", "-t", "kind", *SMALL)
    assert "\x1b" not in output.stdout + output.stderr
    assert "\\x1b[31m[bold]large" in output.stdout
    rich = call("train", "a\x1b[2J.csv", "-t", "kind", *SMALL, env={"FORCE_COLOR": "1"})
    assert "\x1b[2J" not in rich.stdout
    assert "\\x1b[31m[bold]large" in rich.stdout


def test_rows_with_missing_values_are_counted(flowers: Path, call: Call) -> None:
    flowers.write_text(flowers.read_text() + "1,,2,large\n")
    assert "missing" not in call("train", flowers, "-t", "kind", *SMALL).stderr
    result = call("train", flowers, "-t", "kind", *SMALL, "--skip-missing")
    assert "1 rows with missing values skipped" in result.stderr


def shop(path: Path, encoding: str = "utf-8") -> None:
    """Forty customers with an id, a name, a colour and a price with gaps; two classes."""
    lines = ["id;name;colour;price;größe"]
    for number in range(40):
        colour, price = ("red", "blue", "green")[number % 3], "" if number % 8 == 0 else "1,5"
        size = "groß" if colour == "red" else "klein"
        lines.append(f"{number};customer {number};{colour};{price};{size}")
    path.write_text("\n".join(lines), encoding=encoding)


def test_text_missing_cells_and_commas_are_trained_on_and_predicted(
    tmp_path: Path, call: Call, call_json: CallJson
) -> None:
    shop(tmp_path / "shop.csv", "latin-1")
    reading = ("--decimal", ",", "--encoding", "latin-1")
    given = ("train", "shop.csv", "-t", "größe", *reading, "--committee", 1, "-o", "m.qubonn")
    noted = call(*given).stderr
    assert "column 'id' looks like an id" in noted
    assert "column 'name' looks like an id" in noted
    assert "column" not in call(*given, "--drop", "id,name").stderr
    predicted = call_json("predict", "m.qubonn", "shop.csv", *reading, "-t", "größe")
    assert predicted["accuracy"] == 1
    inspected = call("inspect", "m.qubonn").stdout
    assert "words of colour" in inspected
    assert "blue, green, red" in inspected
    facts = call_json("inspect", "m.qubonn")
    assert facts["categories"] == {"colour": ["blue", "green", "red"]}
    call("export", "m.qubonn", "--to", "c", "--numbers", "float", "-o", "m.h")
    assert "feature 0 colour: the index of a word" in Path("m.h").read_text()


def test_a_wrong_encoding_is_named(tmp_path: Path, call: Call) -> None:
    shop(tmp_path / "shop.csv", "latin-1")
    result = call("train", "shop.csv", "-t", "größe", code=2)
    assert "--encoding latin-1" in result.stderr


def test_a_test_file_must_have_numbers_where_the_training_file_has(
    tmp_path: Path, call: Call
) -> None:
    shop(tmp_path / "shop.csv")
    text = (tmp_path / "shop.csv").read_text()
    (tmp_path / "test.csv").write_text(text.replace("5;1;1,5", "").replace(";1,5;", ";cheap;", 1))
    given = ("train", "shop.csv", "-t", "größe", "--decimal", ",", "--drop", "id,name")
    result = call(*given, "--test", "test.csv", code=2)
    assert "column 'price' must hold a finite number; got 'cheap'" in result.stderr


def test_v_says_which_solver_works(flowers: Path, call: Call) -> None:
    result = call("train", flowers, "-t", "kind", "--committee", 1, "-v")
    assert "training with" in result.stderr
    assert "training with" not in result.stdout


def test_an_interrupted_training_goes_on_to_the_same_committee(flowers: Path, call: Call) -> None:
    given = ("train", flowers, "-t", "kind", "--hidden", 6)
    call(*given, "--committee", 2, "-o", "part.qubonn")
    call(*given, "--committee", 4, "--resume", "-o", "part.qubonn")
    call(*given, "--committee", 4, "-o", "whole.qubonn")
    part, whole = qn.load("part.qubonn"), qn.load("whole.qubonn")
    assert isinstance(part, qn.QuboClassifier)
    assert isinstance(whole, qn.QuboClassifier)
    assert part.committee_.members == whole.committee_.members
    assert tuple(part.feature_names_in_) == NAMES


def test_what_cannot_go_on_is_refused_and_left_alone(flowers: Path, call: Call) -> None:
    given = ("train", flowers, "-t", "kind", "--committee", 2, "-o", "m.qubonn")
    assert "m.qubonn" in call(*given, "--resume", code=2).stderr
    call(*given, "--hidden", 6)
    before = Path("m.qubonn").read_bytes()
    assert "topology" in call(*given, "--hidden", 7, "--resume", code=2).stderr
    assert Path("m.qubonn").read_bytes() == before
    qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0).save("m.qubonn")
    assert "it is a network" in call(*given, "--resume", code=2).stderr


def test_dropout_trains_a_model(flowers: Path, call_json: CallJson) -> None:
    said = call_json("train", flowers, "-t", "kind", "--committee", 1, "--dropout", 0.3)
    assert said["test_accuracy"] > 0.5
    model = qn.load("model.qubonn")
    assert isinstance(model, qn.QuboClassifier)
    assert model.dropout == 0.3


def test_a_rare_class_is_found_more_often_with_a_larger_weight(
    tmp_path: Path, call_json: CallJson
) -> None:
    generator = np.random.default_rng(0)
    labels = (np.arange(400) % 20 == 0).astype(int)
    numbers = generator.normal(labels[:, np.newaxis], size=(400, 3)).round(2).tolist()
    rows = [f"{a},{b},{c},{k}" for (a, b, c), k in zip(numbers, labels, strict=True)]
    (tmp_path / "all.csv").write_text("\n".join(["a,b,c,k", *rows]))
    (tmp_path / "rare.csv").write_text("\n".join(["a,b,c,k", *rows[::20]]))

    def recall(*options: object) -> float:
        call_json("train", "all.csv", "-t", "k", *SMALL, "--test-share", 0, *options)
        return float(call_json("predict", "model.qubonn", "rare.csv", "-t", "k")["accuracy"])

    plain, balanced = recall(), recall("--class-weight", "balanced")
    assert plain < min(balanced, recall("--class-weight", "1=19"))
    model = qn.load("model.qubonn")
    assert isinstance(model, qn.QuboClassifier)
    assert model.class_weight == {1: 19.0}  # a number, as in the file


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("balanced", "balanced"),
        ("yes=5, no=0.5", {"yes": 5.0, "no": 0.5}),
        ("a,b=2,x=y=3", {"a,b": 2.0, "x=y": 3.0}),
    ],
)
def test_classes_with_commas_and_equal_signs_have_weights_too(text: str, weights: Any) -> None:
    assert _class_weight(text) == weights


@pytest.mark.parametrize("last_step", ["predict", "save"])
def test_ctrl_c_after_the_training_keeps_the_model(
    flowers: Path, call: Call, monkeypatch: pytest.MonkeyPatch, last_step: str
) -> None:
    step, calls = getattr(qn.QuboClassifier, last_step), list[str]()

    def interrupted(*arguments: Any) -> Any:
        calls.append(last_step)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return step(*arguments)

    monkeypatch.setattr(qn.QuboClassifier, last_step, interrupted)
    options = ("--hidden", 4, "--committee", 1, "-o", "m.qubonn")
    result = call("train", flowers, "--target", "kind", *options, code=130)
    assert "Interrupted; m.qubonn is written." in result.stderr
    model = qn.load("m.qubonn")
    assert isinstance(model, qn.QuboClassifier)
    assert tuple(model.feature_names_in_) == NAMES
