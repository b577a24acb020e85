"""Cool faster where the time is short, instead of stopping while still hot.

Engine, problem, seconds -> the number of members and of sweeps that fit.
"""

import time
from dataclasses import dataclass, replace
from math import ceil

from qubonn.engines import ForwardAnnealing, GrowingBatches
from qubonn.formulation import TrainingProblem
from qubonn.stopping import Progress

PLANNED = 0.8  # of the time; the rest is for what was not foreseen
PILOT_SHARE = 0.1  # of the time, at most, to measure a sweep
PILOT_BATCHES = 10  # so that the time to show them counts
FEWEST_SWEEPS = 15  # fewer members rather than fewer sweeps


@dataclass(frozen=True)
class Pace:
    """How many seconds a training takes: to set up, and for each sweep."""

    setting_up: float
    per_sweep: float

    def sweeps_in(self, seconds: float) -> int:
        """Return the number of sweeps that fit, at least one.

        >>> Pace(1, 0.1).sweeps_in(3), Pace(1, 0.1).sweeps_in(0.5)
        (20, 1)
        """
        return max(1, int((seconds - self.setting_up) / self.per_sweep + 1e-9))

    def plan(self, seconds: float, count: int, jobs: int, most_sweeps: int) -> tuple[int, int]:
        """Return the number of members to train, and of sweeps for each.

        >>> Pace(0, 0.1).plan(100, count=10, jobs=1, most_sweeps=40)  # 8 seconds each
        (10, 40)
        >>> Pace(0, 0.1).plan(30, count=10, jobs=1, most_sweeps=40)
        (10, 24)
        >>> Pace(0, 0.1).plan(5, count=10, jobs=2, most_sweeps=40)
        (4, 20)
        >>> Pace(0, 0.1).plan(5, count=10, jobs=1, most_sweeps=5)
        (8, 5)
        """
        waves, fewest = ceil(count / jobs), min(FEWEST_SWEEPS, most_sweeps)
        if self.sweeps_in(PLANNED * seconds / waves) < fewest:
            least = self.setting_up + fewest * self.per_sweep
            waves = max(1, int(PLANNED * seconds / least + 1e-9))
        sweeps = min(self.sweeps_in(PLANNED * seconds / waves), most_sweeps)
        return min(count, waves * jobs), sweeps


def measured_pace(engine: ForwardAnnealing, problem: TrainingProblem, seconds: float) -> Pace:
    """Return the pace of an engine on a problem, found in at most about `seconds`.

    The last sweeps, which see all examples, are part of the setting up.
    """
    steps: list[Progress] = []
    pilot, batch, share = _pilot(engine, problem)
    start = time.perf_counter()
    limit = max(PILOT_SHARE * seconds, 1e-3)
    info = pilot.solve(batch, time_limit=limit, report=steps.append).info
    spent = time.perf_counter() - start
    first, last = steps[0], steps[-1]
    done = info["sweeps"] * (1 - first.part / last.part)  # between the two reports
    per_sweep = (last.seconds - first.seconds) / done if done else spent / max(info["sweeps"], 1)
    setting_up = max(spent - info["sweeps"] * per_sweep, 0) + engine.quench_sweeps * per_sweep
    return Pace(setting_up / share, max(per_sweep, 1e-9))


def _pilot(
    engine: ForwardAnnealing, problem: TrainingProblem
) -> tuple[ForwardAnnealing, TrainingProblem, float]:
    """Return an engine of few sweeps, the examples that a usual sweep sees, and their share."""
    if engine.batches is None:
        return replace(engine, sweep_count=1), problem, 1.0
    count = problem.example_count
    size = round(float(engine.batches.sizes(engine.sweep_count, count).mean()))
    batch = replace(problem, inputs=problem.input_spins[:size], outputs=problem.output_spins[:size])
    pilot = replace(
        engine, sweep_count=PILOT_BATCHES, batches=GrowingBatches(first=size, last=size)
    )
    return pilot, batch, size / count


def compile_kernels(engine: ForwardAnnealing, problem: TrainingProblem) -> None:
    """Have the kernels compiled: once on a machine, some seconds; later no time at all.

    A few examples do; topology and strengths decide which kernels there are.
    """
    few = replace(problem, inputs=problem.input_spins[:2], outputs=problem.output_spins[:2])
    replace(engine, sweep_count=1).solve(few, time_limit=1e-3)
