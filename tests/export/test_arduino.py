"""The sketch compiles with its header, and answers with the classes of the model."""

import shutil
import subprocess
from pathlib import Path

import pytest

import qubonn as qn
from export.models import committee
from export.test_classifier import BINARISERS, with_binariser
from qubonn.errors import RangeError
from qubonn.export import to_arduino
from qubonn.export.features import features_of
from qubonn.export.model import exported
from qubonn.export.stimuli import vectors_of

ARDUINO = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct Line { // the serial line is standard input and output
    void begin(long) {}
    int available()
    {
        int letter = getchar();
        if (letter == EOF)
            exit(0);
        ungetc(letter, stdin);
        return 1;
    }
    int read() { return getchar(); }
    void println(const char *text) { puts(text); }
    void println(long number) { printf("%ld\\n", number); }
} Serial;

void setup();
void loop();

int main()
{
    setup();
    for (;;)
        loop();
}
"""

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")


def answers(folder: Path, lines: list[str]) -> list[str]:
    """Compile a sketch as Arduino does, and return what it answers to lines of text."""
    (folder / "Arduino.h").write_text(ARDUINO)
    strict = ["-std=gnu++11", "-Wall", "-Wextra", "-Werror", "-x", "c++", "-include", "Arduino.h"]
    compiled = ["g++", *strict, f"{folder.name}.ino", "-o", "sketch"]
    subprocess.run(compiled, cwd=folder, check=True, timeout=100)
    found = subprocess.run(
        [str(folder / "sketch")],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return found.stdout.splitlines()


@needs_compiler
def test_bits_become_the_index_of_the_largest_output(tmp_path: Path) -> None:
    model = committee(qn.Topology.dense(40, 9, 4), 3, "largest")
    to_arduino(model, tmp_path / "7 letters", name="letters")
    vectors = vectors_of(exported(model), None, 30, seed=0)
    lines = ["".join(map(str, row)) for row in vectors.words.tolist()]
    assert answers(tmp_path / "7 letters", lines) == list(map(str, vectors.classes.tolist()))


@needs_compiler
@pytest.mark.parametrize("number", [0, 8, 9, 11, 12])
def test_numbers_become_the_label(number: int, tmp_path: Path) -> None:
    kind, _, scale, binariser, spin_count = BINARISERS[number]
    model = with_binariser(binariser, spin_count, seed=1)
    to_arduino(model, tmp_path / "sketch", inputs=kind, scale=scale)
    parts = exported(model)
    features = features_of(parts, kind, scale)
    assert features is not None
    assert parts.classes is not None
    vectors = vectors_of(parts, features, 30, seed=0)
    sign = features.is_signed << (features.width - 1)
    lines = [", ".join(map(str, row)) for row in ((vectors.words ^ sign) - sign).tolist()]
    assert answers(tmp_path / "sketch", lines) == [parts.classes.labels[n] for n in vectors.classes]


def test_floats_are_refused_and_leave_no_folder(tmp_path: Path) -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    with pytest.raises(RangeError, match="inputs of a sketch must be whole numbers; got 'float'"):
        to_arduino(network, tmp_path / "new", inputs="float")
    assert not (tmp_path / "new").exists()
