"""Tune the two temperatures of an anneal by Nelder-Mead, once for many problems or in each run.

Qubo, annealer -> Tuning.  Paper, section "Experimental set-up".
"""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from math import exp
from typing import Any

import numpy as np

from qubonn.checks import BitVector, require_count
from qubonn.errors import FileFormatError
from qubonn.quadratic import Qubo, Samples
from qubonn.quadratic.ising import as_qubo
from qubonn.samplers.annealing import SimulatedAnnealing
from qubonn.samplers.running import REPLICAS, SWEEPS
from qubonn.samplers.temperatures import require_temperatures
from qubonn.stopping import Report, Stop, Watch, require_seed
from qubonn.storage import read_limited, write_whole

Objective = Callable[[Samples], float]


def mean_of_best_percent(samples: Samples) -> float:
    """Mean energy of the best hundredth of the replicas, at least five: not one lucky replica."""
    count = max(len(samples) // 100, 5)
    return float(np.mean(samples.energies[:count]))


def mean_energy(samples: Samples) -> float:
    """Mean energy of all replicas: less noise than of the best, so the search gets further."""
    return float(np.mean(samples.energies))


@dataclass(frozen=True)
class Trial:
    """One anneal of a tuning: temperatures, objective, lowest energy, whether it ran to its end."""

    hottest: float
    coldest: float
    value: float
    best_energy: float
    is_complete: bool


@dataclass(frozen=True)
class Tuning:
    """The temperatures that Nelder-Mead found, and all its trials; use it for similar problems."""

    hottest: float
    coldest: float
    objective: str
    evaluation_count: int  # the budget; fewer trials mean that the search was stopped
    replica_count: int  # of each anneal
    sweep_count: int
    seed: int
    trials: tuple[Trial, ...]

    def apply(self, annealer: SimulatedAnnealing) -> SimulatedAnnealing:
        """Return the annealer with these temperatures."""
        return replace(annealer, hottest=self.hottest, coldest=self.coldest)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tuning as JSON."""
        text = json.dumps({"format": "qubonn-tuning", **asdict(self)}, indent=1)
        write_whole(path, text.encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Tuning":
        """Read a tuning written by `save`."""
        data = read_limited(path)
        try:
            record = json.loads(data)
            if record.pop("format") != "qubonn-tuning":
                raise ValueError
            trials = tuple(Trial(**trial) for trial in record.pop("trials"))
            tuning = cls(**record, trials=trials)
            require_temperatures(tuning.hottest, tuning.coldest)
        except Exception as error:  # any JSON can have any shape
            raise FileFormatError(
                f"{os.fspath(path)} must be a tuning written by Tuning.save; it cannot be read"
            ) from error
        return tuning


def tune(
    qubo: Qubo,
    annealer: SimulatedAnnealing | None = None,
    *,
    evaluation_count: int = 30,
    objective: Objective = mean_of_best_percent,
    seed: int = 0,
    time_limit: float | None = None,
    target_energy: float | None = None,
    report: Report | None = None,
) -> Tuning:
    """Find temperatures that make `objective` of an anneal low, in `evaluation_count` anneals.

    Starts from the annealer's temperatures, or those computed from the QUBO. Each anneal has its
    own seed. A time limit or Ctrl-C ends the search with the best so far.
    """
    watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
    search = _Search(qubo, annealer or SimulatedAnnealing(), evaluation_count, objective, seed)
    search.run(watch)
    return search.tuning()


@dataclass(frozen=True, kw_only=True)
class TunedAnnealing:
    """A sampler that tunes its temperatures in every run and keeps the best state of all anneals.

    This is the other reading of the paper's "this entire annealing procedure was independently
    repeated for training each BNN". Returns the states of the best anneal and the best state of
    every other one; ``samples.info["tuning"]`` is the `Tuning`.
    """

    annealer: SimulatedAnnealing = field(default_factory=SimulatedAnnealing)
    evaluation_count: int = 30
    objective: Objective = mean_of_best_percent

    def __post_init__(self) -> None:
        require_count("evaluation_count", self.evaluation_count)

    def sample(
        self,
        qubo: Qubo,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
    ) -> Samples:
        """Tune and anneal; stops at once when an anneal reaches the target."""
        qubo = as_qubo(qubo)
        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        search = _Search(qubo, self.annealer, self.evaluation_count, self.objective, seed)
        stop = search.run(watch)
        states = np.concatenate([search.best.bits, *(row[None] for row in search.best_states)])
        info = {**search.best.info, "tuning": search.tuning(), "seconds": watch.seconds}
        return Samples.of(qubo, states, stop=stop, info=info)


class _Stopped(Exception):
    """Leaves scipy's loop when the run must stop."""

    def __init__(self, stop: Stop) -> None:
        self.stop = stop


class _Search:
    """The anneals of one tuning and what they found."""

    def __init__(
        self, qubo: Qubo, annealer: SimulatedAnnealing, count: int, objective: Objective, seed: int
    ) -> None:
        # the sweeps are those of each anneal, also where time is limited
        self.annealer = replace(annealer, sweep_count=annealer.sweep_count or SWEEPS)
        self.qubo, self.objective = qubo, objective
        self.evaluation_count = require_count("evaluation_count", count)
        self.seed = require_seed(seed)
        self.seeds = np.random.SeedSequence(seed).generate_state(count).tolist()
        self.trials: list[Trial] = []
        self.best_states: list[BitVector] = []
        self.best: Samples

    def run(self, watch: Watch) -> Stop:
        """Run Nelder-Mead over the logarithms of both temperatures until the budget is spent."""
        from scipy.optimize import minimize

        start = np.log(self.annealer.temperatures_for(self.qubo))
        simplex = start + np.array([[0.0, 0.0], [0.7, 0.0], [0.0, -0.7]])  # a factor of two
        options: Any = {"initial_simplex": simplex, "maxfev": self.evaluation_count}
        options |= {"xatol": 0.0, "fatol": 0.0}
        try:
            minimize(self._anneal, start, (watch,), method="Nelder-Mead", options=options)
        except _Stopped as stopped:
            return stopped.stop
        except KeyboardInterrupt:
            if not self.trials:
                raise  # nothing to return yet
            return Stop.INTERRUPTED
        return Stop.FINISHED

    def tuning(self) -> Tuning:
        """The trial with the lowest objective, and all the others."""
        best = min(self.trials, key=lambda trial: trial.value)
        return Tuning(
            hottest=best.hottest,
            coldest=best.coldest,
            objective=getattr(self.objective, "__name__", type(self.objective).__name__),
            evaluation_count=self.evaluation_count,
            replica_count=self.annealer.replica_count or REPLICAS,
            sweep_count=self.annealer.sweep_count or SWEEPS,
            seed=self.seed,
            trials=tuple(self.trials),
        )

    def _anneal(self, logarithms: Any, watch: Watch) -> float:
        number = len(self.trials)
        if number == self.evaluation_count:
            raise _Stopped(Stop.FINISHED)
        hottest, coldest = (exp(value) for value in sorted(logarithms, reverse=True))
        samples = replace(self.annealer, hottest=hottest, coldest=coldest).sample(
            self.qubo,
            seed=self.seeds[number],
            time_limit=None if watch.time_limit is None else max(watch.seconds_left, 1e-3),
            target_energy=watch.target_energy,
        )
        value, energy = self.objective(samples), float(samples.best_energy)
        if all(value < trial.value for trial in self.trials):
            self.best = samples
        self.best_states.append(samples.best)
        is_complete = samples.stop is Stop.FINISHED
        self.trials.append(Trial(hottest, coldest, value, energy, is_complete))
        lowest = min(trial.best_energy for trial in self.trials)
        verdict = watch.verdict((number + 1) / self.evaluation_count, lowest)
        if samples.stop is Stop.INTERRUPTED:
            verdict = Stop.INTERRUPTED
        if verdict is not None:
            raise _Stopped(verdict)
        return value
