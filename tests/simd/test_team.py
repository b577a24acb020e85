"""Sums of all members are the same in each of them, whatever their number and order."""

import itertools
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from qubonn.simd.compiling import kernel
from qubonn.simd.team import LINE, MOST_SUMS, Team, add_up, in_all, team_of
from qubonn.simd.threads import run_together


@kernel
def add_often(team: Team, found: NDArray[np.int64]) -> None:
    """Add up sums that differ by member and turn; keep all results."""
    for turn in range(len(found)):
        for place in range(MOST_SUMS):
            team.sums[place] = (team.rank + 1) * 1000 * turn + place
        add_up(team, MOST_SUMS)
        for place in range(MOST_SUMS):
            found[turn, place] = team.sums[place]
        found[turn, MOST_SUMS] = in_all(team, team.rank + turn)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_each_member_has_the_sums_of_all(size: int) -> None:
    turns = 50
    found = np.zeros((size, turns, LINE), dtype=np.int64)
    members = team_of(8, size)
    run_together([partial(add_often, one, found[one.rank]) for one in members])
    ranks, turn = np.arange(size), np.arange(turns)
    expected = 1000 * (ranks + 1).sum() * turn[:, None] + size * np.arange(MOST_SUMS)
    for rank in ranks:
        np.testing.assert_array_equal(found[rank, :, :MOST_SUMS], expected)
        np.testing.assert_array_equal(found[rank, :, MOST_SUMS], ranks.sum() + size * turn)


@pytest.mark.parametrize("block_count", [0, 1, 7, 8, 9, 64, 1001])
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_blocks_are_shared_without_gaps(block_count: int, size: int) -> None:
    members: list[Team] = team_of(block_count, size)
    assert [member.rank for member in members] == list(range(size))
    assert members[0].first == 0
    assert members[-1].last == block_count
    for one, other in itertools.pairwise(members):
        assert one.last == other.first
        assert one.last % 8 == 0
        assert one.lines is other.lines


def test_lines_are_in_cache_lines_of_their_own() -> None:
    assert team_of(8, 3)[0].lines.ctypes.data % 64 == 0
    assert LINE * 8 % 64 == 0
