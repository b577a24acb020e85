import numpy as np
import pytest

from qubonn.errors import AlphabetError, RangeError, ShapeError
from qubonn.quadratic import Qubo, Samples
from qubonn.stopping import Stop

QUBO = Qubo.of([0, 1, 0], [0, 1, 1], [-1, 2, -4], variable_count=2)


def test_states_come_best_first_and_equal_ones_keep_their_order() -> None:
    samples = Samples.of(QUBO, [[0, 1], [1, 0], [1, 1], [0, 0], [1, 0]])
    assert samples.bits.tolist() == [[1, 1], [1, 0], [1, 0], [0, 0], [0, 1]]
    assert samples.energies.tolist() == [-3, -1, -1, 0, 2]
    assert samples.best.tolist() == [1, 1]
    assert samples.best_energy == -3


def test_distinct_and_lowest_keep_the_order_and_why_the_run_ended() -> None:
    samples = Samples.of(QUBO, [[1, 0], [0, 0], [1, 0]], stop=Stop.TARGET, info={"sweeps": 3})
    assert samples.distinct().bits.tolist() == [[1, 0], [0, 0]]
    assert samples.lowest(2).bits.tolist() == [[1, 0], [1, 0]]
    assert len(samples.lowest(9)) == 3
    for part in (samples.distinct(), samples.lowest(1)):
        assert (part.stop, part.info) == (Stop.TARGET, {"sweeps": 3})
    with pytest.raises(RangeError, match="count must be at least 1; got 0"):
        samples.lowest(0)


def test_a_single_state_is_one_row_and_others_are_refused() -> None:
    assert Samples.of(QUBO, [1, 1]).bits.shape == (1, 2)
    with pytest.raises(ShapeError, match="states must have 2 values"):
        Samples.of(QUBO, np.zeros((1, 3)))
    with pytest.raises(AlphabetError, match="states must be 0 or 1"):
        Samples.of(QUBO, [[1, -1]])


def test_the_text_says_how_many_and_how_good() -> None:
    assert repr(Samples.of(QUBO, [[1, 1]])) == "Samples(1 states, best energy -3, FINISHED)"
