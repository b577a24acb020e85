from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadratic.small_qubos import EIGHTHS, TermList, term_lists
from qubonn.errors import AlphabetError, RangeError, ShapeError
from qubonn.quadratic import Qubo, fix


@st.composite
def partly_known(draw: st.DrawFn) -> tuple[TermList, dict[int, int]]:
    written = draw(term_lists() | term_lists(EIGHTHS))
    bits = draw(st.lists(st.sampled_from([None, 0, 1]), min_size=5, max_size=5))
    known = {
        variable: bit
        for variable, bit in enumerate(bits[: written.variable_count])
        if bit is not None
    }
    return written, known


@given(partly_known())
def test_lifted_bits_have_the_energy_of_the_free_ones(
    problem: tuple[TermList, dict[int, int]],
) -> None:
    written, known = problem
    fixed = fix(written.qubo(), known)
    for free in product((0, 1), repeat=len(fixed.free)):
        lifted = fixed.lift(free)
        assert {variable: lifted[variable] for variable in known} == known
        assert fixed.qubo.energy(free) == written.energy(tuple(lifted.tolist()))


@given(partly_known())
def test_a_lifted_batch_is_its_lifted_rows(problem: tuple[TermList, dict[int, int]]) -> None:
    written, known = problem
    fixed = fix(written.qubo(), known)
    batch = np.array(list(product((0, 1), repeat=len(fixed.free))))
    assert fixed.lift(batch).tolist() == [fixed.lift(free).tolist() for free in batch]


def test_labels_follow_their_variables() -> None:
    qubo = Qubo.of([0, 1], [1, 2], [1, 1], variable_count=3, labels=["a", "b", "c"])
    assert fix(qubo, {1: 1}).qubo.labels == ["a", "c"]


def test_whole_coefficients_stay_whole() -> None:
    assert fix(Qubo.of([0, 0], [0, 1], [-3, 2], variable_count=2), {0: 1}).qubo.is_exact


def test_known_variables_must_exist() -> None:
    with pytest.raises(RangeError, match=r"known variables must lie in 0\.\.1; got 2"):
        fix(Qubo.of([0], [1], [1], variable_count=2), {2: 0})


def test_known_bits_must_be_bits() -> None:
    with pytest.raises(AlphabetError, match="known bits must be 0 or 1; got 2"):
        fix(Qubo.of([0], [1], [1], variable_count=2), {1: 2})


def test_lifting_needs_every_free_bit() -> None:
    fixed = fix(Qubo.of([0], [1], [1], variable_count=2), {1: 1})
    with pytest.raises(ShapeError, match="bits must have 1 values"):
        fixed.lift([0, 1])
