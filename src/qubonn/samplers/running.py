"""One run of an annealer: anneal, descend, search; with a time limit, as much of each as fits.

Annealer, packed QUBO, clock, seed -> replicas at their last states.
"""

import time
from math import inf
from typing import Any

import numpy as np

from qubonn.checks import BitMatrix
from qubonn.samplers.polishing import TabuSearch
from qubonn.samplers.replicas import PackedQubo, Replicas, random_states
from qubonn.samplers.temperatures import FEWER, LARGE, Cooling, chosen_temperatures
from qubonn.stopping import Stop, Watch

REPLICAS, SWEEPS = 1000, 1000  # without a time limit
POLISHED, PROPOSALS_PER_STEP = 16, 50  # states that are then polished; a tenth of the time
# with a time limit
LEAST_SWEEPS = 20  # where fewer would fit, fewer replicas are annealed
LONG = 5000  # sweeps from which more replicas help more than longer anneals
FEWEST, MOST = 32, 1000  # replicas
SCOUTED = 25  # sweeps from which annealing and tabu search are compared first; hot ones are slow
COOLER = 0.4  # times the default hottest temperature: long anneals lose time where it is hot
FINAL_SWEEPS = 3  # at the hottest temperature take as long as the descent
COMPILING = 0.5  # seconds that nothing but the compiler takes
SHARES = 0.1, 0.05, 0.05  # of the time: the scouts of both, and tabu search at the end


class Run:
    """One call of ``annealer.sample``."""

    def __init__(
        self, annealer: Any, problem: PackedQubo, watch: Watch, seed: int, initial: Any
    ) -> None:
        self.annealer, self.problem, self.watch, self.seed = annealer, problem, watch, seed
        self.initial = initial
        if watch.time_limit is not None:
            self._compile()
        self.ends = chosen_temperatures(problem, annealer.hottest, annealer.coldest)
        given = REPLICAS if initial is None else len(np.atleast_2d(initial))
        self.row_count = annealer.replica_count or given
        self.is_polishing = annealer.is_polishing and problem.qubo.variable_count > 0
        self.replicas = Replicas(problem, random_states(problem.qubo, 0, seed), seed)

    def sample(self) -> Stop | None:
        """Leave the states in `replicas`; return why the run stopped early."""
        try:
            return self._whole() if self.watch.time_limit is None else self._timed()
        except KeyboardInterrupt:
            if not self.replicas.count:
                raise  # nothing to return yet
            return Stop.INTERRUPTED

    def _whole(self, end: float = inf) -> Stop | None:
        """Do all the sweeps."""
        sweep_count = self.annealer.sweep_count or SWEEPS
        stop = self._anneal(self.row_count, sweep_count, end)
        if self.is_polishing:
            self.replicas.descend()
            if stop is None:
                chosen = np.argsort(self.replicas.energies, kind="stable")[:POLISHED]
                states = self.replicas.states()[chosen]
                step_count = self.row_count * sweep_count // PROPOSALS_PER_STEP
                self._keep(TabuSearch(self.problem, self.seed).improved(states, step_count))
        return stop

    def _anneal(self, count: int, sweep_count: int | None, end: float) -> Stop | None:
        self.replicas = Replicas.start(self.problem, count, self.seed, self.initial)
        repeat = self.annealer.sweeps_per_temperature
        cooling = Cooling(self.ends, sweep_count, end=end, repeat=repeat)
        stop: Stop | None = self.annealer.cool(self.replicas, cooling, self.watch, self.seed)
        return Stop.TIME_LIMIT if stop is None and cooling.plan is None else stop

    # ---- with a time limit ----

    def _timed(self) -> Stop | None:
        """Measure two sweeps of a few replicas, then choose what fits the time."""
        seconds = self._seconds_a_sweep()  # of one replica
        limit, sweep_count = self.watch.time_limit or inf, self.annealer.sweep_count
        room = 0.85 * self.watch.seconds_left / seconds
        if sweep_count is not None and self.row_count * sweep_count < 0.9 * room:
            return self._whole(self.watch.start + limit)
        if self.annealer.hottest is None:
            self.ends = max(COOLER * self.ends[0], self.ends[1]), self.ends[1]
        count = self._replica_count(room)
        end = (
            self.watch.start
            + 0.97 * limit
            - FINAL_SWEEPS * count * seconds
            - self._evaluation(count)
        )
        if self.is_polishing and self.initial is None and room / count > SCOUTED:
            return self._scouted(count, end)
        stop = self._anneal(count, sweep_count, end)
        self.replicas.descend()
        return stop

    def _scouted(self, count: int, end: float) -> Stop:
        """Try annealing and tabu search for a short time, then go on with the better one."""
        left, search = end - time.perf_counter(), TabuSearch(self.problem, self.seed)
        start = end - left
        stop = self._anneal(count, None, start + SHARES[0] * left)
        self.replicas.descend()
        if stop is not Stop.TIME_LIMIT:
            return stop or Stop.FINISHED
        found = random_states(self.problem.qubo, 4 * self.problem.thread_count, self.seed)
        found, stop = search.improved_until(found, start + sum(SHARES[:2]) * left, self.watch)
        if stop is None and self.problem.qubo.energy(found).min() >= self.replicas.energies.min():
            stop = self._anneal(count, self.annealer.sweep_count, end - SHARES[2] * left)
            self.replicas.descend()
            found = self._best(len(found))
            stop = None if stop is Stop.TIME_LIMIT else stop
        if stop is None:
            found, stop = search.improved_until(found, end, self.watch)
        self._keep(found)
        return stop or Stop.TIME_LIMIT

    def _compile(self) -> None:
        """Compile the kernels, once per machine; the clock starts afterwards."""
        start, few = time.perf_counter(), self._least
        state = np.zeros((1, self.problem.qubo.variable_count), dtype=np.int8)
        for lanes in sorted({64, self.problem.lanes_for(few)}):
            Replicas(self.problem, state, self.seed, lanes).advance(np.zeros(0))
        if self.annealer.is_polishing and state.size:
            TabuSearch(self.problem, self.seed).improved(state, 0)
        if (seconds := time.perf_counter() - start) > COMPILING:
            self.watch.start += seconds

    def _seconds_a_sweep(self) -> float:
        """Return the seconds of a sweep of one replica at the hottest temperature."""
        count = self._least
        pilot = Replicas(self.problem, random_states(self.problem.qubo, count, self.seed), 0)
        start = time.perf_counter()
        pilot.advance(np.full(2, self.ends[0]))
        return max(time.perf_counter() - start, 1e-7) / (2 * count)

    @property
    def _least(self) -> int:
        """As many replicas as the kernels anneal at once; fewer take as long."""
        is_large = self.problem.qubo.variable_count >= LARGE
        return (FEWER if is_large else FEWEST) * self.problem.thread_count

    def _replica_count(self, room: float) -> int:
        """Return how many replicas to anneal if `room` sweeps of one fit the time.

        At least as many as the kernels anneal at once, also where fewer rows are asked for.
        """
        most = int(max(room / LEAST_SWEEPS, self._least))
        if self.annealer.replica_count is None and self.initial is None:
            block = self._least
            self.row_count = int(min(max(room / LONG // block * block, block), MOST, most))
        if self.initial is not None:
            return self.row_count
        return min(max(self.row_count, self._least), most)

    def _evaluation(self, count: int) -> float:
        """Return the seconds that the exact energies of `count` replicas take."""
        if self.problem.is_exact:
            return 0.0
        states = random_states(self.problem.qubo, min(count, 4), self.seed)
        start = time.perf_counter()
        self.problem.qubo.energy(states)
        return (time.perf_counter() - start) * count / len(states)

    def _best(self, count: int) -> BitMatrix:
        order = np.argsort(self.replicas.energies, kind="stable")
        return self.replicas.states()[np.resize(order[:count], count)]

    def _keep(self, states: BitMatrix) -> None:
        """Let states replace the worst replicas where they are better."""
        energies = self.problem.qubo.energy(states)
        known = self.replicas.exact_energies()
        for replica, number in zip(np.argsort(-known), np.argsort(energies), strict=False):
            if energies[number] < known[replica]:
                self.replicas.replace(int(replica), states[number])
        self.replicas.advance(np.zeros(0))  # brings energies up to date
