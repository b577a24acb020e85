"""Compile exported headers, many at a time, and return what they answer."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import qubonn as qn

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")


@dataclass(frozen=True)
class Case:
    """A model, the spins it is asked about, and how it is exported."""

    model: Any
    inputs: NDArray[Any]  # spins; or whole numbers where `options` has inputs
    options: dict[str, Any]

    @classmethod
    def random(cls, model: Any, *, rows: int = 20, seed: int = 0) -> "Case":
        shape = (rows, topology_of(model).column_count)
        return cls(model, 2 * np.random.default_rng(seed).integers(2, size=shape) - 1, {})


@dataclass(frozen=True)
class Answers:
    """What a program printed, a row for each example."""

    inputs: list[list[int]]  # words
    outputs: list[list[int]]  # spins
    votes: list[list[int]]
    classes: list[int]


def topology_of(model: Any) -> qn.Topology:
    committee = getattr(model, "committee_", model)
    return getattr(committee, "members", (committee,))[0].topology  # type: ignore[no-any-return]


def expected(case: Case) -> Answers:
    """What NumPy says about spins."""
    model, spins = case.model, case.inputs
    if isinstance(model, qn.BinaryNetwork):
        votes = model.pre_activations(spins)[:, -model.topology.output_count :]
    else:
        votes = model.votes(spins)
    outputs = model.predict_outputs(spins)
    return Answers(words_of(spins), outputs.tolist(), votes.tolist(), votes.argmax(axis=1).tolist())


def words_of(spins: NDArray[Any]) -> list[list[int]]:
    """Rows of 32-bit words: input i is bit i % 32 of word i / 32."""
    padding = ((0, 0), (0, -spins.shape[1] % 32))
    packed = np.packbits(np.pad(spins > 0, padding), axis=1, bitorder="little")
    words: list[list[int]] = np.ascontiguousarray(packed).view("<u4").tolist()
    return words


def answers(
    cases: Sequence[Case],
    folder: Path,
    *,
    compiler: Sequence[str] = ("gcc", *STRICT, "-O1"),
    suffix: str = "c",
) -> list[Answers]:
    """Compile one program for all cases and run it."""
    program = compile_cases(cases, folder, compiler=compiler, suffix=suffix)
    return read_answers(cases, output_of(program))


def compile_cases(
    cases: Sequence[Case], folder: Path, *, compiler: Sequence[str], suffix: str = "c"
) -> Path:
    """Write a header for each case, and a program that includes all of them."""
    for number, case in enumerate(cases):
        qn.to_c(case.model, folder / f"model_{number}.h", name=f"net {number}", **case.options)
    source, program = folder / f"program.{suffix}", folder / "program"
    source.write_text(program_source(cases))
    compile_source(source, program, compiler)
    return program


def compile_source(source: Path, program: Path, compiler: Sequence[str]) -> None:
    command = [*compiler, str(source), "-o", str(program)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr


def output_of(*command: str | Path, given: str = "") -> str:
    """Run a program and return what it prints."""
    run = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout


def program_source(cases: Sequence[Case]) -> str:
    """A program that prints inputs, outputs, votes and class of every example of every case."""
    includes = [f'#include "model_{number}.h"' for number in range(len(cases))]
    functions = [_function(case, number) for number, case in enumerate(cases)]
    calls = [f"    run_{number}();" for number in range(len(cases))]
    main = "\n".join(["int main(void)", "{", *calls, "    return 0;", "}", ""])
    return "\n".join(["#include <math.h>", "#include <stdio.h>", *includes, *functions, main])


FUNCTION = """
static const {kind} examples_{n}[] = {{ {values} }};

static void run_{n}(void)
{{
    uint32_t inputs[NET_{n}_INPUT_WORDS], outputs[NET_{n}_OUTPUT_WORDS], i, example;
    int32_t votes[NET_{n}_OUTPUT_COUNT], number;
    for (example = 0; example < {rows}; example++) {{
        {reading}
        net_{n}_votes(inputs, votes);
        net_{n}_predict(inputs, outputs);
        number = net_{n}_class(inputs);
        for (i = 0; i < NET_{n}_INPUT_WORDS; i++)
            printf("%lu ", (unsigned long)inputs[i]);
        for (i = 0; i < NET_{n}_OUTPUT_COUNT; i++)
            printf("%d ", (outputs[i / 32] >> i % 32) & 1u ? 1 : -1);
        for (i = 0; i < NET_{n}_OUTPUT_COUNT; i++)
            printf("%ld ", (long)votes[i]);
        printf("%ld\\n", (long)number);
    }}
}}
"""
READING_WORDS = """for (i = 0; i < NET_{n}_INPUT_WORDS; i++)
            inputs[i] = examples_{n}[example * NET_{n}_INPUT_WORDS + i];"""
READING_FEATURES = "net_{n}_binarise(examples_{n} + example * NET_{n}_FEATURE_COUNT, inputs);"


def float_literal(value: float) -> str:
    return "NAN" if value != value else f"{value:.9e}f"


def _function(case: Case, number: int) -> str:
    kind = case.options.get("inputs")
    if kind is None:
        kind, reading = "uint32", READING_WORDS
        rows = with_garbage(words_of(case.inputs), case.inputs.shape[1])
        values = ", ".join(f"{word}u" for row in rows for word in row)
    else:
        reading = READING_FEATURES
        show = float_literal if kind == "float" else str
        values = ", ".join(show(value) for value in case.inputs.ravel().tolist())
    return FUNCTION.format(
        kind=kind if kind == "float" else f"{kind}_t",
        n=number,
        values=values,
        rows=len(case.inputs),
        reading=reading.format(n=number),
    )


def with_garbage(rows: list[list[int]], input_count: int) -> list[list[int]]:
    """Set the unused bits of the last word: callers may leave anything there."""
    unused = (2**32 - 1) & ~((1 << ((input_count - 1) % 32 + 1)) - 1)
    return [[*row[:-1], row[-1] | unused] for row in rows]


def read_answers(cases: Sequence[Case], text: str) -> list[Answers]:
    lines = iter(text.splitlines())
    found = []
    for case in cases:
        topology = topology_of(case.model)
        words, outputs = -(-topology.column_count // 32), topology.output_count
        used = (1 << ((topology.column_count - 1) % 32 + 1)) - 1
        rows = [[int(value) for value in next(lines).split()] for _ in range(len(case.inputs))]
        found.append(
            Answers(
                [[*row[: words - 1], row[words - 1] & used] for row in rows],
                [row[words : words + outputs] for row in rows],
                [row[words + outputs : -1] for row in rows],
                [row[-1] for row in rows],
            )
        )
    assert next(lines, None) is None
    return found
