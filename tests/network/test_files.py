"""A network's file comes back whole, stays small, and no broken or hostile file does harm."""

import json
import os
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import qubonn as qn
from export.models import dense_layers
from network.random_networks import networks
from qubonn.errors import FileFormatError, RangeError
from qubonn.network.binary_network import topology_arrays

Arrays = dict[str, NDArray[Any]]
Doctor = Callable[[Arrays], object]
SMALL = qn.BinaryNetwork.random(
    qn.Topology.parse("conv(2x2) + fc(3)", inputs=(4, 4), outputs=2), seed=0
)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "small.qubonn"
    SMALL.save(path)
    return path


def arrays_in(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


def rewrite(path: Path, arrays: Arrays) -> None:
    with path.open("wb") as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]


def describe(arrays: Arrays, **changes: object) -> None:
    """Change entries of the description."""
    description = json.loads(arrays["description"].tobytes()) | changes
    arrays["description"] = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)


def only(name: str, arrays: Arrays) -> None:
    """Leave one array, of another name than ours."""
    arrays.clear()
    arrays[name] = np.zeros(3)


def refusal(path: Path) -> str:
    """What is said of a file that must either be refused or hold SMALL; empty if it does."""
    try:
        is_small = qn.load(path) == SMALL
    except FileFormatError as error:
        return str(error)
    assert is_small
    return ""


# ---- there and back ----


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(networks())
def test_a_network_comes_back_as_it_was(tmp_path: Path, network: qn.BinaryNetwork) -> None:
    path = tmp_path / "any.qubonn"
    network.save(path)
    loaded = qn.load(path)
    assert loaded == network
    assert isinstance(loaded, qn.BinaryNetwork)
    assert loaded.weight_spins.dtype == loaded.bias_spins.dtype == np.int8
    assert loaded.topology.source_of.dtype == np.int64


@pytest.mark.parametrize("number", range(18))
def test_the_papers_networks_come_back_with_their_layers(number: int, tmp_path: Path) -> None:
    network = qn.BinaryNetwork.random(qn.paper.topology(number), seed=number)
    network.save(tmp_path / "network")
    loaded = qn.load(str(tmp_path / "network"))
    assert loaded == network
    assert isinstance(loaded, qn.BinaryNetwork)
    assert loaded.topology.layer_shapes == network.topology.layer_shapes
    letters = qn.datasets.letters(seed=0).test_inputs
    assert loaded.predict_outputs(letters).tolist() == network.predict_outputs(letters).tolist()


def test_levels_and_thresholds_come_back_with_their_layers(tmp_path: Path) -> None:
    topology = qn.Topology.dense(9, 4, 2, weight_levels=3, threshold_levels=[5, 2])
    network = qn.BinaryNetwork.random(topology, seed=0)
    committee = qn.Committee([network, qn.BinaryNetwork.random(topology, seed=1)])
    committee.save(tmp_path / "committee.qubonn")
    network.save(tmp_path / "network.qubonn")
    assert qn.load(tmp_path / "committee.qubonn") == committee
    loaded = qn.load(tmp_path / "network.qubonn")
    assert loaded == network
    assert isinstance(loaded, qn.BinaryNetwork)
    assert loaded.topology.has_constant
    assert loaded.topology.layer_shapes == topology.layer_shapes


def test_a_file_that_does_not_mention_a_constant_has_none(saved: Path) -> None:
    description = json.loads(arrays_in(saved)["description"].tobytes())
    assert "has_constant" not in description
    loaded = qn.load(saved)
    assert isinstance(loaded, qn.BinaryNetwork)
    assert not loaded.topology.has_constant


@pytest.mark.parametrize("notation", ["conv(2x2x3) + pool(2x2) + out(known=1)", "fc(3, known=2)"])
def test_known_weights_come_back(notation: str, tmp_path: Path) -> None:
    topology = qn.Topology.parse(notation, inputs=(5, 5), outputs=2)
    network = qn.BinaryNetwork.random(topology, seed=0)
    network.save(tmp_path / "known.qubonn")
    loaded = qn.load(tmp_path / "known.qubonn")
    assert isinstance(loaded, qn.BinaryNetwork)
    assert loaded == network
    assert loaded.topology.layer_shapes == topology.layer_shapes
    assert loaded.topology.known_weights.any()


def test_files_of_dense_layers_are_hardly_larger_than_their_parameters(tmp_path: Path) -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(784, 128, 10), seed=0)
    network.save(tmp_path / "mnist.qubonn")
    assert qn.load(tmp_path / "mnist.qubonn") == network
    arrays = arrays_in(tmp_path / "mnist.qubonn")
    assert set(arrays) == {"description", "weight_bits", "bias_bits"}
    assert arrays["weight_bits"].nbytes == (784 * 128 + 128 * 10) // 8
    assert (tmp_path / "mnist.qubonn").stat().st_size < arrays["weight_bits"].nbytes + 1000


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(dense_layers(), st.integers(1, 3))
def test_dense_committees_hold_no_arcs_and_each_parameter_once(
    tmp_path: Path, topology: qn.Topology, size: int
) -> None:
    members = [qn.BinaryNetwork.random(topology, seed=seed) for seed in range(size)]
    qn.Committee(members).save(tmp_path / "c.qubonn")
    loaded = qn.load(tmp_path / "c.qubonn")
    assert loaded == qn.Committee(members)
    assert isinstance(loaded, qn.Committee)
    assert loaded.members[0].topology.layer_shapes == topology.layer_shapes
    parts = {"committee_weight_bits", "committee_bias_bits", "committee_reading"}
    assert set(arrays_in(tmp_path / "c.qubonn")) == {"description", *parts}


def test_arcs_in_another_order_than_that_of_layers_are_listed(tmp_path: Path) -> None:
    dense = qn.Topology.dense(2, 3, 1)
    for changed in ("source_of", "target_of", "weight_of"):
        arcs = {
            name: getattr(dense, name).copy() for name in ("source_of", "target_of", "weight_of")
        }
        arcs[changed][[0, 2]] = arcs[changed][[2, 0]] if changed != "source_of" else [1, 1]
        topology = qn.Topology(2, 1, 6, **arcs, layer_shapes=dense.layer_shapes)
        network = qn.BinaryNetwork.random(topology, seed=0)
        network.save(tmp_path / "m.qubonn")
        assert "source_of" in arrays_in(tmp_path / "m.qubonn")
        assert qn.load(tmp_path / "m.qubonn") == network


def test_files_of_version_1_list_all_arcs_and_still_load(tmp_path: Path) -> None:
    topology = qn.Topology.dense(9, 4, 2, weight_levels=3, threshold_levels=[5, 2])
    members = [qn.BinaryNetwork.random(topology, seed=seed) for seed in range(2)]
    arrays = topology_arrays(topology) | {
        "weight_bits": np.packbits(members[0].weight_spins > 0),
        "bias_bits": np.packbits(members[0].bias_spins > 0),
    }
    describe(arrays, version=1)
    rewrite(tmp_path / "network.qubonn", arrays)
    assert qn.load(tmp_path / "network.qubonn") == members[0]
    qn.Committee(members).save(tmp_path / "committee.qubonn")
    rewrite(tmp_path / "old.qubonn", arrays_in(tmp_path / "committee.qubonn") | arrays)
    assert qn.load(tmp_path / "old.qubonn") == qn.Committee(members)


DENSE = qn.BinaryNetwork.random(qn.Topology.dense(9, 4, 2, weight_levels=3), seed=0)
LEVELS = r"levels must be two numbers from 2 on for each layer"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"levels": 3}, LEVELS),
        ({"levels": [[3, 2]]}, LEVELS),
        ({"levels": [[3, 2], [3]]}, LEVELS),
        ({"levels": [[3, 2], [3, 1]]}, LEVELS),
        ({"levels": [[3, 2], [3, True]]}, LEVELS),
        ({"levels": [[3, 2], [3.0, 2]]}, LEVELS),
        ({"levels": [[3, 2], 32]}, LEVELS),
        ({"levels": [], "layer_shapes": [[9]]}, LEVELS),
        ({"levels": [], "layer_shapes": None}, LEVELS),
        ({"layer_shapes": [[9], [1, 2, 2], [2]]}, LEVELS),
        ({"levels": [[2, 2]] * 1001, "layer_shapes": [[1]] * 1002}, LEVELS),
        ({"levels": [[3, 2], [4, 2]]}, "weight_bits must hold 96 bits"),
        ({"levels": [[3, 2], [3, 20]]}, "weight_bits must hold 124 bits"),
        ({"layer_shapes": [[9], [4], [20]]}, "weight_bits must hold 232 bits"),
        ({"layer_shapes": [[9], [9000], [9000]]}, "weight_bits must hold 162162000 bits"),
        ({"layer_shapes": [[9], [2**25], [9]]}, r"at most 67,108,864 nodes and 357,913,941 arcs"),
        ({"layer_shapes": [[2**26], [2**26], [2**26]]}, r"got 201,326,592 and 18,014,398,509,481"),
        ({"levels": [[2**26, 2], [2, 2**26]]}, r"arcs; got 15 and 2,550,136,"),
    ],
)
def test_doctored_layers_are_refused_without_time_and_memory(
    changes: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "dense.qubonn"
    DENSE.save(path)
    arrays = arrays_in(path)
    describe(arrays, **changes)
    rewrite(path, arrays)
    tracemalloc.start()
    with pytest.raises(FileFormatError, match=rf"dense\.qubonn.*{message}"):
        qn.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_a_file_holds_plain_arrays_that_numpy_reads_without_pickle(saved: Path) -> None:
    assert {array.dtype.kind for array in arrays_in(saved).values()} == {"i", "u"}


def test_the_same_network_gives_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    SMALL.save(tmp_path / "again.qubonn")
    assert (tmp_path / "again.qubonn").read_bytes() == saved.read_bytes()


# ---- writing is whole or not at all ----


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*_: object) -> None:
        raise OSError("no space left on device")

    other = qn.BinaryNetwork.random(SMALL.topology, seed=1)
    for step in ("replace", "fsync"):
        monkeypatch.setattr(os, step, full_disk)
        with pytest.raises(OSError, match="no space left"):
            other.save(saved)
        monkeypatch.undo()
        assert qn.load(saved) == SMALL
        assert os.listdir(saved.parent) == [saved.name]
    other.save(saved)
    assert qn.load(saved) == other


def test_a_missing_folder_is_named_when_writing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere/m\.qubonn"):
        SMALL.save(tmp_path / "nowhere" / "m.qubonn")


def test_a_network_that_could_not_be_read_back_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qubonn.network.binary_network.MOST_NODES", 5)
    with pytest.raises(RangeError, match=r"at most 5 nodes; got 30: it was not written"):
        SMALL.save(tmp_path / "large.qubonn")
    assert os.listdir(tmp_path) == []


# ---- what is no file of ours ----


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.qubonn"):
        qn.load(tmp_path / "nothing.qubonn")


def test_a_folder_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        qn.load(tmp_path)


def test_a_qubo_is_no_network_and_the_message_says_who_reads_it(tmp_path: Path) -> None:
    topology = qn.Topology.dense(2, 1)
    qn.TrainingProblem(topology, [[1, 1]], [[1]]).qubo().save(tmp_path / "problem.npz")
    with pytest.raises(
        FileFormatError, match=r"problem\.npz .*: read a QUBO with qubonn\.Qubo\.load"
    ):
        qn.load(tmp_path / "problem.npz")


@pytest.mark.parametrize("content", [b"", b"PK", b"hello", b"\x00" * 1000, b"\x80\x04N."])
def test_bytes_of_another_kind_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.qubonn"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"other\.qubonn"):
        qn.load(path)


def test_a_file_cut_short_anywhere_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in range(0, len(whole), 7):
        saved.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match=r"small\.qubonn"):
            qn.load(saved)


def test_a_flipped_bit_is_noticed_or_does_not_matter(saved: Path) -> None:
    whole = saved.read_bytes()
    refusals = []
    for place in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        saved.write_bytes(bytes(changed))
        refusals.append(refusal(saved))
    noticed = [text for text in refusals if text]
    assert all("small.qubonn" in text for text in noticed)
    assert len(noticed) > len(refusals) // 2


def test_random_bytes_in_the_middle_are_noticed_or_do_not_matter(saved: Path) -> None:
    whole = saved.read_bytes()
    generator = np.random.default_rng(0)
    for start in generator.integers(0, len(whole) - 16, 100).tolist():
        saved.write_bytes(whole[:start] + generator.bytes(16) + whole[start + 16 :])
        assert "small.qubonn" in (refusal(saved) or "small.qubonn")


class Bomb:
    """Its pickle would write a file when read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("part", ["description", "source_of", "weight_bits", "one_more"])
def test_objects_are_refused_and_never_run(part: str, saved: Path) -> None:
    arrays = arrays_in(saved)
    arrays[part] = np.array([Bomb(saved.with_name("harm"))], dtype=object)
    rewrite(saved, arrays)
    with pytest.raises(FileFormatError, match=r"small\.qubonn.*no objects, no pickle"):
        qn.load(saved)
    assert os.listdir(saved.parent) == [saved.name]


DOCTORED: dict[str, tuple[Doctor, str]] = {
    "another archive": (
        lambda arrays: only("x", arrays),
        r"it must have a part named 'description'; got \['x'\]",
    ),
    "a part is missing": (
        lambda arrays: arrays.pop("weight_of"),
        "it must have a part named 'weight_of'",
    ),
    "another format": (
        lambda arrays: describe(arrays, format="qubonn-qubo"),
        "its description must say that its format is 'qubonn-network'",
    ),
    "a newer version": (
        lambda arrays: describe(arrays, version=3),
        "its version must be 2 or lower; got 3: a newer qubonn may have written it",
    ),
    "a version of another kind": (
        lambda arrays: describe(arrays, version=[1] * 100),
        "its version must be 2 or lower; got ",
    ),
    "no JSON": (
        lambda arrays: arrays.update(description=np.frombuffer(b"{", np.uint8)),
        "its description must be strict JSON",
    ),
    "no text": (
        lambda arrays: arrays.update(description=np.array([255, 254, 253], np.uint8)),
        "its description must be strict JSON",
    ),
    "a description that is a list": (
        lambda arrays: arrays.update(description=np.frombuffer(b"[1]", np.uint8)),
        "its description must say",
    ),
    "a description without a bottom": (
        lambda arrays: arrays.update(description=np.frombuffer(b"[" * 100_000, np.uint8)),
        "its description must be strict JSON",
    ),
    "a number of five thousand digits": (
        lambda arrays: arrays.update(description=np.frombuffer(b"1" * 5000, np.uint8)),
        "its description must be strict JSON",
    ),
    "negative nodes": (lambda arrays: describe(arrays, nodes=-1), r"nodes must lie in .* got -1"),
    "negative inputs": (
        lambda arrays: describe(arrays, inputs=-1),
        r"inputs must lie in .* got -1",
    ),
    "half a node": (lambda arrays: describe(arrays, nodes=2.5), r"nodes must lie in .* got 2\.5"),
    "nodes as text": (lambda arrays: describe(arrays, nodes="9"), r"nodes must lie in .* got '9'"),
    "true outputs": (
        lambda arrays: describe(arrays, outputs=True),
        r"outputs must lie in .* got True",
    ),
    "a constant that is a number": (
        lambda arrays: describe(arrays, has_constant=1),
        "has_constant must be true or false; got 1",
    ),
    "a constant that is not counted": (
        lambda arrays: describe(arrays, has_constant=True),
        "layer_shapes must add up to 29 nodes; got 30",
    ),
    "no outputs": (lambda arrays: describe(arrays, outputs=0), "outputs must be at least 1"),
    "nodes beyond counting": (
        lambda arrays: describe(arrays, nodes=10**30),
        r"nodes must lie in 0\.\.67108864; got 1000",
    ),
    "fewer nodes than inputs": (
        lambda arrays: describe(arrays, nodes=5, layer_shapes=None),
        "nodes must be at least inputs",
    ),
    "fewer nodes than arcs name": (
        lambda arrays: describe(arrays, nodes=29, layer_shapes=None),
        r"target_of must lie in 0\.\.28; got 29",
    ),
    "more nodes than biases": (
        lambda arrays: describe(arrays, nodes=400, layer_shapes=None),
        "bias_bits must hold 384 bits",
    ),
    "as many nodes as allowed, no biases": (
        lambda arrays: describe(arrays, nodes=2**26, layer_shapes=None),
        "bias_bits must hold 67108848 bits",
    ),
    "a negative source": (
        lambda arrays: arrays["source_of"].__setitem__(0, -1),
        "source_of must lie in .* got -1",
    ),
    "an arc into an input": (
        lambda arrays: arrays["target_of"].__setitem__(0, 3),
        "inputs must have no predecessors",
    ),
    "a weight beyond counting": (
        lambda arrays: arrays["weight_of"].__setitem__(0, 2**31 - 1),
        "weight",
    ),
    "a weight without an arc": (
        lambda arrays: arrays["weight_of"].__setitem__(arrays["weight_of"] == 1, 0),
        "weight 1 has no arc",
    ),
    "too few arcs": (
        lambda arrays: arrays.update(source_of=arrays["source_of"][:-1]),
        "must have one entry per arc",
    ),
    "fractional arcs": (
        lambda arrays: arrays.update(source_of=arrays["source_of"] / 2),
        "source_of must be a vector of whole numbers",
    ),
    "arcs in a matrix": (
        lambda arrays: arrays.update(weight_of=arrays["weight_of"][None]),
        "weight_of must be a vector of whole numbers",
    ),
    "one arc without a list": (
        lambda arrays: arrays.update(target_of=np.array(3)),
        "target_of must be a vector of whole numbers",
    ),
    "too few weights": (
        lambda arrays: arrays.update(weight_bits=arrays["weight_bits"][:-1]),
        r"weight_bits must hold \d+ bits, eight to a byte",
    ),
    "too many biases": (
        lambda arrays: arrays.update(bias_bits=np.zeros(100, np.uint8)),
        r"bias_bits must hold 14 bits, eight to a byte",
    ),
    "biases as one number": (
        lambda arrays: arrays.update(bias_bits=np.array(7, np.uint8)),
        r"bias_bits must hold 14 bits",
    ),
    "biases of another type": (
        lambda arrays: arrays.update(bias_bits=np.zeros(2, np.int16)),
        r"bias_bits must hold 14 bits",
    ),
    "layers that are no lists": (
        lambda arrays: describe(arrays, layer_shapes=[1, 2]),
        "layer_shapes must be lists of one or three positive sizes",
    ),
    "layers of text": (
        lambda arrays: describe(arrays, layer_shapes="wide"),
        "layer_shapes must be lists",
    ),
    "a layer of two sizes": (
        lambda arrays: describe(arrays, layer_shapes=[[4, 4], [14]]),
        "layer_shapes must be lists",
    ),
    "negative layers": (
        lambda arrays: describe(arrays, layer_shapes=[[-4], [34]]),
        "layer_shapes must be lists",
    ),
    "too many layers": (
        lambda arrays: describe(arrays, layer_shapes=[[16], [15]]),
        "layer_shapes must add up to 30 nodes",
    ),
    "layers that add up only after wrapping around": (
        lambda arrays: describe(arrays, layer_shapes=[[30], [2**26, 2**26, 2**12]]),
        "layer_shapes must add up to 30 nodes",
    ),
}


@pytest.mark.parametrize("name", DOCTORED)
def test_a_doctored_file_is_refused_with_its_name_and_the_reason(name: str, saved: Path) -> None:
    doctor, message = DOCTORED[name]
    arrays = arrays_in(saved)
    doctor(arrays)
    rewrite(saved, arrays)
    with pytest.raises(FileFormatError, match=rf"small\.qubonn.*{message}"):
        qn.load(saved)


def test_the_untouched_parts_of_a_file_still_load_after_rewriting(saved: Path) -> None:
    rewrite(saved, arrays_in(saved))
    assert qn.load(saved) == SMALL


def test_a_part_that_claims_more_than_it_holds_is_refused(saved: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = (b"'shape': (", b"'shape': (99"), (b"  \n", b"\n")  # of the same length as before
    for old, new in header:
        parts["weight_of.npy"] = parts["weight_of.npy"].replace(old, new)
    with zipfile.ZipFile(saved, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(FileFormatError, match=r"small\.qubonn: weight_of.*as its header says"):
        qn.load(saved)


def tiny(path: Path) -> str:
    """Load a file without arcs: what it was refused for, or its number of neurons."""
    try:
        network = qn.load(path)
        assert isinstance(network, qn.BinaryNetwork)
        return f"{network.topology.neuron_count} neurons"
    except FileFormatError as error:
        return str(error)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"nodes": 2**26}, "bias_bits must hold 67108848 bits"),
        ({"nodes": 2**26, "inputs": 2**26 - 14}, "14 neurons"),
    ],
)
def test_absurd_counts_over_tiny_arrays_take_neither_time_nor_memory(
    counts: dict[str, int], expected: str, saved: Path
) -> None:
    arrays = arrays_in(saved)
    arrays |= {name: arrays[name][:0] for name in ("source_of", "target_of", "weight_of")}
    arrays["weight_bits"] = arrays["weight_bits"][:0]
    describe(arrays, layer_shapes=None, **counts)
    rewrite(saved, arrays)
    start = time.perf_counter()
    tracemalloc.start()
    said = tiny(saved)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert expected in said
    assert time.perf_counter() - start < 5
    assert peak < 2**20


@pytest.mark.parametrize(
    ("part", "value"),
    [("groups", [0, 0, 2]), ("groups", [0, 1]), ("groups", "001"), ("step", 0), ("step", 10**9)],
)
def test_groups_of_inputs_that_do_not_fit_are_refused(
    tmp_path: Path, part: str, value: object
) -> None:
    grouped = qn.Topology.dense(3, 2, 1, threshold_levels=4, input_groups=[0, 0, 1])
    qn.BinaryNetwork.random(grouped, seed=0).save(tmp_path / "n.qubonn")
    arrays = arrays_in(tmp_path / "n.qubonn")
    description = json.loads(arrays["description"].tobytes())
    text = json.dumps(description | {part: value}).encode()
    rewrite(tmp_path / "n.qubonn", arrays | {"description": np.frombuffer(text, np.uint8)})
    with pytest.raises(FileFormatError, match=part):
        qn.load(tmp_path / "n.qubonn")
