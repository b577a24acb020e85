"""What the C says is what NumPy says, bit for bit."""

import itertools
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import qubonn as qn
from export.compiled import STRICT, Case, answers, compile_source, expected, needs_gcc, output_of
from export.models import committee, models, odd_wirings
from qubonn.encoding import Reading
from qubonn.export.features import whole_levels

pytestmark = needs_gcc

READINGS: tuple[Reading, ...] = ("signs", "largest")
BORDERS = (31, 32, 33, 63, 64, 65)


def every_input(count: int) -> np.ndarray:
    return np.array(list(itertools.product((-1, 1), repeat=count)))


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(models(), min_size=12, max_size=12), st.integers(0, 2**32))
def test_c_answers_as_numpy_whatever_the_wiring(some: list[qn.BinaryNetwork], seed: int) -> None:
    cases = [Case.random(model, seed=seed) for model in some]
    with TemporaryDirectory() as folder:
        assert answers(cases, Path(folder)) == [expected(case) for case in cases]


def test_c_answers_as_numpy_at_the_borders_of_words(tmp_path: Path) -> None:
    networks = [
        qn.BinaryNetwork.random(qn.Topology.dense(inputs, hidden, outputs), seed=inputs)
        for inputs, hidden, outputs in zip(BORDERS, BORDERS[::-1], BORDERS, strict=True)
    ]
    cases = [Case.random(network, rows=50) for network in networks]
    assert answers(cases, tmp_path) == [expected(case) for case in cases]


def test_ties_go_to_minus_one_in_c(tmp_path: Path) -> None:
    # an odd number of sources and a bias: sums are even, and often 0
    networks = [qn.BinaryNetwork.random(qn.Topology.dense(5, 3, 2), seed=s) for s in range(10)]
    cases = [Case(network, every_input(5), {}) for network in networks]
    found = answers(cases, tmp_path)
    assert found == [expected(case) for case in cases]
    sums = np.array([case.votes for case in found])
    outputs = np.array([case.outputs for case in found])
    assert (sums == 0).sum() > 50
    assert (outputs[sums == 0] == -1).all()


def test_levels_and_thresholds_run_in_c_also_at_ties(tmp_path: Path) -> None:
    some = [
        qn.Topology.dense(5, 3, 2, weight_levels=3, threshold_levels=[4, 2]),
        qn.Topology.dense(5, 33, 2, weight_levels=[2, 4], threshold_levels=20),
        qn.Topology.dense(5, 3, 2, weight_levels=[17, 7], threshold_levels=5),
        qn.Topology.dense(6, 2, weight_levels=128),
        qn.Topology.dense(5, 2, threshold_levels=3),
        qn.Topology.parse("conv(2x2x3, levels=4, thresholds=9)", inputs=(2, 3), outputs=2),
        qn.Topology.parse("conv(2x2x3, stride=2, padding=1)", inputs=(3, 3), outputs=2),
    ]
    networks = [qn.BinaryNetwork.random(topology, seed=s) for topology in some for s in range(3)]
    data = [every_input(network.topology.column_count) for network in networks]
    cases = [Case(network, inputs, {}) for network, inputs in zip(networks, data, strict=True)]
    cases += [Case(committee(some[0], 4, reading), every_input(5), {}) for reading in READINGS]
    found = answers(cases, tmp_path)
    assert found == [expected(case) for case in cases]
    assert sum(row.count(0) for case in found for row in case.votes) > 50


def test_weights_of_single_arcs_may_be_parallel_elsewhere(tmp_path: Path) -> None:
    alone = [(0, 2 + number, number) for number in range(3)]
    parallel = [(1, 5, number) for number in range(3)]
    topology = qn.Topology.from_arcs([*alone, *parallel, (5, 6, 3)], inputs=2, outputs=1)
    networks = [qn.BinaryNetwork(topology, [*some, 1], [1] * 5) for some in every_input(3)]
    cases = [Case(network, every_input(2), {}) for network in networks]
    assert answers(cases, tmp_path) == [expected(case) for case in cases]


@pytest.mark.parametrize("reading", READINGS)
def test_committees_vote_in_c_as_in_numpy_also_at_ties(reading: Reading, tmp_path: Path) -> None:
    committees = [committee(qn.Topology.dense(5, 3, 4), size, reading) for size in (1, 2, 3, 6)]
    cases = [Case(members, every_input(5), {}) for members in committees]
    found = answers(cases, tmp_path)
    assert found == [expected(case) for case in cases]
    votes = np.array(found[1].votes)
    largest = np.sort(votes, axis=1)[:, -2:]
    assert (votes == 0).any()
    assert (largest[:, 0] == largest[:, 1]).any()


def test_the_networks_of_the_paper_run_in_c(tmp_path: Path) -> None:
    letters = qn.datasets.letters(seed=0)
    networks = [qn.BinaryNetwork.random(qn.paper.topology(n), seed=n) for n in range(18)]
    cases = [Case(network, letters.test_inputs, {}) for network in networks]
    assert answers(cases, tmp_path) == [expected(case) for case in cases]


def test_wirings_that_chance_seldom_makes_run_in_c(tmp_path: Path) -> None:
    networks = [qn.BinaryNetwork.random(odd, seed=1) for odd in odd_wirings().values()]
    cases = [Case.random(network, rows=50) for network in networks]
    assert answers(cases, tmp_path) == [expected(case) for case in cases]


def test_tables_of_more_than_65535_bits_have_wider_indices(tmp_path: Path) -> None:
    topology = qn.Topology.parse("conv(1x1x2)", inputs=(190, 190), outputs=1)
    case = Case.random(qn.BinaryNetwork.random(topology, seed=0), rows=3)
    assert "typedef uint32_t model_index;" in qn.to_c(case.model)
    assert answers([case], tmp_path) == [expected(case)]


@pytest.mark.parametrize(
    "flags",
    [
        ("-O2", "-DQUBONN_POPCOUNT=__builtin_popcount"),
        ("-O3", "-Wconversion", "-Wshadow", "-Wundef"),
        ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    ],
    ids=lambda flags: flags[-1],
)
def test_the_header_stands_stricter_compilers(flags: tuple[str, ...], tmp_path: Path) -> None:
    if not can_link(flags, tmp_path):
        pytest.skip(f"gcc cannot link with {' '.join(flags)} here")
    cases = [
        Case.random(qn.BinaryNetwork.random(qn.paper.topology(3), seed=0)),
        Case.random(committee(qn.paper.topology(7), 3)),
        Case.random(committee(qn.Topology.dense(70, 33, 5), 2, "largest")),
    ]
    assert answers(cases, tmp_path, compiler=("gcc", *STRICT, *flags)) == [
        expected(case) for case in cases
    ]


def can_link(flags: tuple[str, ...], folder: Path) -> bool:
    empty = folder / "empty.c"
    empty.write_text("int main(void) { return 0; }\n")
    command = ["gcc", *flags, str(empty), "-o", str(folder / "empty")]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_the_header_is_cpp_too(tmp_path: Path) -> None:
    cases = [Case.random(committee(qn.paper.topology(7), 3, reading)) for reading in READINGS]
    compiler = ("g++", "-std=c++11", *STRICT[1:])
    assert answers(cases, tmp_path, compiler=compiler, suffix="cpp") == [
        expected(case) for case in cases
    ]


def test_the_header_needs_nothing_of_a_library(tmp_path: Path) -> None:
    header = qn.to_c(committee(qn.paper.topology(7), 3), tmp_path / "model.h", with_main=True)
    source, module = tmp_path / "alone.c", tmp_path / "alone.o"
    source.write_text(
        '#include "model.h"\n'
        "int32_t ask(const uint32_t *inputs);\n"
        "int32_t ask(const uint32_t *inputs) { return model_class(inputs); }\n"
    )
    compile_source(source, module, ("gcc", *STRICT, "-Os", "-ffreestanding", "-c"))
    assert set(output_of("nm", "-u", module).split()) - {"U"} <= {
        "memset",
        "memcpy",
    }  # which every C compiler brings
    assert not any(word in header for word in ("malloc", "float", "double"))


def test_the_sizes_at_the_top_are_those_of_the_tables(tmp_path: Path) -> None:
    header = qn.to_c(committee(qn.paper.topology(7), 3), tmp_path / "model.h")
    tables = ("steps", "runs", "output_of", "weights", "biases")
    sizes = " + ".join(f"sizeof model_{table}" for table in tables)
    source = tmp_path / "sizes.c"
    source.write_text(
        '#include <stdio.h>\n#include "model.h"\n'
        f'int main(void) {{ printf("%lu %d", (unsigned long)({sizes}), MODEL_TABLE_BYTES); }}\n'
    )
    compile_source(source, tmp_path / "sizes", ("gcc", *STRICT))
    counted, stated = map(int, output_of(tmp_path / "sizes").split())
    assert counted == stated
    assert f"{stated:,} bytes of tables" in header


def test_the_main_program_reads_examples_and_prints_answers(tmp_path: Path) -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(40, 7, 3), seed=4)
    case = Case.random(network, rows=5)
    path = tmp_path / "letters.h"
    qn.to_c(network, path, name="Letters", with_main=True)
    compile_source(path, tmp_path / "letters", ("gcc", *STRICT, "-DLETTERS_MAIN", "-x", "c"))
    lines = ["".join("1" if spin > 0 else "0" for spin in row) for row in case.inputs]
    printed = output_of(tmp_path / "letters", given="\n".join(lines))
    wanted = expected(case)
    assert printed.splitlines() == [
        " ".join(["".join("1" if spin > 0 else "0" for spin in outputs), *map(str, votes), str(n)])
        for outputs, votes, n in zip(wanted.outputs, wanted.votes, wanted.classes, strict=True)
    ]


def main_program(model: object, folder: Path, **options: Any) -> Path:
    """Return a compiled program that reads examples."""
    qn.to_c(model, folder / "model.h", with_main=True, **options)
    compile_source(
        folder / "model.h", folder / "program", ("gcc", *STRICT, "-DMODEL_MAIN", "-x", "c")
    )
    return folder / "program"


def test_the_main_program_reads_spins_as_csv_files_have_them(tmp_path: Path) -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(40, 7, 3), seed=4)
    inputs = Case.random(network, rows=5).inputs
    program = main_program(network, tmp_path)
    bits = ["".join("1" if spin > 0 else "0" for spin in row) for row in inputs]
    spins = [",".join(str(int(spin)) for spin in row) for row in inputs]
    printed = output_of(program, given="\n".join(spins))
    assert printed == output_of(program, given="\n".join(bits))
    assert len(set(printed.splitlines())) > 1


@pytest.mark.parametrize("broken", ["1", "1 2 x", "1 300 2"])
def test_the_main_program_says_which_example_is_broken(tmp_path: Path, broken: str) -> None:
    inputs, labels = [[1, 2, 3], [9, 8, 7]], ["low", "high"]
    classifier = qn.QuboClassifier(hidden=(), committee_size=1).fit(inputs, labels)
    program = main_program(classifier, tmp_path, inputs="uint8")
    assert output_of(program, given="9,8,7\n") == output_of(program, given="9 8 7\n") != ""
    done = subprocess.run(
        [program], input=f"1 2 3\n{broken}\n", capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 1
    assert "example 2 must have all its inputs" in done.stderr


def test_the_whole_road_from_four_examples_to_c(tmp_path: Path) -> None:
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(qn.paper.topology(10), letters.train_inputs, letters.train_outputs)
    result = qn.train(problem, seed=0)
    images = np.concatenate([letters.train_inputs, letters.test_inputs])
    trained = [result.network, result.committee(5), result.committee(4, reading="largest")]
    cases = [Case(model, images, {}) for model in trained]
    found = answers(cases, tmp_path)
    assert found == [expected(case) for case in cases]
    assert found[0].outputs[:4] == letters.train_outputs.tolist()


def test_whole_levels_split_whole_numbers_as_thresholds_split_reals() -> None:
    thresholds = np.array([-300, -0.5, -1e-9, 0, 1e-9, 0.3, 0.7, 7, 25.5, 99.99, 1e30])
    for scale in (1, 3, 10):
        levels = whole_levels(thresholds, scale, 0, 255)
        for threshold, level in zip(thresholds, levels, strict=True):
            assert [n > level for n in range(256)] == [n / scale > threshold for n in range(256)]
