"""Shared by the benchmarks: problems on the letters, timing, rows of Markdown tables."""

import time
from collections.abc import Callable
from typing import Any

import qubonn as qn


def problem_of(number: int, margin_strength: float = 0) -> qn.TrainingProblem:
    letters = qn.datasets.letters(seed=0)
    return qn.TrainingProblem(
        qn.paper.topology(number),
        letters.train_inputs,
        letters.train_outputs,
        margin_strength=margin_strength,
    )


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def show(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(*names: str) -> None:
    show(*names)
    show(*("---" for _ in names))
