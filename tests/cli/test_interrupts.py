"""Ctrl-C at any moment of any long command: 130, one sentence, what was found is kept, no process
is left.
"""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pytest

import qubonn as qn

pytest.importorskip("pty", reason="needs POSIX signals")

TRAIN = ["train", "d.csv", "-t", "k", "-o", "m.qubonn", "--hidden", "32", "--committee", "5000"]
STUDY = ["reproduce", "margins", "--engine", "native", "--runs", "500", "--store", "store"]
COMMANDS = {  # and the seconds in which it is interrupted
    "train": (TRAIN, 6.0),
    "train by two": ([*TRAIN, "--jobs", "2"], 9.0),
    "train in designs": (["train", "d.csv", "-t", "k", "-o", "m.qubonn"], 4.0),
    "train with dropout": ([*TRAIN, "--dropout", "0.2"], 6.0),
    "demo": (["demo", "--network", "0"], 5.0),
    "bench": (["bench", "--repeats", "100"], 6.0),
    "reproduce": ([*STUDY, "--jobs", "1"], 5.0),
    "reproduce by two": ([*STUDY, "--jobs", "2"], 7.0),
}
# the parent's pipe is closed once Ctrl-C is ours; before that Python itself reports it. A command
# that received Ctrl-C leaves without another word; one that is done ignores it while Python ends
COMPLETE = "complete before Ctrl-C"
PROGRAM = f"""
import os, signal, sys
from qubonn import __main__ as command
signal.signal(signal.SIGINT, command._end_at_once)
os.close(int(sys.argv.pop()))
try:
    command.run()
finally:
    print("{COMPLETE}", file=sys.stderr)
"""


@dataclass
class End:
    """How a process ended after Ctrl-C."""

    code: int
    errors: str
    seconds: float
    left_over: list[str]


def interrupted(arguments: list[str], delay: float, folder: Path) -> End | None:
    """Press Ctrl-C some seconds after a command began; None if it had ended by then."""
    begun, begin = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments, str(begin)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder,
        start_new_session=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        pass_fds=[begin],
    )  # fmt: skip
    os.close(begin)
    os.read(begun, 1)
    os.close(begun)
    time.sleep(delay)
    is_running = process.poll() is None
    if is_running:
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all processes get it
    start = time.perf_counter()
    _, errors = process.communicate(timeout=120)
    if not is_running or (process.returncode == 0 and COMPLETE in errors):
        return None
    return End(process.returncode, errors, time.perf_counter() - start, left_over(process.pid))


def left_over(group: int) -> list[str]:
    """Return the processes of a group that are still there after a moment."""
    for _ in range(30):
        found = []
        for process in psutil.process_iter():
            try:
                if os.getpgid(process.pid) == group and process.status() != "zombie":
                    found.append(" ".join(process.cmdline()))
            except (ProcessLookupError, psutil.Error):
                continue
        if not found:
            return []
        time.sleep(0.1)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(300, 10)).round(2)
    labels = (inputs[:, 0] * inputs[:, 1] > 0).astype(int)
    lines = [",".join(map(str, [*row, label])) for row, label in zip(inputs, labels, strict=True)]
    head = ",".join([*(f"c{number}" for number in range(10)), "k"])
    (tmp_path / "d.csv").write_text("\n".join([head, *lines, ""]))
    return tmp_path


def assert_ended_well(end: End | None, folder: Path) -> None:
    if end is None:  # it was done before
        return
    assert end.code == 130, end
    assert "Traceback" not in end.errors, end
    assert "Exception ignored" not in end.errors, end
    said = [line for line in end.errors.splitlines() if line.startswith(("Interrupted", "Stopped"))]
    assert len(said) == 1, end
    assert end.left_over == [], end
    assert end.seconds < 30, end
    model = folder / "m.qubonn"
    if "members of the committee: " in end.errors:  # a line of progress: there is one
        assert model.exists(), end
    if model.exists():
        assert len(qn.load(model).committee_.members) > 0  # type: ignore[union-attr]
    assert not list(folder.glob(".*")), "half-written files"
    model.unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("name", "delay"), [("train", 0.0), ("train by two", 1.0), ("reproduce by two", 2.5)]
)
def test_ctrl_c_ends_a_command_in_order(folder: Path, name: str, delay: float) -> None:
    assert_ended_well(interrupted(COMMANDS[name][0], delay, folder), folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_at_fifty_moments_ends_a_command_in_order(folder: Path, name: str) -> None:
    arguments, span = COMMANDS[name]
    draw = random.Random(name)
    faults = []
    for _ in range(50):
        delay = draw.uniform(0, span)
        end = interrupted(arguments, delay, folder)
        try:
            assert_ended_well(end, folder)
        except AssertionError:
            faults.append((delay, end))
    assert faults == []
