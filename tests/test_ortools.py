import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from qubonn import ortools
from qubonn.errors import MissingExtra

pytest.importorskip("ortools", reason="CP-SAT is in ortools")

PROGRAM = """
import os, signal, time
from qubonn import ortools
model = ortools.cp_model_for("test").CpModel()
model.maximize(model.new_bool_var("x"))
ortools.solve(model, seed=0)
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
except KeyboardInterrupt:
    print("heard")
"""


def market_split() -> Any:
    """Halve five sums at once as nearly as can be: hours of work for CP-SAT."""
    model = ortools.cp_model_for("test").CpModel()
    weights = np.random.default_rng(0).integers(0, 100, (5, 40))
    sides = [model.new_bool_var("") for _ in range(40)]
    gaps = [model.new_int_var(0, 10_000, "") for _ in weights]
    for row, gap in zip(weights.tolist(), gaps, strict=True):
        split = sum(w * side for w, side in zip(row, sides, strict=True)) - sum(row) // 2
        model.add(split <= gap)
        model.add(-split <= gap)
    model.minimize(sum(gaps))
    return model


def interrupt_after(seconds: float) -> None:
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_ctrl_c_stops_a_search_and_keeps_what_it_found() -> None:
    start = time.perf_counter()
    interrupt_after(1.0)
    solved = ortools.solve(market_split(), seed=0, seconds=60)
    assert time.perf_counter() - start < 10
    assert solved.is_interrupted
    assert solved.solver.status_name(solved.status) == "FEASIBLE"
    assert solved.solver.objective_value >= solved.solver.best_objective_bound


def test_ctrl_c_after_a_search_is_still_pythons() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=60
    )
    assert (run.stdout.strip(), run.returncode) == ("heard", 0)


def test_the_time_limit_holds() -> None:
    start = time.perf_counter()
    solved = ortools.solve(market_split(), seed=0, seconds=0.5)
    assert time.perf_counter() - start < 5
    assert not solved.is_interrupted
    assert solved.solver.status_name(solved.status) in ("FEASIBLE", "UNKNOWN")


def test_what_a_search_raises_reaches_the_caller() -> None:
    with pytest.raises((TypeError, AttributeError)):
        ortools.solve("no model", seed=0)


def test_without_ortools_it_says_who_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ortools.is_installed()
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    assert not ortools.is_installed()
    with pytest.raises(MissingExtra, match=r"^robustness needs ortools; .*'qubonn\[exact\]'"):
        ortools.cp_model_for("robustness")
