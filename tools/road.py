"""Trace the files that a training example passes from a CSV file to a model.

Trains in a child process without the compiler, so that kernels are seen too.
"""

import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

SOURCE = Path(__file__).resolve().parent.parent / "src"
PACKAGE = str(SOURCE / "qubonn") + os.sep
TABLE = "width,height,kind\n" + "1,2,round\n5,1,long\n2,2,round\n6,2,long\n" * 5
OPTIONS = ("--target", "kind", "--hidden", "2", "--committee", "2", "--jobs", "1")


@dataclass(frozen=True)
class Road:
    """The files in the order of their first calls, and the calls that come back to a folder."""

    files: list[str]
    returns: list[str]  # from a folder to another one and up again to the first


def road() -> Road:
    """Return what runs while ``qubonn train`` turns a CSV file into a model."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "table.csv").write_text(TABLE, encoding="utf-8")
        environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(SOURCE)}
        command = [sys.executable, __file__, folder]
        done = subprocess.run(
            command, env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
    return Road(**json.loads(done.stdout.splitlines()[-1]))


class Trace:
    """The functions of the package that run while the CSV file becomes a model.

    The callers of what opens the CSV file count; what runs while a module is imported does not.
    """

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.returns: dict[str, str] = {}  # the first of each two callers
        self._steps: set[tuple[CodeType | None, CodeType]] = set()  # caller and called
        self._is_recording = False

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """Record a call, for `sys.setprofile`."""
        if not self._is_recording or event != "call":
            return
        step = frame.f_back.f_code if frame.f_back else None, frame.f_code
        if step not in self._steps:
            self._steps.add(step)
            self._record(frame)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Begin when the CSV file is opened, end when the model is in place."""
        if event == "open" and str(arguments[0]).endswith("table.csv"):
            self._is_recording = True
            for frame in reversed([*_and_callers(sys._getframe(1))]):
                self._record(frame)
        elif event == "os.rename" and str(arguments[1]).endswith("model.qubonn"):
            self._is_recording = False

    def _record(self, frame: FrameType) -> None:
        frames = [one for one in _and_callers(frame) if _is_ours(one)]
        if not _is_ours(frame) or not all(map(_is_in_a_function, frames)):
            return
        self.files[_file(frame)] = None
        folders = [list(group) for _, group in groupby(frames, _folder)]  # innermost first
        if len(folders) > 2 and _folder(folders[0][0]) == _folder(folders[2][0]):
            turn = folders[2][0], folders[1][-1], folders[0][-1]
            names = [f"{_file(one)} {one.f_code.co_name}" for one in turn]
            self.returns.setdefault(" > ".join(names[:2]), " > ".join(names))


def _and_callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(PACKAGE)


def _is_in_a_function(frame: FrameType) -> bool:
    return bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)  # no body of a module or class


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename.removeprefix(PACKAGE)


def _folder(frame: FrameType) -> str:
    return str(Path(_file(frame)).parent)


def _train(folder: Path) -> None:
    from qubonn.cli import main

    trace = Trace()
    sys.addaudithook(trace.audit)
    threading.setprofile(trace.profile)
    sys.setprofile(trace.profile)
    arguments = ["train", str(folder / "table.csv"), *OPTIONS, "-o", str(folder / "model.qubonn")]
    main(arguments, standalone_mode=False)
    sys.setprofile(None)
    print(json.dumps({"files": list(trace.files), "returns": list(trace.returns.values())}))


if __name__ == "__main__":
    _train(Path(sys.argv[1]))
