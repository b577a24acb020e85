import numpy as np
import pytest

import qubonn as qn
from qubonn.errors import RangeError
from qubonn.samplers.temperatures import (
    Cooling,
    chosen_temperatures,
    default_temperatures,
    geometric,
    require_temperatures,
)
from qubonn.stopping import Watch
from qubonn.testing.sampler_contract import random_qubo


def test_cooling_follows_the_papers_formula() -> None:
    steps = np.arange(1000)
    expected = 5.0 * (0.116 / 5.0) ** (steps / 999)
    assert np.allclose(geometric(5.0, 0.116, 1000), expected, rtol=1e-12)
    assert geometric(3.0, 1.0, 1).tolist() == [3.0]


def test_defaults_scale_with_the_energy_and_a_flat_energy_has_some() -> None:
    qubo = random_qubo(12, 0)
    terms = np.concatenate([qubo.linear, qubo.couplings])
    everyone = np.arange(12)
    rows, columns = np.append(everyone, qubo.rows), np.append(everyone, qubo.columns)
    fourfold = qn.Qubo.of(rows, columns, 4 * terms, variable_count=12)
    hottest, coldest = default_temperatures(qubo)
    assert default_temperatures(fourfold) == pytest.approx((4 * hottest, 4 * coldest))
    assert default_temperatures(qn.Qubo.of([], [], [], variable_count=2)) == (1.0, 0.1)


def test_a_default_gives_way_to_the_temperature_that_is_given() -> None:
    qubo = qn.Qubo.of([0, 1], [0, 1], [-7, 14], variable_count=2)  # 10.5 and 1.0
    assert chosen_temperatures(qubo, None, None) == (10.5, 1.0)
    assert chosen_temperatures(qubo, 0.5, None) == (0.5, 0.5)
    assert chosen_temperatures(qubo, None, 20.0) == (20.0, 20.0)
    assert chosen_temperatures(qubo, 3.0, 2.0) == (3.0, 2.0)


@pytest.mark.parametrize(
    ("hottest", "coldest", "message"),
    [(1.0, 2.0, "0 < coldest <= hottest"), (True, None, "hottest must be a temperature, a number")],
)
def test_temperatures_out_of_order_are_refused(
    hottest: float, coldest: float | None, message: str
) -> None:
    with pytest.raises(RangeError, match=message):
        require_temperatures(hottest, coldest)


def test_without_a_limit_the_slices_are_the_whole_plan() -> None:
    found = np.concatenate(list(Cooling((5.0, 0.1), 100).slices(Watch())))
    assert np.array_equal(found, geometric(5.0, 0.1, 100))


def test_a_temperature_is_repeated() -> None:
    found = np.concatenate(list(Cooling((4.0, 1.0), 7, repeat=3).slices(Watch())))
    assert found.tolist() == [4.0, 4.0, 4.0, 2.0, 2.0, 2.0, 1.0]


class Clock:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.mark.parametrize("sweep_count", [10**6, None])
def test_a_schedule_that_does_not_fit_is_cooled_faster_and_ends_at_the_coldest(
    monkeypatch: pytest.MonkeyPatch, sweep_count: int | None
) -> None:
    clock = Clock()
    monkeypatch.setattr("qubonn.samplers.temperatures.time", clock)
    cooling = Cooling((5.0, 0.1), sweep_count, end=0.2)
    found = []
    for temperatures in cooling.slices(Watch()):
        clock.now += 0.002 * len(temperatures)
        found.extend(temperatures.tolist())
    assert (np.diff(found) <= 0).all()
    assert found[0] == 5.0
    assert found[-1] == pytest.approx(0.1, rel=0.05)
    assert len(found) == pytest.approx(100, abs=2)
    assert clock.now == pytest.approx(0.2, abs=0.004)
    assert cooling.plan is None
