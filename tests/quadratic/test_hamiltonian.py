import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadratic.small_qubos import EIGHTHS, WHOLE, TermList, term_lists
from qubonn.errors import RangeError
from qubonn.quadratic import Hamiltonian


def hamiltonian_of(written: TermList) -> Hamiltonian:
    return Hamiltonian.constant(written.offset) + Hamiltonian.total(
        [Hamiltonian.quadratic(*term) for term in written.terms]
    )


@given(term_lists() | term_lists(EIGHTHS))
def test_a_sum_of_terms_is_the_qubo_of_the_list(written: TermList) -> None:
    qubo = hamiltonian_of(written).to_qubo(written.variable_count)
    for bits in written.assignments():
        assert qubo.energy(bits) == written.energy(bits)


@given(term_lists(most_variables=3), term_lists(EIGHTHS, most_variables=3), WHOLE, EIGHTHS)
def test_sums_differences_and_multiples_act_on_energies(
    first: TermList, second: TermList, one: int, other: float
) -> None:
    count = max(first.variable_count, second.variable_count)
    both = one * hamiltonian_of(first) - other * hamiltonian_of(second)
    qubo = both.to_qubo(count)
    for bits in TermList(count, [], 0).assignments():
        assert qubo.energy(bits) == one * first.energy(bits) - other * second.energy(bits)


@given(term_lists(), WHOLE)
def test_whole_terms_times_a_whole_number_stay_whole(written: TermList, factor: int) -> None:
    assert (factor * hamiltonian_of(written)).to_qubo(written.variable_count).is_exact


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16])
@given(factor=st.integers(-1000, 1000))
def test_small_integers_do_not_wrap_around(kind: type, factor: int) -> None:
    scaled = factor * Hamiltonian.linear([0, 1], np.array([100, 3], dtype=kind))
    assert scaled.to_qubo(2).linear.tolist() == [100 * factor, 3 * factor]


def test_arrays_broadcast() -> None:
    energy = Hamiltonian.quadratic([[0], [1]], [2, 3], 5).to_qubo(4)
    assert energy.rows.tolist() == [0, 0, 1, 1]
    assert energy.columns.tolist() == [2, 3, 2, 3]
    assert energy.couplings.tolist() == [5, 5, 5, 5]


def test_no_terms_leave_the_energy_whole() -> None:
    energy = Hamiltonian.linear([], []) + Hamiltonian.linear(0, 3)
    assert energy.to_qubo(1).is_exact


def test_a_numpy_constant_leaves_the_energy_whole() -> None:
    assert Hamiltonian((), np.int64(3)).to_qubo(1).is_exact  # type: ignore[arg-type]


def test_zero_times_anything_is_nothing() -> None:
    assert (0 * Hamiltonian.linear(0, 0.5)).parts == ()


def test_labels_go_to_the_qubo() -> None:
    assert Hamiltonian.linear(0, 1).to_qubo(1, ["a"]).labels == ["a"]


@pytest.mark.parametrize("variable", [-1, 3])
@pytest.mark.parametrize("variable_count", [3, 1000])
def test_variables_must_lie_in_range(variable: int, variable_count: int) -> None:
    variable = variable if variable < 0 else variable_count
    with pytest.raises(RangeError, match=r"rows must be variable numbers in 0\.\."):
        Hamiltonian.linear(variable, 1).to_qubo(variable_count)
