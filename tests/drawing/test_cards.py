"""Records print one line, and a card in notebooks."""

import subprocess
import sys
from functools import cache
from typing import Any

import pytest

import qubonn as qn
from drawing.html_reading import Elements
from qubonn.drawing.cards import card, qubo_facts

MOST_LETTERS = 200  # of a line


@cache
def records() -> dict[str, Any]:
    """A record of each kind, of a network of the paper."""
    letters = qn.datasets.letters(seed=0)
    topology = qn.Topology.parse("conv(3x3x2)+fc(4)", inputs=(5, 5), outputs=2)
    problem = qn.TrainingProblem(topology, letters.train_inputs, letters.train_outputs)
    qubo, engine = problem.qubo(), qn.LiftedAnnealing(replica_count=20, sweep_count=100)
    result = qn.train(problem, engine)
    posed = qn.pose(letters.train_inputs, letters.train_labels)
    return {
        "topology": topology,
        "thinning": topology.thin([0, 1]),
        "problem": problem,
        "field": problem.field,
        "variables": problem.variables,
        "structure": problem.variables.structure,
        "hamiltonian": problem.hamiltonian(),
        "qubo": qubo,
        "ising": qubo.to_ising(),
        "samples": qn.SimulatedAnnealing(replica_count=5, sweep_count=5).sample(qubo, seed=0),
        "solutions": engine.solve(problem),
        "result": result,
        "certificate": result.certificate(),
        "assignment": problem.read(problem.encode(result.network)),
        "network": result.network,
        "forward": result.network.forward(letters.train_inputs),
        "packed": result.network.packed(),
        "committee": result.committee(3),
        "posed": posed,
        "encoding": posed.encoding,
        "letters": letters,
    }


CARDS = ("topology", "problem", "qubo", "samples", "result", "network", "committee")


@pytest.mark.parametrize("name", records())
def test_a_record_prints_one_short_line_without_arrays(name: str) -> None:
    line = repr(records()[name])
    assert line.startswith(type(records()[name]).__name__)
    assert len(line) <= MOST_LETTERS
    assert "\n" not in line
    assert "array(" not in line


@pytest.mark.parametrize("name", CARDS)
def test_a_card_is_well_formed_and_needs_nothing_else(name: str) -> None:
    page = Elements(records()[name]._repr_html_())
    assert page.tags.count("table") == 1
    assert page.tags.count("th") == page.tags.count("td") > 4
    assert not {"script", "link", "style", "img"} & set(page.tags)
    assert not {"href", "src", "id", "class"} & {attribute for attribute, _ in page.attributes}


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("topology", ["arcs 242", "weights 98", "1x5x5"]),
        ("problem", ["examples 4", "constraints 416", "QUBO variables 826"]),
        ("qubo", ["variables 826", "couplings 28,672", "98 weight"]),
        ("samples", ["states 5", "lowest energy", "all the requested work is done"]),
        ("result", ["violations 0 of 416 constraints", "H1 = 0, H2 = 0", "122 bits, 16 bytes"]),
        ("network", ["bytes on a device 132"]),
        ("committee", ["Committee of 3", "bytes on a device 220"]),
    ],
)
def test_a_card_has_the_size_and_the_certificate(name: str, facts: list[str]) -> None:
    text = Elements(records()[name]._repr_html_()).text
    assert [fact for fact in facts if fact not in text] == []


def test_hostile_text_in_a_card_stays_text() -> None:
    hostile = "<script>alert('x')</script>"
    page = Elements(card(hostile, [(hostile, hostile)]))
    assert "script" not in page.tags
    assert page.words.count(hostile) == 3


def test_hostile_labels_of_a_qubo_stay_text() -> None:
    labels = [("<script>", 0), ("<script>", 1)]
    qubo = qn.Qubo.of([0], [1], [2], variable_count=2, labels=labels)
    page = Elements(qubo._repr_html_())
    assert "script" not in page.tags
    assert "2 <script>" in page.text


def test_cards_of_empty_and_cyclic_records_exist() -> None:
    empty = qn.Qubo.of([], [], [], variable_count=0)
    assert dict(qubo_facts(empty))["variables"] == "0"
    assert "states 0" in Elements(qn.Samples.of(empty, [[]]).lowest(1)._rows([])._repr_html_()).text  # type: ignore[arg-type]
    cyclic = qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)
    assert "levels cyclic" in Elements(cyclic._repr_html_()).text
    lonely = qn.Topology.from_arcs([(0, 0)], inputs=0, outputs=1)
    assert "inputs 0" in Elements(lonely._repr_html_()).text


def test_a_card_needs_no_matplotlib() -> None:
    code = "import sys, qubonn as qn; qn.Topology.dense(3, 2)._repr_html_(); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "matplotlib" not in run.stdout.split()
