"""Tabu search that starts from states of an annealer, on all cores.

Packed QUBO, states -> states of at most the same energy.
"""

import time
from importlib import import_module
from math import inf
from typing import Any

import numpy as np

from qubonn.checks import BitMatrix
from qubonn.samplers.replicas import PackedQubo
from qubonn.stopping import Stop, Watch

TENURES = (3, 4, 6, 10, 16)  # one after the other: short ones suit penalties, long ones plain costs
ROUND_SECONDS = 0.1
PATIENCE = 6  # rounds without a better state after which a search starts elsewhere
KICK = 0.005  # the share of variables that are flipped for that


class TabuSearch:
    """Tabu searches of a few states side by side."""

    def __init__(self, problem: PackedQubo, seed: int) -> None:
        self.problem, self.kernels = problem, import_module("qubonn.samplers._tabu_kernels")
        self.lists = self.kernels.narrowed(problem.lists)
        self.generator = np.random.default_rng(np.random.SeedSequence(seed).spawn(4)[3])

    def improved(self, states: BitMatrix, step_count: int) -> BitMatrix:
        """Return each state after one search of `step_count` steps."""
        found = np.array(states, dtype=np.int8, order="C")
        self._search(found, step_count)
        return found

    def improved_until(
        self, states: BitMatrix, end: float, watch: Watch
    ) -> tuple[BitMatrix, Stop | None]:
        """Search from the states again and again until a time of `time.perf_counter`.

        A search that finds nothing better for a while goes on from the best state, some of whose
        variables are flipped. Returns the best state of each search, and why the watch stopped it.
        """
        best = np.array(states, dtype=np.int8, order="C")
        now, lowest = best.copy(), self._energies(best)
        energies, rounds = lowest.copy(), np.zeros(len(best), dtype=np.int64)
        step_count, stop = 1000, None
        while (left := end - time.perf_counter()) > 0 and stop is None:
            start = time.perf_counter()
            stop = self._round(now, step_count)
            seconds = max(time.perf_counter() - start, 1e-6)
            found = self._energies(now)
            rounds = np.where(found < energies, 0, rounds + 1)
            is_better = found < lowest
            best[is_better], lowest[is_better] = now[is_better], found[is_better]
            energies = found
            for number in np.flatnonzero(rounds >= PATIENCE):
                now[number] = self._kicked(best[np.argmin(lowest)])
                rounds[number], energies[number] = 0, inf
            step_count = int(max(step_count * min(min(ROUND_SECONDS, left) / seconds, 4), 1))
            part = min(watch.seconds / (watch.time_limit or inf), 0.999)
            stop = stop or watch.verdict(part, float(lowest.min()))
        return best, stop

    def _round(self, states: BitMatrix, step_count: int) -> Stop | None:
        try:
            self._search(states, step_count)
        except KeyboardInterrupt:
            return Stop.INTERRUPTED
        return None

    def _search(self, states: BitMatrix, step_count: int) -> None:
        seeds = self.generator.integers(0, 2**63, len(states), dtype=np.uint64)
        tenures = self.generator.choice(TENURES, len(states)).tolist()
        count = states.shape[1]

        def work(first: int, end: int, thread: int) -> None:
            for number in range(first, end):
                tenure = min(tenures[number], max(count // 4, 1))
                self.kernels.search(states[number], self.lists, step_count, tenure, seeds[number])

        self.problem.share(work, len(states), self.problem.thread_count)

    def _energies(self, states: BitMatrix) -> Any:
        return np.asarray(self.problem.qubo.energy(states), dtype=np.float64)

    def _kicked(self, state: Any) -> Any:
        flips = self.generator.random(len(state)) < KICK
        return state ^ flips.astype(np.int8)
