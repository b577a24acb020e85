"""Calibration of a committee's votes by examples that it has not seen."""

import numpy as np
import pytest

from qubonn.training.calibration import Calibration


def scores_and_classes(count: int, sharpness: float, seed: int = 0) -> tuple[object, object]:
    """Return random scores, and classes drawn with the probabilities of `sharpness` * scores."""
    generator = np.random.default_rng(seed)
    scores = generator.normal(0, 2, size=(count, 3))
    shares = np.exp(sharpness * scores)
    shares /= shares.sum(axis=1, keepdims=True)
    return scores, (generator.random((count, 1)) > shares.cumsum(axis=1)).sum(axis=1)


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 3.0])
def test_the_sharpness_of_the_scores_is_found(sharpness: float) -> None:
    # 10,000 examples: the estimate is off by about 2 %
    found = Calibration.fit(*scores_and_classes(10_000, sharpness))  # type: ignore[arg-type]
    assert found.sharpness == pytest.approx(sharpness, rel=0.15)
    assert found.pulls == ()


def test_on_noise_the_shares_of_the_classes_remain() -> None:
    generator = np.random.default_rng(0)
    scores, class_of = generator.normal(size=(2_000, 2)), generator.binomial(1, 0.2, 2_000)
    found = Calibration.fit(scores, class_of)
    logits = found.sharpness * (scores + np.array(found.pulls))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert np.abs(shares[:, 1] - 0.2).mean() < 0.05


def test_an_example_of_weight_two_counts_twice() -> None:
    scores, class_of = scores_and_classes(200, 0.5)
    weights = np.where(np.arange(200) < 50, 2.0, 1.0)
    rows = np.repeat(np.arange(200), weights.astype(int))
    weighed = Calibration.fit(scores, class_of, weights)  # type: ignore[arg-type]
    twice = Calibration.fit(scores[rows], class_of[rows])  # type: ignore[index]
    assert weighed.sharpness == pytest.approx(twice.sharpness, rel=0.02)


def test_few_right_examples_are_no_proof_of_certainty() -> None:
    scores = np.array([[2.0, 0.0], [0.0, 2.0]] * 5)
    assert Calibration.fit(scores, np.array([0, 1] * 5)).sharpness < 3


def test_pulls_are_whole_votes() -> None:
    assert Calibration(1.0, (0.0, -1.26)).offsets(10).tolist() == [0, -13]  # type: ignore[union-attr]
    assert Calibration(1.0, (0.0, -0.01)).offsets(10) is None
    assert Calibration(2.0).offsets(10) is None


def test_scores_that_are_no_votes_get_no_pulls() -> None:
    generator = np.random.default_rng(0)
    scores, class_of = generator.normal(size=(500, 2)), generator.binomial(1, 0.1, 500)
    assert Calibration.fit(scores, class_of).pulls
    assert not Calibration.fit(scores, class_of, has_pulls=False).pulls
