"""The annealing kernel takes the path of a slow, obvious chain that meets the same thresholds."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import qubonn as qn
from qubonn.checks import BitMatrix, BitVector
from qubonn.samplers import _kernels
from qubonn.samplers.base import descend
from qubonn.simd import streams as lane_streams
from qubonn.testing.sampler_contract import random_qubo

kernels: Any = _kernels
streams: Any = lane_streams
SWEEPS = 40


def chain(
    qubo: qn.Qubo, bits: BitVector, order: NDArray[Any], thresholds: NDArray[np.float32]
) -> BitVector:
    """One replica, one proposal at a time; thresholds are sweeps x proposals."""
    full = np.zeros((qubo.variable_count, qubo.variable_count))
    full[qubo.rows, qubo.columns] = qubo.couplings
    full += full.T
    bits = bits.copy()
    for sweep in thresholds:
        for step, i in enumerate(order):
            rise = qubo.linear[i] + full[i] @ bits
            change = -rise if bits[i] else rise
            if np.float32(change) <= sweep[step]:
                bits[i] ^= 1
    return bits


def kernel_and_chain(
    qubo: qn.Qubo, replica_count: int, lanes: int, cut: int
) -> tuple[BitMatrix, BitMatrix]:
    generator = np.random.default_rng(0)
    count = qubo.variable_count
    start = generator.integers(0, 2, (replica_count, count), dtype=np.int8)
    seeds = generator.integers(0, 2**64, replica_count, dtype=np.uint64)
    lists = kernels.whole_lists(*qubo.neighbour_lists())
    order = kernels.sweep_order(count)
    temperatures = np.geomspace(5, 0.116, SWEEPS) / lists.unit
    states = streams.pack_states(start, lanes)
    generators = streams.start_generators(seeds, lanes)
    ahead = generators.copy()
    thresholds = np.zeros((len(states), SWEEPS, count, lanes), dtype=np.float32)
    for block, sweep in np.ndindex(len(states), SWEEPS):
        streams.draw_thresholds(
            thresholds[block, sweep], states[block], ahead[block], temperatures[sweep]
        )
    energies = np.zeros((len(states), lanes), dtype=np.int64)
    for first in range(0, SWEEPS, cut):
        slice_ = temperatures[first : first + cut]
        kernels.anneal_all(states, energies, generators, order, lists, slice_)
    found = streams.unpack_states(states, replica_count)
    reported = energies.ravel()[:replica_count] * lists.unit + qubo.offset
    assert np.allclose(reported, qubo.energy(found), rtol=0, atol=0 if qubo.is_exact else 1e-4)
    scaled = thresholds * np.float32(lists.unit)
    expected = [
        chain(qubo, start[r], order, scaled[r // lanes, :, :, r % lanes])
        for r in range(replica_count)
    ]
    return found, np.array(expected, dtype=np.int8).reshape(replica_count, count)


def letters_qubo() -> qn.Qubo:
    letters = qn.datasets.letters(seed=0)
    return qn.TrainingProblem(
        qn.paper.topology(8), letters.train_inputs, letters.train_outputs
    ).qubo()


@pytest.mark.parametrize("lanes", [16, 32, 64])
@pytest.mark.parametrize("cut", [7, SWEEPS])
def test_the_kernel_takes_the_path_of_the_twin_for_any_block_size_and_slicing(
    lanes: int, cut: int
) -> None:
    found, expected = kernel_and_chain(letters_qubo(), 20, lanes, cut)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    "qubo",
    [
        random_qubo(30, 1),
        random_qubo(30, 2, whole=False),
        qn.Qubo.of([0, 1, 0], [0, 1, 1], [40_000, -70_000, 3], variable_count=2),
        qn.Qubo.of([0], [0], [-1], variable_count=1),
        qn.Qubo.of([], [], [], variable_count=3),
        qn.Qubo.of([], [], [], variable_count=0),
    ],
    ids=["whole", "fractions", "wide", "one variable", "flat", "no variables"],
)
def test_the_kernel_takes_the_path_of_the_twin_for_all_kinds_of_problems(qubo: qn.Qubo) -> None:
    found, expected = kernel_and_chain(qubo, 5, 16, SWEEPS)
    assert np.array_equal(found, expected)


def test_the_sequential_core_of_descent_can_be_called_alone() -> None:
    qubo = random_qubo(10, 4)
    state = np.ones(10, dtype=np.int8)
    descend_one: Any = _kernels.descend_one
    descend_one(state, *(array.copy() for array in qubo.neighbour_lists()))
    assert np.array_equal(state, descend(qubo, np.ones((1, 10), dtype=np.int8))[0])
