"""The page's annealing in Python: exact energies, and the vectors that its tests read."""

import math

import numpy as np
import pytest

import qubonn as qn
from playground.vectors import FILE, cases, problem_of, text_of, vectors
from qubonn.errors import RangeError
from qubonn.playground import Replay, images_with_two_flips, replay
from qubonn.playground.replay import best_energy, decay, generator, logarithm, temperatures


@pytest.fixture(scope="module")
def problem() -> qn.TrainingProblem:
    letters = qn.datasets.letters(seed=0)
    return qn.TrainingProblem(
        qn.paper.topology(10), letters.train_inputs, letters.train_outputs, margin_strength=0.02
    )


def test_the_vectors_of_the_page_are_what_this_package_computes() -> None:
    pytest.importorskip("ortools", reason="robustness is proved with ortools")
    assert FILE.read_text("utf-8") == text_of(vectors())


@pytest.mark.parametrize("view", ["lifted", "qubo"])
def test_the_energy_is_that_of_the_problem(problem: qn.TrainingProblem, view: str) -> None:
    run = replay(problem, view=view, seed=3, sweeps=10)  # type: ignore[arg-type]
    if view == "qubo":
        assert run.energy == pytest.approx(problem.qubo().energy(run.bits), abs=1e-9)
    else:
        states = 2 * run.bits[problem.variables.starts[2] :].reshape(4, -1) - 1
        spins = (2 * problem.variables.known_bits - 1).astype(np.int8)
        spins[:, problem.variables.structure.free_nodes] = states
        certificate = problem.certify(run.network, spins)
        assert run.energy == pytest.approx(certificate.terms.total, abs=1e-9)


def test_the_lifted_view_reaches_feasible_networks(problem: qn.TrainingProblem) -> None:
    run = replay(problem, seed=1, sweeps=60)
    assert problem.certify(run.network).is_feasible
    assert run.energies[-1] == min(run.energies)


def test_the_same_seed_repeats_and_another_replica_differs(problem: qn.TrainingProblem) -> None:
    first, same, other = (replay(problem, seed=5, replica=n, sweeps=2) for n in (0, 0, 1))
    assert np.array_equal(first.energies, same.energies)
    assert not np.array_equal(first.bits, other.bits)
    assert first.proposal_count == 98 * 12


def test_a_field_and_products_of_any_strength_have_exact_energies() -> None:
    case = list(cases())[-1]
    run: Replay = replay(problem_of(case), view="qubo", seed=2, sweeps=5)
    assert run.energy == pytest.approx(problem_of(case).terms(run.bits).total, abs=1e-9)


@pytest.mark.parametrize("fan_in", [1, 4, 7, 8])
def test_a_neuron_has_energy_zero_exactly_if_its_activation_is_right(fan_in: int) -> None:
    for positive in range(fan_in + 2):
        is_positive = 2 * positive - fan_in - 1 > 0
        assert best_energy(fan_in, positive, int(is_positive), 0) == 0
        assert best_energy(fan_in, positive, int(not is_positive), 0) >= 1000


def test_exponential_and_logarithm_are_accurate() -> None:
    for x in np.linspace(0, 22, 100).tolist():
        assert decay(x) == pytest.approx(math.exp(-x), rel=1e-13)
        assert logarithm(x + 0.01) == pytest.approx(math.log(x + 0.01), abs=1e-13)


def test_temperatures_fall_to_zero() -> None:
    cooling = temperatures(5, 8.0, 0.5)
    assert cooling[:5] == pytest.approx([8, 4, 2, 1, 0.5])
    assert cooling[5:] == [0.0] * 10


def test_random_bits_are_balanced() -> None:
    draw = generator(0, 0)
    share = sum(draw() >> 31 for _ in range(10_000)) / 10_000
    assert abs(share - 0.5) < 0.02  # four standard deviations: one in 16,000


def test_test_images_differ_in_two_pixels() -> None:
    image = np.ones(25, dtype=np.int8)
    images = images_with_two_flips(image, seed=4, class_number=2)
    assert ((images != image).sum(axis=1) == 2).all()
    assert len(np.unique(images, axis=0)) == 10


@pytest.mark.parametrize(
    "options", [{"view": "forward"}, {"sweeps": 0}, {"hottest": 0.1}, {"coldest": 0.0}]
)
def test_wrong_options_are_refused(problem: qn.TrainingProblem, options: dict[str, object]) -> None:
    with pytest.raises(RangeError):
        replay(problem, **options)  # type: ignore[arg-type]


def test_strengths_finer_than_thousandths_are_refused() -> None:
    fine = qn.TrainingProblem(qn.Topology.dense(2, 1), [[1, 1]], [[1]], margin_strength=0.0001)
    with pytest.raises(RangeError, match="whole thousandths"):
        replay(fine)


def test_problems_that_the_page_does_not_have_are_refused() -> None:
    free = qn.TrainingProblem(qn.Topology.dense(2, 1), [[1, 1]], [[1]], output_strength=1)
    shared = qn.TrainingProblem(qn.Topology.dense(2, 1), [[1, 1]], [[1]], share=True)
    for problem in (free, shared):
        with pytest.raises(RangeError, match="output_strength"):
            replay(problem)


def test_more_images_than_pairs_of_pixels_are_refused() -> None:
    with pytest.raises(RangeError, match="3 pairs"):
        images_with_two_flips([1, 1, 1])
