import time

import numpy as np

from qubonn.samplers.cooling import Cooling
from qubonn.samplers.temperatures import geometric
from qubonn.stopping import Watch


def test_without_a_limit_the_slices_are_the_whole_plan() -> None:
    found = np.concatenate(list(Cooling((5.0, 0.1), 100).slices(Watch())))
    assert np.array_equal(found, geometric(5.0, 0.1, 100))


def test_a_temperature_is_repeated() -> None:
    found = np.concatenate(list(Cooling((4.0, 1.0), 7, repeat=3).slices(Watch())))
    assert found.tolist() == [4.0, 4.0, 4.0, 2.0, 2.0, 2.0, 1.0]


def test_a_schedule_that_does_not_fit_is_cooled_faster_and_ends_at_the_coldest() -> None:
    watch = Watch(time_limit=0.2)
    for sweep_count in (10**6, None):
        cooling = Cooling((5.0, 0.1), sweep_count, end=time.perf_counter() + 0.2)
        found = []
        for temperatures in cooling.slices(watch):
            time.sleep(0.002 * len(temperatures))
            found.extend(temperatures.tolist())
        assert (np.diff(found) <= 0).all()
        assert found[0] == 5.0
        assert 0.1 <= found[-1] < 0.2
        assert 20 < len(found) < 200
        assert cooling.plan is None
