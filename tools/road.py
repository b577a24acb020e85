"""List the files that a training example passes from a CSV file to a model.

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
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = Path(__file__).resolve().parent.parent / "src"
PACKAGE = str(SOURCE / "qubonn") + os.sep
TABLE = "width,height,kind\n" + "1,2,round\n5,1,long\n2,2,round\n6,2,long\n" * 5
OPTIONS = ("--target", "kind", "--hidden", "2", "--committee", "2", "--jobs", "1")


def road_files() -> list[str]:
    """Return the files that run while ``qubonn train`` turns a CSV file into a model, in order."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "table.csv").write_text(TABLE, encoding="utf-8")
        environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(SOURCE)}
        command = [sys.executable, __file__, folder]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    files: list[str] = json.loads(done.stdout.splitlines()[-1])
    return files


class Trace:
    """The files of the package in which functions ran while the CSV file became a model.

    The callers of what opens the CSV file count; what runs while a module is imported does not.
    """

    def __init__(self) -> None:
        self.files: dict[str, None] = {}  # in the order of their first calls
        self._is_recording = False

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """Record a call, for `sys.setprofile`."""
        path = frame.f_code.co_filename
        if self._is_recording and event == "call" and path not in self.files:
            self._record(path, frame)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Begin when the CSV file is opened, end when the model is in place."""
        if event == "open" and str(arguments[0]).endswith("table.csv"):
            self._is_recording = True
            for frame in reversed([*_and_callers(sys._getframe(1))]):
                self._record(frame.f_code.co_filename, frame)
        elif event == "os.rename" and str(arguments[1]).endswith("model.qubonn"):
            self._is_recording = False

    def _record(self, path: str, frame: FrameType) -> None:
        if path.startswith(PACKAGE) and all(map(_is_in_a_function, _and_callers(frame))):
            self.files[path] = None


def _and_callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_in_a_function(frame: FrameType) -> bool:
    is_ours = frame.f_code.co_filename.startswith(PACKAGE)
    return not is_ours or bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)


def _train(folder: Path) -> None:
    from qubonn.cli import main

    trace = Trace()
    sys.addaudithook(trace.audit)
    threading.setprofile(trace.profile)
    sys.setprofile(trace.profile)
    arguments = ["train", str(folder / "table.csv"), *OPTIONS, "-o", str(folder / "model.qubonn")]
    main(arguments, standalone_mode=False)
    sys.setprofile(None)
    print(json.dumps([path.removeprefix(PACKAGE) for path in trace.files]))


if __name__ == "__main__":
    _train(Path(sys.argv[1]))
