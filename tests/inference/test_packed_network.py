"""Packed networks: who uses them, what they weigh, what they refuse, and where they run."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import qubonn as qn
from inference.graphs import GRAPHS, random_inputs
from qubonn.errors import AlphabetError, RangeError, ShapeError, TopologyError
from qubonn.inference import PackedInputs, PackedNetwork
from qubonn.network.forward import is_worth_packing

DENSE = GRAPHS["dense"]
CYCLIC = qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)


@pytest.fixture
def always_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let networks and committees predict in bits, however little there is to do."""
    for place in ("network.binary_network", "training.committee"):
        monkeypatch.setattr(f"qubonn.{place}.is_worth_packing", lambda *_: True)


@pytest.fixture
def never_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the reference forward pass was asked")

    monkeypatch.setattr(qn.BinaryNetwork, "forward", refuse)


class TestANetwork:
    @pytest.mark.usefixtures("always_packed")
    @pytest.mark.parametrize("name", GRAPHS)
    def test_predicts_in_bits_what_its_forward_pass_says(self, name: str) -> None:
        network = qn.BinaryNetwork.random(GRAPHS[name], seed=4)
        inputs = random_inputs(GRAPHS[name], 40, seed=4)
        expected = network.forward(inputs).activation_spins[:, GRAPHS[name].outputs.start :]
        found = network.predict_outputs(inputs)
        assert found.tolist() == expected.tolist()
        assert found.dtype == np.int8

    @pytest.mark.usefixtures("always_packed", "never_forward")
    def test_that_has_much_to_do_does_not_ask_the_forward_pass(self) -> None:
        network = qn.BinaryNetwork.random(DENSE, seed=0)
        inputs = random_inputs(DENSE, 10, seed=0)
        assert network.predict_outputs(inputs).shape == (10, 3)
        assert network.accuracy(inputs, network.predict_outputs(inputs)) == 1.0

    @pytest.mark.usefixtures("always_packed")
    def test_refuses_the_same_inputs_in_the_same_words(self) -> None:
        network = qn.BinaryNetwork.random(DENSE, seed=0)
        for bad, error in (
            (np.ones(70), ShapeError),
            (np.ones((2, 69)), ShapeError),
            (np.ones((0, 70)), ShapeError),
            (np.full((2, 70), np.nan), AlphabetError),
            ([["a"] * 70], AlphabetError),
        ):
            with pytest.raises(error) as slow:
                network.forward(bad)
            with pytest.raises(error) as quick:
                network.predict_outputs(bad)
            assert str(quick.value) == str(slow.value)

    @pytest.mark.usefixtures("always_packed")
    def test_with_a_cycle_cannot_be_packed_and_says_what_to_use(self) -> None:
        network = qn.BinaryNetwork.random(CYCLIC, seed=0)
        for compute in (network.predict_outputs, lambda _: network.packed()):
            with pytest.raises(TopologyError, match=r"2 -> 1 closes a cycle.* use network\.settle"):
                compute([[1]])


class TestACommittee:
    @pytest.mark.usefixtures("always_packed")
    @pytest.mark.parametrize("vote", ["signs", "largest"])
    @pytest.mark.parametrize("name", ["dense", "convolution", "gathered", "shared"])
    def test_votes_in_bits_as_its_members_would(self, name: str, vote: str) -> None:
        topology = GRAPHS[name]
        members = [qn.BinaryNetwork.random(topology, seed=seed) for seed in range(4)]
        inputs = random_inputs(topology, 100, seed=5)
        first, neurons = topology.outputs.start, topology.neuron_count
        passes = [member.forward(inputs) for member in members]
        expected = sum(
            done.activation_spins[:, first:].astype(int)
            if vote == "signs"
            else done.pre_activations[:, neurons - topology.output_count :].astype(int)
            for done in passes
        )
        committee = qn.Committee(members, vote)  # type: ignore[arg-type]
        assert committee.votes(inputs).tolist() == np.asarray(expected).tolist()
        assert committee.votes(inputs).dtype == np.int64

    @pytest.mark.usefixtures("always_packed", "never_forward")
    def test_that_has_much_to_do_does_not_ask_the_forward_pass(self) -> None:
        committee = qn.Committee(
            [qn.BinaryNetwork.random(DENSE, seed=s) for s in range(3)], "largest"
        )
        assert (committee.predict_outputs(random_inputs(DENSE, 10, seed=0)) == 1).sum() == 10


class TestAPackedNetwork:
    def test_has_a_bit_for_each_weight_up_to_full_words_and_tables_that_do_not_grow(self) -> None:
        packed = qn.BinaryNetwork.random(qn.Topology.dense(784, 128, 10), seed=0).packed()
        assert packed.words.nbytes == 8 * (128 * 13 + 2 + 10 * 2 + 1)
        assert packed.byte_count - packed.words.nbytes < 200
        assert 8 * packed.byte_count < 1.1 * packed.topology.weight_count

    def test_of_a_convolution_is_small_too(self) -> None:
        topology = qn.Topology.parse("conv(5x5x8) + fc(10)", inputs=(28, 28), outputs=10)
        packed = qn.BinaryNetwork.random(topology, seed=0).packed()
        assert 8 * packed.byte_count < 1.2 * (topology.weight_count + topology.neuron_count)

    def test_takes_inputs_that_were_packed_once(self) -> None:
        inputs = random_inputs(DENSE, 50, seed=6)
        shared = PackedInputs.of(inputs)
        for seed in range(3):
            packed = qn.BinaryNetwork.random(DENSE, seed=seed).packed()
            assert packed.output_sums(shared).tolist() == packed.output_sums(inputs).tolist()
        with pytest.raises(
            ShapeError, match=r"inputs must have 7 columns.*; got PackedInputs\(50 examples, 70"
        ):
            qn.BinaryNetwork.random(qn.Topology.dense(7, 1), seed=0).packed().votes(shared)

    def test_cannot_be_changed_and_says_what_it_is(self) -> None:
        packed = qn.Committee([qn.BinaryNetwork.random(DENSE, seed=s) for s in range(3)]).packed()
        with pytest.raises(FrozenInstanceError):
            packed.thread_count = 3  # type: ignore[misc]
        with pytest.raises(ValueError, match="read-only"):
            packed.words[0, 0] = 1
        assert repr(packed) == f"PackedNetwork(3 x {DENSE!r}, {packed.byte_count:,} bytes)"
        assert packed.member_count == 3

    def test_is_made_of_spins_only_and_of_as_many_as_the_topology_has(self) -> None:
        topology = qn.Topology.dense(2, 1)
        with pytest.raises(AlphabetError, match=r"weight_spins must be -1 or \+1; got 0"):
            PackedNetwork.of(topology, [[1, 0]], [[1]])
        with pytest.raises(ShapeError, match="weight_spins must have 2 columns, one per weight"):
            PackedNetwork.of(topology, [[1]], [[1]])
        with pytest.raises(ShapeError, match="bias_spins must have 2 rows"):
            PackedNetwork.of(topology, [[1, 1], [1, 1]], [[1]])
        with pytest.raises(RangeError, match="thread_count must be at least 1; got 0"):
            PackedNetwork.of(topology, [[1, 1]], [[1]], thread_count=0)

    def test_may_be_asked_by_several_threads_at_once(self) -> None:
        packed = qn.BinaryNetwork.random(GRAPHS["deep convolution"], seed=0).packed()
        parts = [random_inputs(packed.topology, 700, seed) for seed in range(8)]
        expected = [packed.output_sums(part).tolist() for part in parts]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda part: packed.output_sums(part).tolist(), parts))
        assert found == expected


class TestWhatIsWorthPacking:
    def test_is_much_work_and_less_of_it_once_the_kernels_are_there(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        has_run: set[bool] = set()
        monkeypatch.setattr("qubonn.inference.packed_network.has_run", has_run)
        dense = qn.Topology.dense(784, 128, 10)
        convolution = qn.Topology.parse("conv(5x5x8)", inputs=(28, 28), outputs=10)
        sizes = (10, 100, 10_000)
        assert [is_worth_packing(dense, rows) for rows in sizes] == [False, False, True]
        qn.BinaryNetwork.random(DENSE, seed=0).packed().predict_outputs(np.ones((1, 70)))
        assert has_run == {False}
        assert [is_worth_packing(dense, rows) for rows in sizes] == [False, True, True]
        assert is_worth_packing(dense, 1, member_count=100)
        assert [is_worth_packing(convolution, rows) for rows in sizes] == [False, False, True]
        has_run.add(True)
        assert [is_worth_packing(convolution, rows) for rows in sizes] == [False, True, True]


def run(program: str) -> str:
    """What a fresh Python prints."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


def test_few_predictions_do_not_wait_for_the_compiler() -> None:
    program = """
import sys
import qubonn as qn
network = qn.BinaryNetwork.random(qn.Topology.dense(784, 128, 10), seed=0)
network.predict_outputs([[1] * 784] * 100)
qn.Committee([network]).predict_outputs([[1] * 784])
print("numba" in sys.modules)
"""
    assert run(program) == "False"


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="there is no fork here")
def test_a_process_may_fork_after_it_has_predicted_on_several_threads() -> None:
    program = """
import os
import numpy as np
import qubonn as qn
network = qn.BinaryNetwork.random(qn.Topology.dense(784, 128, 10), seed=0)
inputs = np.ones((3000, 784))
parent = network.packed().output_sums(inputs)
child = os.fork()
if child == 0:
    os._exit(int((network.packed().output_sums(inputs) != parent).any()))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run(program) == "0"


@pytest.mark.parametrize("name", ["dense", "convolution", "gathered"])
def test_without_the_compiler_the_kernels_say_the_same(name: str) -> None:
    program = f"""
import os
os.environ["NUMBA_DISABLE_JIT"] = "1"
import numpy as np
import qubonn as qn
from inference.graphs import GRAPHS, random_inputs
from numba import config
network = qn.BinaryNetwork.random(GRAPHS[{name!r}], seed=0)
inputs = random_inputs(GRAPHS[{name!r}], 9, seed=0)
found = network.packed().output_sums(inputs)
expected = network.pre_activations(inputs)[:, -found.shape[1]:]
print(config.DISABLE_JIT, (found == expected).all())
"""
    path = [entry for entry in sys.path if entry.endswith("tests")]
    assert run(f"import sys; sys.path += {path!r}\n{program}") == "1 True"
