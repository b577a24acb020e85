from typing import Any

import numpy as np
import pytest

import qubonn as qn
from qubonn.samplers import _dense_kernels, _kernels
from qubonn.samplers.replicas import PackedQubo, Replicas, random_states
from qubonn.testing.sampler_contract import random_qubo

kernels: Any = _kernels
dense: Any = _dense_kernels


@pytest.mark.parametrize("scale", [1, 5000])
def test_dense_rows_take_the_path_of_neighbour_lists(scale: int) -> None:
    base = random_qubo(70, 1)
    everyone = np.arange(70)
    qubo = qn.Qubo.of(
        np.append(everyone, base.rows),
        np.append(everyone, base.columns),
        scale * np.append(base.linear, base.couplings),
        variable_count=70,
    )
    problem = PackedQubo(qubo)
    assert problem.matrix is not None
    assert problem.lists.couplings.dtype == (np.int16 if scale == 1 else np.int32)
    temperatures = np.geomspace(50, 0.5, 30) * scale
    states = random_states(qubo, 40, seed=1)
    rows, lists = (Replicas(problem, states, 1, lanes) for lanes in (16, 32))
    for replicas in (rows, lists):
        replicas.advance(temperatures[:11])
        replicas.advance(temperatures[11:])
    assert np.array_equal(rows.states(), lists.states())
    assert np.array_equal(rows.energies, qubo.energy(rows.states()))
    rows.replace(3, states[0])
    rows.advance(np.zeros(0))
    assert rows.energies[3] == qubo.energy(states[0])


def test_a_full_matrix_has_every_coupling_twice_and_padded_rows() -> None:
    qubo = random_qubo(70, 0)
    matrix = dense.full_matrix(kernels.whole_lists(*qubo.neighbour_lists()))
    assert matrix.shape == (70, 96)
    assert np.array_equal(matrix[:, :70], matrix[:, :70].T)
    assert np.array_equal(matrix[qubo.rows, qubo.columns], qubo.couplings)
    assert not matrix[:, 70:].any()
