"""What only a real process shows: pipes, terminals, signals, imports, exit codes."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import qubonn as qn
from cli.test_examples import command_of
from qubonn.cli import COMMANDS

pty = pytest.importorskip("pty", reason="needs POSIX terminals and signals")

QUBONN = [sys.executable, "-m", "qubonn"]
HEAVY = ("numpy", "numba", "sklearn", "matplotlib", "scipy", "rich", "dimod", "joblib", "torch")


def run(*arguments: object, **options: object) -> "subprocess.CompletedProcess[str]":
    command = [*QUBONN, *(str(argument) for argument in arguments)]
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command, capture_output=True, text=True, timeout=120, check=False, **options
    )


def test_help_of_every_command_imports_nothing_heavy() -> None:
    program = f"""
        import sys
        from qubonn.cli import main
        for arguments in {[["--help"], *([name, "--help"] for name in COMMANDS)]!r}:
            try:
                main(arguments)
            except SystemExit as end:
                assert end.code == 0
        print([name for name in {HEAVY!r} if name in sys.modules])
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stdout.count("Example") == len(COMMANDS)


def test_the_list_of_commands_has_the_first_sentence_of_each() -> None:
    words = " ".join(run("--help").stdout.split())
    for name in COMMANDS:
        help_text = command_of(name).help or ""
        assert f"{name} {help_text.splitlines()[0]}" in words


def test_a_command_that_is_not_there_ends_with_2() -> None:
    done = run("fly")
    assert done.returncode == 2
    assert "No such command 'fly'" in done.stderr


def test_output_is_plain_in_a_pipe_and_rich_on_a_terminal(model: Path) -> None:
    piped = run("inspect", model)
    assert piped.returncode == 0
    assert "\x1b" not in piped.stdout
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        shown = subprocess.Popen([*QUBONN, "inspect", str(model)], stdout=theirs, stderr=theirs)
        os.close(theirs)
        pieces = b""
        try:
            while piece := screen.read(4096):
                pieces += piece
        except OSError:  # how Linux says that the other side is gone
            pass
        assert shown.wait(timeout=60) == 0
    assert b"\x1b[36m" in pieces
    assert b"large, middle, small" in pieces


def test_a_reader_that_leaves_early_gets_no_traceback(model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "many.npz", X=np.zeros((50_000, 3)))
    command = [*QUBONN, "predict", str(model), str(tmp_path / "many.npz")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "prediction\n"
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "sigterm"]
)
def test_a_training_that_is_stopped_leaves_a_model_that_works(
    flowers: Path, tmp_path: Path, call: Callable[..., Result], number: int, code: int
) -> None:
    out = tmp_path / "stopped.qubonn"
    options = ["-t", "kind", "--hidden", "64", "--committee", "100000", "-v", "-o", str(out)]
    with subprocess.Popen(
        [*QUBONN, "train", str(flowers), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        started = 0
        while started < 3:  # two are complete then
            line = process.stderr.readline()
            assert line, "the training ended by itself"
            started += "training with" in line
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert "Interrupted:" in errors
    assert "Traceback" not in errors
    assert "training accuracy" in output
    model = qn.load(out)
    assert isinstance(model, qn.QuboClassifier)
    assert 2 <= len(model.committee_) < 100_000
    assert model.is_interrupted_
    assert "Accuracy" in call("predict", out, flowers, "-t", "kind").stderr


def test_ctrl_c_before_anything_is_trained_leaves_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "slow.csv")  # the reader waits for a writer
    command = [
        *QUBONN,
        "train",
        str(tmp_path / "slow.csv"),
        "-t",
        "k",
        "-o",
        str(tmp_path / "m.qubonn"),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        with open(tmp_path / "slow.csv", "w") as pipe:  # opens when the reader is there
            pipe.write("a,k\n")
            pipe.flush()
            time.sleep(1)  # until it waits for more
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=10)
            process.send_signal(signal.SIGINT)  # one just before a blocking read is not seen
            assert process.wait(timeout=60) == 130
        errors = process.stderr.read()
    assert "nothing was written" in errors
    assert not (tmp_path / "m.qubonn").exists()


def test_a_folder_that_cannot_be_written_is_one_sentence(flowers: Path, tmp_path: Path) -> None:
    target = tmp_path / "taken.qubonn"
    target.mkdir()
    done = run("train", flowers, "-t", "kind", "-o", target)
    assert done.returncode == 2
    assert "taken.qubonn" in done.stderr
    assert "Traceback" not in done.stderr


def test_labels_that_the_terminal_cannot_show_are_written_out(
    tmp_path: Path, call: Callable[..., Result]
) -> None:
    (tmp_path / "d.csv").write_text("a,k\n0,é\n1,日本\n", encoding="utf-8")
    options = ["-t", "k", "--test-share", "0", "--committee", "1", "-o", tmp_path / "m.qubonn"]
    call("train", tmp_path / "d.csv", *options)
    old = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    done = run("predict", tmp_path / "m.qubonn", tmp_path / "d.csv", env=old, encoding="latin-1")
    assert done.stdout.splitlines() == ["prediction", "é", "\\u65e5\\u672c"]
