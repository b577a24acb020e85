import numpy as np
import pytest

import qubonn as qn
from qubonn.errors import RangeError
from qubonn.samplers.momentum import self_couplings

COUPLINGS = np.array([[0, 1, -2], [1, 0, 3], [-2, 3, 0]], dtype=np.float32)


def test_the_absolute_rule_is_half_the_sum_of_magnitudes() -> None:
    assert self_couplings(COUPLINGS, "absolute").tolist() == [1.5, 2.0, 2.5]


def test_the_spectral_rule_is_half_the_largest_eigenvalue_except_for_weak_spins() -> None:
    largest = np.linalg.eigvalsh(-COUPLINGS.astype(float)).max()
    sums = np.abs(COUPLINGS).sum(axis=1)
    is_weak = sums <= largest
    expected = np.where(is_weak, sums - np.abs(COUPLINGS)[:, is_weak].sum(axis=1) / 2, largest / 2)
    assert np.allclose(self_couplings(COUPLINGS, "spectral"), expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"self_coupling": "best"}, "self_coupling must be 'spectral' or 'absolute'; got 'best'"),
        ({"step_count": 0}, "step_count must be at least 1"),
        ({"hottest": -1.0}, "0 < coldest"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(RangeError, match=message):
        qn.MomentumAnnealing(**settings)  # type: ignore[arg-type]


def test_a_device_that_torch_does_not_have_is_refused() -> None:
    pytest.importorskip("torch", reason="momentum annealing needs torch")
    annealer = qn.MomentumAnnealing(replica_count=2, step_count=2, device="nowhere")
    with pytest.raises(RangeError, match="device must be one that torch can use here"):
        annealer.sample(qn.Qubo.of([0], [0], [1], variable_count=1))


def test_replicas_stay_different_on_max_cut_by_default_and_a_collapse_is_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pytest.importorskip("torch", reason="momentum annealing needs torch")
    generator = np.random.default_rng(0)
    rows, columns = np.triu_indices(120, 1)
    kept = generator.random(len(rows)) < 0.1
    rows, columns, ones = rows[kept], columns[kept], np.ones(kept.sum(), dtype=np.int64)
    qubo = qn.Qubo.of(
        np.concatenate([rows, rows, columns]),
        np.concatenate([columns, rows, columns]),
        np.concatenate([2 * ones, -ones, -ones]),
        variable_count=120,
    )
    samples = qn.MomentumAnnealing(replica_count=60, step_count=300).sample(qubo)
    assert samples.info["states"] == len(samples.distinct()) > 10
    assert not caplog.records
    easy = qn.Qubo.of(range(64), range(64), [-1] * 64, variable_count=64)
    qn.MomentumAnnealing(replica_count=60, step_count=20).sample(easy)
    assert "all replicas ended in 1 states" in caplog.text
