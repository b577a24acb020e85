"""Cost of exported C: flash, RAM and time on this machine and on a Cortex-M.

    PYTHONPATH=tests python benchmarks/small_devices.py [--rounds 2000]

Host: gcc -O2, best of five. Cortex-M: arm-none-eabi-gcc -Os; code is the size of ``class`` and all
functions it calls; stack is the sum that the compiler reports for these functions; instructions are
counted by qemu, which does not model slow memory; those of a Cortex-M0 are of code compiled for it.
Without these tools their cells stay empty. A second table has classifiers of the digits of
scikit-learn beside trees and a net that emlearn writes as C, if it is installed: accuracy is of a
quarter of the images, flash of code and tables, without the library's floating point.
"""

import argparse
import importlib.util
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import qubonn as qn
from export.compiled import STRICT, compile_source, output_of
from export.cortex_m import BOARDS, COMPILER, EMULATOR, Board, build_command, emulation
from printing import head, show

Model = qn.BinaryNetwork | qn.Committee
# the board of the Cortex-M0 has no timer; code for this processor runs on a Cortex-M3 as it is
TIMED = (Board("cortex-m0", BOARDS[1].machine), *BOARDS[1:])

HOST = """
#include <stdio.h>
#include <time.h>
#include "model.h"

int main(void)
{{
    uint32_t inputs[MODEL_INPUT_WORDS] = {{0x12345678u}}, round, attempt;
    int32_t sum = 0;
    double best = 1e9;
    for (attempt = 0; attempt < 5; attempt++) {{
        clock_t start = clock();
        for (round = 0; round < {rounds}u; round++) {{
            inputs[0] += 0x9E3779B9u; /* another example each time */
            sum += model_class(inputs);
        }}
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (seconds < best)
            best = seconds;
    }}
    fprintf(stderr, "%ld", (long)sum);
    printf("%.9f", best / {rounds});
    return 0;
}}
"""

# With -icount each instruction takes one nanosecond; a loop of known length measures a tick.
DEVICE = """
#include <stdio.h>
#include "model.h"

#define CONTROL (*(volatile uint32_t *)0xE000E010)
#define RELOAD (*(volatile uint32_t *)0xE000E014)
#define COUNTER (*(volatile uint32_t *)0xE000E018)

static uint32_t ticks_from(uint32_t start)
{{
    return (start - COUNTER) & 0xFFFFFFu;
}}

int main(void)
{{
    uint32_t round, start, known, counted, count = 1000000;
    {declared}
    int32_t sum = 0;
    RELOAD = 0xFFFFFFu;
    COUNTER = 0;
    CONTROL = 5;
    start = COUNTER;
    __asm__ volatile(".syntax unified\\n1: subs %0, %0, #1\\n bne 1b" : "+l"(count) : : "cc");
    known = ticks_from(start);
    start = COUNTER;
    for (round = 0; round < {rounds}u; round++) {{
        {asked}
    }}
    counted = ticks_from(start);
    printf("%lu %lu %ld", (unsigned long)known, (unsigned long)counted, (long)sum);
    return 0;
}}
"""

DECLARED = "uint32_t inputs[MODEL_INPUT_WORDS] = {0x12345678u};"
ASKED = "inputs[0] += 0x9E3779B9u; sum += model_class(inputs);"
MATHS = (
    *(f"-Wl,-u,{name}" for name in ("expf", "logf", "tanhf")),
    "-Wl,--no-as-needed",
    "-lm",
)  # of emlearn's nets
EXAMPLES = 20  # digits that are classified on a device

ALONE = """
#include "model.h"

int32_t ask(const uint32_t *inputs);
int32_t ask(const uint32_t *inputs)
{
    return model_class(inputs);
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=2000)
    rounds = parser.parse_args().rounds
    instructions = [f"{board.processor} instructions" for board in TIMED]
    sizes = ("parameters", "tables", "code", "arrays", "stack")
    head("network", *sizes, "host, microseconds", *instructions)
    for name, model in models().items():
        with TemporaryDirectory() as folder:
            show(name, *cells(model, Path(folder), rounds))
    if importlib.util.find_spec("emlearn") and shutil.which(EMULATOR):
        compare_on_digits()


def models() -> dict[str, Model]:
    wide = qn.Topology.dense(784, 64, 10)
    convolution = qn.Topology.parse("conv(5x5x8)", inputs=(28, 28), outputs=10)
    return {
        "letters, network 10": network(qn.paper.topology(10)),
        "letters, network 7: conv(4x4x2)+fc(4)": network(qn.paper.topology(7)),
        "letters, network 10, committee of 5": committee(qn.paper.topology(10)),
        "784-64-10": network(wide),
        "784-64-10, committee of 5": committee(wide),
        "28x28, conv(5x5x8), 10 outputs": network(convolution),
    }


def network(topology: qn.Topology) -> qn.BinaryNetwork:
    return qn.BinaryNetwork.random(topology, seed=0)


def committee(topology: qn.Topology) -> qn.Committee:
    return qn.Committee([qn.BinaryNetwork.random(topology, seed=n) for n in range(5)], "largest")


def cells(model: Model, folder: Path, rounds: int) -> list[str]:
    header = qn.to_c(model, folder / "model.h")
    members = model.members if isinstance(model, qn.Committee) else (model,)
    parameters = sum(len(m.weight_spins) + len(m.bias_spins) for m in members)
    tables, arrays = (int(found) for found in re.findall(r"_BYTES (\d+)", header))
    code, stack = code_and_stack(folder, tables)
    return [
        f"{parameters:,}",
        f"{tables:,}",
        code,
        f"{arrays:,}",
        stack,
        f"{on_host(folder, rounds):.2f}",
        *(on_device(folder, rounds // 20, board)[0] for board in TIMED),
    ]


def on_host(folder: Path, rounds: int) -> float:
    """Microseconds for one example."""
    (folder / "host.c").write_text(HOST.format(rounds=rounds))
    compile_source(folder / "host.c", folder / "host", ("gcc", *STRICT, "-O2"))
    return 1e6 * float(output_of(folder / "host"))


def code_and_stack(folder: Path, tables: int) -> tuple[str, str]:
    """Bytes of code without tables, and of stack if all functions call each other; Cortex-M3."""
    if shutil.which(COMPILER) is None:
        return "", ""
    (folder / "alone.c").write_text(ALONE)
    flags = ("-mcpu=cortex-m3", "-mthumb", "-Os", "-fstack-usage", "-c")
    compile_source(folder / "alone.c", folder / "alone.o", (COMPILER, *STRICT, *flags))
    size = output_of("arm-none-eabi-size", folder / "alone.o").split("\n")[1].split()
    usage = (folder / "alone.su").read_text()
    stack = sum(int(line.split("\t")[1]) for line in usage.splitlines())
    return f"{int(size[0]) - tables:,}", f"{stack:,}"


def on_device(
    folder: Path, rounds: int, board: Board, declared: str = DECLARED, asked: str = ASKED
) -> tuple[str, int]:
    """Instructions for one example, and the sum of the classes."""
    if shutil.which(COMPILER) is None or shutil.which(EMULATOR) is None:
        return "", 0
    (folder / "device.c").write_text(DEVICE.format(rounds=rounds, declared=declared, asked=asked))
    command = build_command(board, folder)
    if declared != DECLARED:  # emlearn's code has warnings, and uses functions of floats
        command = (*(word for word in command if word not in STRICT), *MATHS, "-I", str(folder))
    compile_source(folder / "device.c", folder / "device", command)
    emulator, *options = emulation(board)
    printed = output_of(emulator, "-icount", "shift=0", *options, folder / "device")
    known, counted, total = (int(number) for number in printed.split())
    return f"{2_000_000 * counted / known / rounds:,.0f}", total


# ---- emlearn ----


def compare_on_digits() -> None:
    """Print a table of classifiers of digits; check that C gives the classes of Python."""
    rules = np.geterr()
    import emlearn
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPClassifier

    np.seterr(**rules)  # emlearn makes an underflow an error
    X, y = load_digits(return_X_y=True)
    known, new, labels, wanted = train_test_split(X, y, random_state=0, stratify=y)
    ours: dict[str, Any] = {"committee_size": 1, "random_state": 0, "binariser": qn.Threshold(7)}
    rows: list[tuple[str, Any, str]] = [
        (f"qubonn, 64-{width}-10", qn.QuboClassifier(width, **ours), "uint8_t")
        for width in (32, 128)
    ]
    rows += [
        (f"emlearn, forest of {count}", RandomForestClassifier(count, random_state=0), "int16_t")
        for count in (3, 10)
    ]
    net = MLPClassifier((32,), max_iter=300, random_state=0)
    rows.append(("emlearn, net 64-32-10, float", net, "float"))
    print()
    boards = TIMED[0], TIMED[-1]
    head("digits", "accuracy", "flash", *(f"{board.processor} instructions" for board in boards))
    for name, model, kind in rows:
        # emlearn cuts thresholds off to whole numbers, which halves of twice the pixels are
        times = 2 if kind == "int16_t" else 1
        model.fit(times * known, labels)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.h"
            if kind == "uint8_t":
                qn.to_c(model, path, inputs="uint8")
                body = "uint32_t i[MODEL_INPUT_WORDS]; model_binarise(x, i); return model_class(i);"
            else:
                options = {"dtype": kind} if kind == "int16_t" else {}
                emlearn.convert(model, method="inline", **options).save(file=path, name="model")
                body = "return model_predict(x, 64);"
            ask = f"static int32_t ask(const {kind} *x) {{ {body} }}"
            classes, flash, counts = classified(Path(folder), times * new, kind, ask, boards)
        if kind == "uint8_t":
            assert (classes == model.predict(new)).all(), name
        show(name, f"{100 * (classes == wanted).mean():.1f} %", flash, *counts)


def classified(
    folder: Path, examples: Any, kind: str, ask: str, boards: Sequence[Board]
) -> tuple[Any, str, list[str]]:
    """Return the classes of C, bytes of flash, and instructions on each board."""
    import emlearn

    header = folder / "model.h"
    header.write_text(header.read_text() + f"\n{ask}\n")
    shutil.copytree(Path(emlearn.__file__).parent, folder, dirs_exist_ok=True)  # its headers
    (folder / "host.c").write_text(
        f'#include <stdio.h>\n#include "model.h"\n{declared(examples, kind)}\nint main(void) {{ '
        f'for (int i = 0; i < {len(examples)}; i++) printf("%d ", (int)ask(examples[i])); }}'
    )
    compile_source(folder / "host.c", folder / "host", ("gcc", "-O1", *MATHS, "-I", str(folder)))
    classes = np.array(output_of(folder / "host").split(), dtype=int)
    (folder / "alone.c").write_text(
        f'#include "model.h"\nint32_t out(const {kind} *x) {{ return ask(x); }}\n'
    )
    flags = ("-mcpu=cortex-m3", "-mthumb", "-Os", "-ffunction-sections", "-fdata-sections")
    least = ("-nostdlib", "-r", "-Wl,--gc-sections", "-Wl,-eout")  # what `out` needs
    compile_source(
        folder / "alone.c", folder / "alone.o", (COMPILER, "-I", str(folder), *flags, *least)
    )
    size = output_of("arm-none-eabi-size", folder / "alone.o").split("\n")[1].split()
    asked = f"sum += ask(examples[round % {EXAMPLES}u]);"
    some = declared(examples[:EXAMPLES], kind)
    found = [on_device(folder, EXAMPLES, board, some, asked) for board in boards]
    assert {total for _, total in found} == {int(classes[:EXAMPLES].sum())}, found
    return classes, f"{int(size[0]) + int(size[1]):,}", [count for count, _ in found]


def declared(examples: Any, kind: str) -> str:
    """Return examples as a constant in C."""
    rows = ", ".join(f"{{{', '.join(map(str, row))}}}" for row in examples.astype(int).tolist())
    return f"static const {kind} examples[{len(examples)}][64] = {{{rows}}};"


if __name__ == "__main__":
    main()
