"""DimodSolver: any dimod sampler as one of ours.

Qubo -> dimod model -> their sample set -> Samples.
"""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qubonn.checks import require_count
from qubonn.errors import RangeError
from qubonn.quadratic import Qubo, Samples
from qubonn.stopping import Report, Stop, Watch, require_seed


@dataclass(frozen=True)
class DimodSolver:
    """Hand the QUBO to a dimod sampler and read its answer.

    `parameters` go to every call of ``sampler.sample``. Seed, time limit and target energy are
    passed on under the names that the sampler knows: `seed`; `time_limit`, `timeout` (tabu) or an
    `interrupt_function` that is asked between reads; `energy_threshold`. Of two time limits the
    shorter one holds. Whatever it does not know is not obeyed: a QPU takes no seed. OpenJij gives
    identical reads for a seed, so it is called once for each read.

    Ctrl-C waits for the sampler to stop, which may take until its end where it knows no
    `interrupt_function`; a second Ctrl-C does not wait. A dimod sampler tells no energies on its
    way, so `report` is called at the end, and after each read of OpenJij.
    """

    sampler: Any
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if "seed" in self.parameters:
            raise RangeError(
                "parameters must not hold a seed; give it to each run: sample(qubo, seed=...)"
            )

    def sample(
        self,
        qubo: Qubo,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
    ) -> Samples:
        """Return what the dimod sampler found, with energies computed anew from the QUBO."""
        require_seed(seed)
        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        if qubo.variable_count == 0:  # many dimod samplers fail on an empty model
            return Samples.of(qubo, np.zeros((1, 0), dtype=np.int8))
        call = _Call(self.sampler, dict(self.parameters), qubo, watch)
        run = call.one_by_one if _repeats_itself(self.sampler) else call.at_once
        with call.noting_ctrl_c():
            states, info = run(seed)
        stop = call.stop(qubo.energy(states).min())
        return Samples.of(qubo, states, stop=stop, info={"seconds": watch.seconds, **info})


class _Call:
    """One run of a dimod sampler under a watch."""

    def __init__(self, sampler: Any, parameters: dict[str, Any], qubo: Qubo, watch: Watch) -> None:
        self.sampler, self.parameters, self.qubo, self.watch = sampler, parameters, qubo, watch
        self.known = set(getattr(sampler, "parameters", {}) or {})
        self.is_interrupted = False
        self.is_complete = False  # as far as we know
        self.users_function: Any = None

    @contextmanager
    def noting_ctrl_c(self) -> Iterator[None]:
        """Note the first Ctrl-C instead of raising it: compiled samplers swallow exceptions."""
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            yield  # only the main thread gets signals; somebody else looks after them
            return

        def note(number: int, frame: Any) -> None:
            if self.is_interrupted:
                before(number, frame)
            self.is_interrupted = True

        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def at_once(self, seed: int) -> tuple[Any, Mapping[str, Any]]:
        """Ask for all reads in one call."""
        found = self.sampler.sample(_model(self.qubo), **self._arguments(seed))
        states = _states(found, self.qubo)  # some samplers only start to work when they are read
        self.watch.verdict(1.0, self.qubo.energy(states).min())
        return states, dict(found.info)

    def one_by_one(self, seed: int) -> tuple[Any, Mapping[str, Any]]:
        """Ask for the reads in calls of their own, each with its own seed."""
        arguments = self._arguments(seed)
        read_count = require_count("num_reads", arguments.pop("num_reads", 1))
        seeds = np.random.SeedSequence(seed).generate_state(read_count)
        model, rows, best = _model(self.qubo), [], float("inf")
        for read, read_seed in enumerate(seeds.tolist(), start=1):
            arguments.update(num_reads=1, seed=read_seed)
            found = self.sampler.sample(model, **arguments)
            rows.append(_states(found, self.qubo)[:1])
            best = min(best, self.qubo.energy(rows[-1]).min().item())
            verdict = self.watch.verdict(read / read_count, best)
            self.is_interrupted |= verdict is Stop.INTERRUPTED
            if verdict is not None or self.is_interrupted:
                break
        self.is_complete = len(rows) == read_count
        return np.concatenate(rows), {}

    def stop(self, best_energy: float) -> Stop:
        """Why the run ended."""
        if self.is_interrupted:
            return Stop.INTERRUPTED
        if self.watch.is_reached_by(best_energy):
            return Stop.TARGET
        is_late = self.watch.seconds_left <= 0 and not self.is_complete
        return Stop.TIME_LIMIT if is_late else Stop.FINISHED

    def _arguments(self, seed: int) -> dict[str, Any]:
        arguments = dict(self.parameters)
        if "seed" in self.known:
            arguments["seed"] = seed % 2**31
        if "energy_threshold" in self.known and self.watch.target_energy is not None:
            # tabu compares with energies that lack the offset
            threshold = self.watch.target_energy - self.qubo.offset
            arguments.setdefault("energy_threshold", threshold)
        if "interrupt_function" in self.known:
            self.users_function = arguments.get("interrupt_function")
            arguments["interrupt_function"] = self._should_stop
        if self.watch.time_limit is not None:
            self._limit_time(arguments, self.watch.time_limit)
        return arguments

    def _limit_time(self, arguments: dict[str, Any], limit: float) -> None:
        """Lower the sampler's own limits to ours."""
        if "time_limit" in self.known:
            arguments["time_limit"] = _shorter(arguments.get("time_limit"), limit)
        if "timeout" in self.known:  # milliseconds for each read; a negative one is none
            reads = max(int(arguments.get("num_reads") or 1), 1)
            share = max(int(1000 * limit / reads), 1)
            arguments["timeout"] = _shorter(arguments.get("timeout"), share)

    def _should_stop(self) -> bool:
        if self.users_function is not None and self.users_function():
            self.is_interrupted = True
        return self.is_interrupted or self.watch.seconds_left <= 0


def _shorter(given: Any, ours: Any) -> Any:
    return ours if given is None or given < 0 else min(given, ours)


def _model(qubo: Qubo) -> Any:
    """The dimod model with plain numbers as variables, which all samplers take."""
    import dimod

    return dimod.BinaryQuadraticModel.from_numpy_vectors(
        qubo.linear.astype(np.float64),
        (qubo.rows, qubo.columns, qubo.couplings.astype(np.float64)),
        float(qubo.offset),
        dimod.BINARY,
    )


def _states(found: Any, qubo: Qubo) -> Any:
    """Rows of bits in variable order, each as often as it occurred."""
    binary = found.change_vartype("BINARY", inplace=False)
    if not len(binary):
        raise RangeError("the dimod sampler returned no states; ask it for at least one read")
    column_of = {variable: column for column, variable in enumerate(binary.variables)}
    columns = [column_of[variable] for variable in range(qubo.variable_count)]
    states = np.asarray(binary.record.sample)[:, columns]
    return np.repeat(states, binary.record.num_occurrences, axis=0).astype(np.int8)


def _repeats_itself(sampler: Any) -> bool:
    return any(kind.__module__.partition(".")[0] == "openjij" for kind in type(sampler).__mro__)
