"""The native engines on the paper's networks: time to solution, margins, letters.

    python benchmarks/engines.py [solution] [margins] [letters] [training]

Without arguments: all tables, in about ten minutes on two cores. Data: the letters, seed 0.
solution  time to H = 0 with 99 % probability, compared with CP-SAT; without compilation
margins   largest S2 of a feasible network
letters   200 runs of networks 5, 10 and 12: test accuracy of single networks and committees
training  200 runs of the 16 feasible networks: training accuracy
"""

import sys
import time
from functools import partial
from math import log
from typing import Any

import numpy as np

import qubonn as qn
from printing import head, problem_of, show, timed
from qubonn.engines.lifted import LiftedRun

FEASIBLE = [number for number in range(18) if number not in (8, 9)]


def main() -> None:
    tables = {
        "solution": solution,
        "margins": margins,
        "letters": letters_table,
        "training": training,
    }
    chosen = sys.argv[1:] or list(tables)
    unknown = set(chosen) - set(tables)
    if unknown:
        sys.exit(f"tables are {', '.join(tables)}; got {', '.join(unknown)}")
    for name in chosen:
        tables[name]()
        print(flush=True)


# ---- time to solution ----


def solution() -> None:
    print("### Milliseconds to H = 0 with 99 % probability, two threads\n")
    print(
        "LiftedAnnealing: 1,024 replicas side by side, best of three sweep counts; a replica is a"
    )
    print(
        "try, and costs the time of the run divided by 1,024: work, not waiting time. Waiting time:"
    )
    print("a new run of 64 replicas until one is at H = 0, 95 % quantile of 40 seeds, temperatures")
    print("already measured. CP-SAT: mean of ten seeds, building its model included.\n")
    head("network", "Lifted", "sweeps", "replicas at H = 0", "CP-SAT", "ratio", "waiting time")
    for number in FEASIBLE:
        problem = problem_of(number)
        milliseconds, sweeps, part = min(lifted_tts(problem, count) for count in (25, 50, 100))
        runs = [timed(partial(qn.CpSat().find_feasible, problem, seed=seed)) for seed in range(10)]
        exact = 1000 * float(np.mean([seconds for seconds, _ in runs]))
        show(
            number,
            f"{milliseconds:.3f}",
            sweeps,
            f"{100 * part:.0f} %",
            f"{exact:.1f}",
            f"{exact / milliseconds:.0f}x",
            f"{waiting(problem):.2f}",
        )


def lifted_tts(problem: qn.TrainingProblem, sweep_count: int) -> tuple[float, int, float]:
    engine = qn.LiftedAnnealing(replica_count=1024, sweep_count=sweep_count)
    tries = []
    for seed in range(5):
        run = LiftedRun(problem, engine, seed)
        temperatures = run.temperatures()
        start = time.perf_counter()
        run.sweep(temperatures)
        tries.append((time.perf_counter() - start, run.found(qn.Stop.FINISHED, _clock).energies))
    seconds = min(seconds for seconds, _ in tries[1:])  # the first may compile
    part = float(np.mean(np.concatenate([energies for _, energies in tries]) == 0))
    needed = 1.0 if part == 1 else max(log(0.01) / log(1 - part), 1.0)
    return 1000 * seconds / 1024 * needed, sweep_count, part


def waiting(problem: qn.TrainingProblem) -> float:
    """Milliseconds until a replica of a new run is at H = 0."""
    engine = qn.LiftedAnnealing(replica_count=64, sweep_count=100)
    temperatures = LiftedRun(problem, engine, 0).temperatures()
    times = []
    for seed in range(40):
        run = LiftedRun(problem, engine, seed)
        seconds, _ = timed(partial(sweep_to_zero, run, temperatures))
        times.append(1000 * seconds)
    return float(np.quantile(times[1:], 0.95))


def sweep_to_zero(run: LiftedRun, temperatures: Any) -> None:
    """Sweep until a replica is at H = 0, checked every ten sweeps."""
    for first in range(0, len(temperatures), 10):
        run.sweep(temperatures[first : first + 10])
        if run.best_energy() == 0:
            return
    raise AssertionError("no replica is at H = 0")


class _Clock:
    seconds = 0.0


_clock: Any = _Clock()


# ---- margins ----


def margins() -> None:
    print("### Largest S2 of a feasible network\n")
    print(
        "LiftedAnnealing, 256 replicas x 200 sweeps, seeds 0 to 19, until the known value is met.\n"
    )
    head("network", "margin strength", "largest S2", "seconds", "known")
    for number, strength, known in ((5, 0.1, 118), (10, 0.02, 150), (12, 0.02, 262)):
        problem = problem_of(number, strength)
        start, best = time.perf_counter(), 0
        for seed in range(20):
            result = qn.train(problem, qn.LiftedAnnealing(), seed=seed)
            found = [c.margins.s2 for c in result.certificates if c.is_feasible]
            best = max(best, *found) if found else best
            if best >= known:
                break
        show(number, strength, best, f"{time.perf_counter() - start:.2f}", known)


# ---- letters ----


def letters_table() -> None:
    print("### Letters, 200 runs: mean test accuracy\n")
    print(
        "The best feasible network of a run, and all feasible networks of a run voting. The paper:"
    )
    print("0.54 to 0.58 without margins, 0.714 (network 5) and 0.734 (network 10) at best.\n")
    head(
        "network", "margin strength", "runs feasible", "single", "committee", "members", "S1", "S2"
    )
    for number in (5, 10, 12):
        for strength in (0, 0.01, 0.02, 0.05, 0.1):
            show(number, strength, *letters_row(problem_of(number, strength)))


def letters_row(problem: qn.TrainingProblem) -> list[str]:
    data = qn.datasets.letters(seed=0)
    rows = []
    for seed in range(200):
        result = qn.train(problem, qn.LiftedAnnealing(), seed=seed)
        feasible = result.feasible_networks
        if not feasible:
            continue
        best, committee = feasible[0], qn.Committee(feasible)
        measured = best.margins(problem.input_spins)
        rows.append(
            (
                best.accuracy(data.test_inputs, data.test_outputs),
                committee.accuracy(data.test_inputs, data.test_outputs),
                len(committee),
                measured.s1,
                measured.s2,
            )
        )
    if not rows:
        return ["0", "", "", "", "", ""]
    single, together, members, s1, s2 = np.mean(rows, axis=0)
    return [
        str(len(rows)),
        f"{single:.3f}",
        f"{together:.3f}",
        f"{members:.0f}",
        f"{s1:.1f}",
        f"{s2:.1f}",
    ]


# ---- training ----


def training() -> None:
    print("### 200 runs of the 16 feasible networks: runs with training accuracy 1\n")
    head("network", "runs at training accuracy 1", "mean seconds a run")
    for number in FEASIBLE:
        problem = problem_of(number)
        seconds, right = 0.0, 0
        for seed in range(200):
            spent, found = timed(partial(qn.LiftedAnnealing().solve, problem, seed=seed))
            seconds += spent
            accuracy = found.network().accuracy(problem.input_spins, problem.output_spins)
            right += accuracy == 1
        show(number, f"{right} of 200", f"{seconds / 200:.3f}")


if __name__ == "__main__":
    main()
