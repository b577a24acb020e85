import html
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import qubonn as qn
from qubonn.cli.demo import Demonstration, accuracies_of, demo_page, demonstrate
from qubonn.estimator import PosedProblem

Call = Callable[..., Result]


@pytest.fixture(scope="module")
def shown() -> Demonstration:
    return demonstrate(10, 0)


def test_the_demo_trains_certifies_reads_and_leaves_its_files(call: Call) -> None:
    result = call("demo", "-o", "out")
    for words in (
        "satisfies all 44 constraints: H1 = 0, H2 = 0; its energy in the QUBO is 0",
        "The committee predicts 40 of 40 correctly",
        "qubonn predict out/model.qubonn out/letters-test.csv",
    ):
        assert words in result.stdout
    assert "\x1b" not in result.stdout
    assert "LETTERS_INPUT_COUNT 25" in Path("out/model.h").read_text()
    assert Path("out/network.png").stat().st_size > 10_000
    assert qn.Qubo.load("out/problem.qubo").variable_count == 186


def test_what_the_demo_says_to_try_next_works(call: Call) -> None:
    call("demo", "--out", "out")
    result = call("predict", "out/model.qubonn", "out/letters-test.csv", "-t", "letter", "--proba")
    assert "(40 of 40)" in result.stderr
    call("train", "out/letters-test.csv", "-t", "letter", "--image", "5x5", "--committee", 1)
    call("inspect", "out/problem.qubo", "--picture", "couplings.png")
    bits = PosedProblem.load("out/problem.qubo.problem.npz").problem
    np.savez("s.npz", bits=bits.encode(qn.train(bits, seed=1).network))
    call("decode", "out/problem.qubo", "s.npz", "--require-feasible")


def test_the_demo_says_when_a_network_cannot_be_trained(call: Call) -> None:
    result = call("demo", "--network", 8, "--out", "out")
    assert "does not satisfy all 20 constraints" in result.stdout
    assert "activation constraint of example" in result.stdout


def test_programs_get_the_accuracies_of_all_ways(call_json: Callable[..., dict[str, Any]]) -> None:
    said = call_json("demo", "--network", 5, "--seed", 2)
    accuracies = list(said["test_accuracies"].values())
    assert said["is_feasible"] is True
    assert len(accuracies) == 4
    assert accuracies[0] < min(accuracies[2:])
    assert all(Path(path).exists() for path in said["written"])


@pytest.mark.parametrize("arguments", [["--network", "18"], ["--seed", "-1"]])
def test_wrong_options_end_with_2_before_any_work(arguments: list[str], call: Call) -> None:
    result = call("demo", *arguments, code=2)
    assert "not in the range" in result.stderr
    assert not Path("demo").exists()


def test_the_accuracies_are_those_of_the_networks(shown: Demonstration) -> None:
    letters = shown.letters
    single, margin, plain_vote, margin_vote = shown.accuracies.values()
    each = [
        network.accuracy(letters.test_inputs, letters.test_outputs)
        for network in shown.plain.result.feasible_networks
    ]
    assert single == pytest.approx(np.mean(each))
    assert margin == shown.margin.result.network.accuracy(letters.test_inputs, letters.test_outputs)
    assert plain_vote == shown.plain.result.committee(25).accuracy(
        letters.test_inputs, letters.test_outputs
    )
    assert margin_vote == np.mean(shown.predicted == letters.test_labels) == shown.right_count / 40


def test_a_committee_is_called_by_the_number_of_its_members(shown: Demonstration) -> None:
    few = replace(
        shown.plain.result,
        networks=shown.plain.result.networks[:7],
        activations=shown.plain.result.activations[:7],
        energies=shown.plain.result.energies[:7],
    )
    accuracies = accuracies_of(shown.letters, replace(shown.plain, result=few), shown.margin)
    voters = len(few.committee(25))
    assert voters < 25
    assert list(accuracies)[2] == f"{voters} networks vote"


def test_energies_fall_to_that_of_the_best_network(shown: Demonstration) -> None:
    for run in (shown.plain, shown.margin):
        assert len(run.sweeps) == len(run.energies) > 5
        assert list(run.sweeps) == sorted(run.sweeps)
        assert run.energies[-1] == pytest.approx(run.result.energies[0], abs=1e-3)


class TestThePage:
    def test_needs_no_other_file_and_runs_nothing(self, shown: Demonstration) -> None:
        page = demo_page(shown, Path("demo"), b"png")
        assert "<script" not in page
        assert "default-src 'none'" in page
        assert re.findall(r'(?:src|href)="(?!data:image/png|#)', page) == []
        assert re.findall(r'(?<!xmlns=")(?<!xmlns:xlink=")https?://', page) == []

    def test_shows_every_test_image_and_all_sections(self, shown: Demonstration) -> None:
        page = demo_page(shown, Path("demo"), b"png")
        assert page.count("aria-label=&quot;") == 0
        assert len(re.findall(r'aria-label="test image \d+"', page)) == 40
        assert len(re.findall(r'aria-label="weights of neuron \d+"', page)) == 3
        assert page.count("<section>") == page.count("</section>") == 9
        assert page.count("<table>") == 3

    def test_escapes_names(self, shown: Demonstration) -> None:
        hostile = '<img src=x onerror="alert(1)">&'
        page = demo_page(shown, Path(hostile), b"png")
        assert hostile not in page
        assert html.escape("onerror=") in page
        assert "<img src=x" not in page

    def test_draws_the_energies_and_the_accuracies_in_the_colours_of_the_page(
        self, shown: Demonstration
    ) -> None:
        page = demo_page(shown, Path("demo"), b"png")
        for title in ("lowest energy of all replicas", "accuracy on the test images"):
            assert page.count(f'<svg role="img" aria-label="{title}"') == 1
        assert "var(--first)" in page
        assert "#2f6fde" not in page.replace("--first: #2f6fde", "")
        for name, accuracy in shown.accuracies.items():
            assert f">{name}</text>" in page
            assert f">{accuracy:.3f}</text>" in page

    def test_shows_confusion_matrices_of_all_test_images(self, shown: Demonstration) -> None:
        tables = re.findall(r"<table>.*?</table>", demo_page(shown, Path("d"), b""), re.S)[-2:]
        counts = [re.findall(r'<td class="(?:good|bad)">(\d+)</td>', table) for table in tables]
        assert [sum(map(int, numbers)) for numbers in counts] == [40, 40]
        assert 'class="bad"' not in tables[1]

    def test_of_a_network_with_convolutions_shows_its_filters(self) -> None:
        page = demo_page(demonstrate(3, 0), Path("demo"), b"png")
        assert len(re.findall(r'aria-label="weights of neuron \d+"', page)) == 2
        drawn = re.findall(r'aria-label="weights of neuron 1".*?</svg>', page, re.S)[0]
        places = {(int(x), int(y)) for x, y in re.findall(r'x="(\d+)" y="(\d+)"', drawn)}
        assert len(places) == 9
        assert {x for x, _ in places} == {y for _, y in places} == {0, 16, 32}
