"""Whatever bytes stand in a file, reading it gives a result or one clear error of ours."""

import gzip
import io
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import qubonn as qn
from experiments.tiny import rows_of, some_records
from mutations import mutate_store, mutated, mutated_archive
from qubonn.datasets import read_csv, read_idx, read_table
from qubonn.errors import QubonnError
from qubonn.estimator import PosedProblem
from qubonn.experiments import Store
from qubonn.paper.comparison import StudySummary
from qubonn.paper.results import in_order, results_table
from qubonn.paper.studies import study_of
from qubonn.storage import guard, read_arrays, write_arrays

# damaged samples have other energies
pytestmark = pytest.mark.filterwarnings("ignore::qubonn.errors.EnergiesDiffer")
QUBO = qn.Qubo.of([0, 1], [1, 2], [1, -2], variable_count=3, labels=[("weight", 0), "b", 7])
CSV = b'a,"b ",kind\n1,2.5,x\n-3,"4",y\n1e3,0,x\n'
IDX = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6])
SAMPLES = b"0,1,2,energy\n0,1,1,-2\n1,0,1,0\n"


def posed() -> PosedProblem:
    return qn.pose(np.array([[0, 1], [1, 0], [1, 1]]), ["x", "y", "x"], hidden=1, target="k")


def file_of(save: Callable[[Path], None], folder: Path, name: str) -> bytes:
    save(folder / name)
    return (folder / name).read_bytes()


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def classifier() -> qn.QuboClassifier:
    made = posed()
    return made.classifier(qn.train(made.problem, seed=0).networks[:2])


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def store_file(folder: Path) -> bytes:
    """Return a store of the paper's margins with three runs."""
    path = folder / "made.sqlite"
    study = study_of("margins", "native", tune="once", seed=0)
    with Store.open(path, study) as store:
        for row in rows_of(study.settings[0], some_records(3)):
            store.add(row)
        store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store._connection.execute("PRAGMA journal_mode = DELETE")
    return path.read_bytes()


SOUND: dict[str, Callable[[Path], bytes]] = {
    "network.qubonn": lambda folder: file_of(
        qn.BinaryNetwork.random(qn.Topology.dense(3, 2, 1), seed=0).save, folder, "n.qubonn"
    ),
    "classifier.qubonn": lambda folder: file_of(classifier().save, folder, "c.qubonn"),
    "q.problem.npz": lambda folder: file_of(posed().save, folder, "p.npz"),
    "d.csv": lambda folder: CSV,
    "d.csv.gz": lambda folder: gzip.compress(CSV),
    "d-idx2-ubyte": lambda folder: IDX,
    "d.npz": lambda folder: npz(X=np.zeros((2, 2)), y=np.array(["a", "b"])),
    "q.coo": lambda folder: b"# vartype=BINARY\n0 1 1\n1 2 -2.5\n",
    "q.mtx": lambda folder: b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 -1.5\n",
    "q.rudy": lambda folder: b"3 2\n1 2 1\n2 3 -1\n",
    "samples.txt": lambda folder: b"010\n111\n",
    "samples.csv": lambda folder: SAMPLES,
    "samples.json": lambda folder: b'[{"0": 1, "1": 0, "2": 1}]',
    "samples.npz": lambda folder: npz(bits=np.eye(3, dtype=np.int8)),
    "samples.npy": lambda folder: npy(np.eye(3, dtype=np.int8)),
    "store.sqlite": store_file,
    "q.qubo": lambda folder: file_of(QUBO.save, folder, "q.qubo"),
    "q.npz": lambda folder: file_of(QUBO.save, folder, "q.npz"),
}
EVERY_FILE = pytest.mark.parametrize("name", SOUND)
QUICK = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def read(path: Path) -> object:
    """Read a file by the reader that its name asks for."""
    name = path.name
    if name.endswith(".sqlite"):
        return read_store(path)
    if name.endswith(".problem.npz"):
        return PosedProblem.load(path)
    if name.startswith("samples"):
        return qn.Samples.load(path, QUBO)
    if name.startswith("q."):
        return qn.Qubo.load(path)
    if name.endswith(".qubonn"):
        return qn.load(path)
    if "idx" in name:
        return read_idx(path)
    if name.endswith(".npz"):
        return read_table(path)
    return read_csv(path, target="kind")


def read_store(path: Path) -> object:
    """Read a store as the command for reports does, without its pictures."""
    with guard(path), Store.read(path) as store:
        summaries = in_order([StudySummary.of(store)])
        return [results_table(summaries)] if summaries else []


def assert_read_or_refused(path: Path) -> None:
    complaint = "nothing to complain about"
    try:
        read(path)
    except QubonnError as error:
        complaint = str(error)
    assert 0 < len(complaint) < 1000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def sound(folder: Path) -> dict[str, bytes]:
    return {name: make(folder) for name, make in SOUND.items()}


@EVERY_FILE
class TestEveryReader:
    def test_reads_a_sound_file(self, folder: Path, sound: dict[str, bytes], name: str) -> None:
        (folder / name).write_bytes(sound[name])
        assert read(folder / name) is not None

    @given(data=st.data())
    @QUICK
    def test_takes_or_refuses_a_file_with_bytes_changed_or_cut(
        self, folder: Path, sound: dict[str, bytes], name: str, data: st.DataObject
    ) -> None:
        damaged = bytearray(sound[name])
        for _ in range(data.draw(st.integers(0, 4))):
            place = data.draw(st.integers(0, len(damaged) - 1))
            damaged[place] = data.draw(st.integers(0, 255))
        end = data.draw(st.none() | st.integers(0, len(damaged)))
        (folder / name).write_bytes(damaged[:end])
        assert_read_or_refused(folder / name)

    @given(data=st.data())
    @QUICK
    def test_takes_or_refuses_a_file_with_pieces_repeated(
        self, folder: Path, sound: dict[str, bytes], name: str, data: st.DataObject
    ) -> None:
        whole = sound[name]
        places = st.integers(0, len(whole))
        start, end, to = data.draw(places), data.draw(places), data.draw(places)
        (folder / name).write_bytes(whole[:to] + whole[start:end] + whole[to:])
        assert_read_or_refused(folder / name)

    @given(noise=st.binary(max_size=200))
    @QUICK
    def test_takes_or_refuses_noise(self, folder: Path, name: str, noise: bytes) -> None:
        (folder / name).write_bytes(noise)
        assert_read_or_refused(folder / name)


CELLS = st.sampled_from(
    ["", "0", "1", "-1", "x", "nan", "inf", "1e999", "1_0", "-", '"', "\x00", "é", "9" * 40, "true"]
) | st.text(max_size=5)


@given(rows=st.lists(st.lists(CELLS, max_size=4), max_size=5), separator=st.sampled_from(",;\t"))
@settings(max_examples=100)
def test_tables_of_odd_cells_are_taken_or_refused(
    folder: Path, rows: list[list[str]], separator: str
) -> None:
    text = "\n".join(separator.join(row) for row in rows)
    (folder / "odd.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert_read_or_refused(folder / "odd.csv")
    (folder / "samples.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert_read_or_refused(folder / "samples.csv")


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(data=st.data())
@settings(max_examples=200)
def test_descriptions_with_any_value_in_any_place_are_taken_or_refused(
    folder: Path, sound: dict[str, bytes], data: st.DataObject
) -> None:
    path = folder / "q.problem.npz"
    path.write_bytes(sound[path.name])
    arrays = read_arrays(path)
    document = json.loads(arrays["problem"].tobytes())
    for key in data.draw(st.lists(st.sampled_from(sorted(document)), min_size=1, max_size=2)):
        document[key] = data.draw(PLAIN)
    arrays["problem"] = np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)
    write_arrays(path, arrays)
    assert_read_or_refused(path)


@given(document=PLAIN)
@settings(max_examples=150)
def test_samples_of_any_json_are_taken_or_refused(folder: Path, document: Any) -> None:
    for content in (
        document,
        [document],
        {"samples": document},
        {"type": "SampleSet", "variable_labels": [0, 1, 2], "sample_data": {"data": document}},
    ):
        (folder / "samples.json").write_text(json.dumps(content))
        assert_read_or_refused(folder / "samples.json")


MANY = 1_000_000
MOST_MEGABYTES, MOST_SECONDS = 1024, 10.0


def damage(draw: random.Random, path: Path, whole: bytes) -> None:
    """Write a damaged copy of a sound file."""
    is_archive = whole[:2] == b"PK"
    path.unlink(missing_ok=True)  # some file systems flush a file that is written over
    if path.suffix == ".sqlite" and draw.random() < 0.7:
        path.write_bytes(whole)
        mutate_store(draw, path)
    elif is_archive and draw.random() < 0.8:
        path.write_bytes(mutated_archive(draw, whole))
    elif path.suffix == ".gz" and draw.random() < 0.8:
        path.write_bytes(gzip.compress(mutated(draw, gzip.decompress(whole)), 1))
    else:
        path.write_bytes(mutated(draw, whole))


def read_many(folder: Path, sound: dict[str, bytes], count: int) -> None:
    """Read `count` damaged files; keep those that are neither read nor refused."""
    resource = pytest.importorskip("resource", reason="measures memory by POSIX")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    draw, slowest, faults = random.Random(count), 0.0, dict[str, Path]()
    names = sorted(sound)
    for _ in range(count):
        path = folder / draw.choice(names)
        damage(draw, path, sound[path.name])
        start = time.perf_counter()
        try:
            assert_read_or_refused(path)
        except Exception as error:
            fault = f"{path.name}: {type(error).__name__}: {error!s:.200}"
            faults.setdefault(fault, path.rename(folder / f"fault-{len(faults)}-{path.name}"))
        slowest = max(slowest, time.perf_counter() - start)
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{count:,} files, at most {slowest:.2f} s, {used:.0f} MB more")
    assert faults == {}
    assert slowest < MOST_SECONDS
    assert used < MOST_MEGABYTES


def test_some_thousand_damaged_files_are_read_or_refused_in_little_time_and_memory(
    folder: Path, sound: dict[str, bytes]
) -> None:
    read_many(folder, sound, 2000)


@pytest.mark.slow
def test_a_million_damaged_files_are_read_or_refused_in_little_time_and_memory(
    folder: Path, sound: dict[str, bytes]
) -> None:
    read_many(folder, sound, MANY)
