"""The bridge to dimod in both directions: its samplers as ours, and ours as its samplers.

DimodSolver: Qubo -> dimod model -> sample set -> Samples.  AnnealingSampler, AsDimodSampler:
dimod model -> Qubo -> Samples -> sample set.  Imports dimod, so the package does not import this.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import dimod
import numpy as np

from qubonn.checks import require_count
from qubonn.errors import RangeError
from qubonn.quadratic import Qubo, Samples
from qubonn.quadratic.ising import as_qubo
from qubonn.samplers.annealing import SimulatedAnnealing
from qubonn.samplers.base import Sampler
from qubonn.stopping import Report, Stop, Watch, require_seed


@dataclass(frozen=True)
class DimodSolver:
    """Pass the QUBO to a dimod sampler and convert its sample set.

    `parameters` go to every call of ``sampler.sample``. Seed, time limit and target energy are
    passed on under the names that the sampler has: `seed`; `time_limit`, `timeout` (tabu) or an
    `interrupt_function` that is called between reads; `energy_threshold`. Of two time limits the
    shorter one holds. What a sampler has no name for is ignored: a QPU has no seed. OpenJij gives
    identical reads for a seed, so it is called once for each read.

    Ctrl-C waits for the sampler to stop, which may take until its end where it has no
    `interrupt_function`; a second Ctrl-C does not wait. A dimod sampler reports no energies while
    it runs, so `report` is called at the end, and after each read of OpenJij.
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
        qubo = as_qubo(qubo)
        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        if qubo.variable_count == 0:  # many dimod samplers fail on an empty model
            return Samples.of(qubo, np.zeros((1, 0), dtype=np.int8))
        call = _Call(self.sampler, dict(self.parameters), qubo, watch)
        modules = {kind.__module__.partition(".")[0] for kind in type(self.sampler).__mro__}
        run = call.one_by_one if "openjij" in modules else call.at_once
        with call.noting_ctrl_c():
            states, info = run(seed)
        stop = call.stop(qubo.energy(states).min())
        return Samples.of(qubo, states, stop=stop, info={"seconds": watch.seconds, **info})


class _Call:
    """One run of a dimod sampler under a watch."""

    def __init__(self, sampler: Any, parameters: dict[str, Any], qubo: Qubo, watch: Watch) -> None:
        self.sampler, self.parameters, self.qubo, self.watch = sampler, parameters, qubo, watch
        self.model = qubo.to_dimod(range(qubo.variable_count))  # labels that any sampler accepts
        self.known = set(getattr(sampler, "parameters", {}) or {})
        self.is_interrupted = False
        self.is_complete = False  # as far as we know
        self.users_function: Any = None

    @contextmanager
    def noting_ctrl_c(self) -> Iterator[None]:
        """Note the first Ctrl-C instead of raising it: compiled samplers swallow exceptions."""
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            yield  # only the main thread gets signals
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
        """Take all reads in one call."""
        found = self.sampler.sample(self.model, **self._arguments(seed))
        states = _states(found, self.qubo)  # some samplers start to work only when they are read
        self.watch.verdict(1.0, self.qubo.energy(states).min())
        return states, dict(found.info)

    def one_by_one(self, seed: int) -> tuple[Any, Mapping[str, Any]]:
        """Take each read in a call of its own, with its own seed."""
        arguments = self._arguments(seed)
        read_count = require_count("num_reads", arguments.pop("num_reads", 1))
        seeds = np.random.SeedSequence(seed).generate_state(read_count)
        rows, best = [], float("inf")
        for read, read_seed in enumerate(seeds.tolist(), start=1):
            arguments.update(num_reads=1, seed=read_seed)
            found = self.sampler.sample(self.model, **arguments)
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
        limit = self.watch.time_limit
        if limit is not None and "time_limit" in self.known:
            arguments["time_limit"] = _shorter(arguments.get("time_limit"), limit)
        if limit is not None and "timeout" in self.known:  # milliseconds for each read
            reads = max(int(arguments.get("num_reads") or 1), 1)
            share = max(int(1000 * limit / reads), 1)
            arguments["timeout"] = _shorter(arguments.get("timeout"), share)
        return arguments

    def _should_stop(self) -> bool:
        if self.users_function is not None and self.users_function():
            self.is_interrupted = True
        return self.is_interrupted or self.watch.seconds_left <= 0


def _shorter(given: Any, ours: Any) -> Any:
    """Return the shorter of two limits; the sampler's own may be None or negative, for none."""
    return ours if given is None or given < 0 else min(given, ours)


def _states(found: Any, qubo: Qubo) -> Any:
    """Rows of bits in variable order, each as often as it occurred."""
    binary = found.change_vartype("BINARY", inplace=False)
    if not len(binary):
        raise RangeError("the dimod sampler returned no states; request at least one read")
    states = binary.samples(sorted_by=None)[:, range(qubo.variable_count)]
    return np.repeat(states, binary.record.num_occurrences, axis=0).astype(np.int8)


class AsDimodSampler(dimod.Sampler):  # type: ignore[misc]
    """Any sampler of ours behind dimod's interface.

    >>> from qubonn.samplers import Exhaustive
    >>> model = dimod.BinaryQuadraticModel({"a": -1, "b": 2}, {}, 0, "BINARY")
    >>> AsDimodSampler(Exhaustive()).sample(model).first.sample
    {'a': np.int8(1), 'b': np.int8(0)}
    """

    properties: dict[str, Any] = {}  # noqa: RUF012
    parameters: dict[str, Any] = {"seed": [], "time_limit": []}  # noqa: RUF012

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler

    def sample(
        self,
        bqm: dimod.BinaryQuadraticModel,
        *,
        seed: int | None = None,
        time_limit: float | None = None,
        **unknown: Any,
    ) -> dimod.SampleSet:
        """Sample a model; without `seed` one is drawn and noted in ``info``."""
        self.remove_unknown_kwargs(**unknown)
        return _sample_set(self.sampler, bqm, seed, time_limit=time_limit)


class AnnealingSampler(dimod.Sampler):  # type: ignore[misc]
    """Simulated annealing behind dimod's interface, with the parameter names of dwave-samplers.

    >>> model = dimod.BinaryQuadraticModel({"a": -1, "b": 2}, {}, 0, "BINARY")
    >>> AnnealingSampler().sample(model, num_reads=3, num_sweeps=10, seed=1).first.sample
    {'a': np.int8(1), 'b': np.int8(0)}
    """

    properties: dict[str, Any] = {"beta_schedule_options": ("geometric",)}  # noqa: RUF012
    parameters: dict[str, Any] = {  # noqa: RUF012
        "num_reads": [],
        "num_sweeps": [],
        "beta_range": [],
        "beta_schedule_type": ["beta_schedule_options"],
        "seed": [],
        "initial_states": [],
        "interrupt_function": [],
        "time_limit": [],
    }

    def sample(
        self,
        bqm: dimod.BinaryQuadraticModel,
        *,
        num_reads: int | None = None,
        num_sweeps: int | None = None,
        beta_range: tuple[float, float] | None = None,
        beta_schedule_type: str = "geometric",
        seed: int | None = None,
        initial_states: Any = None,
        interrupt_function: Callable[[], bool] | None = None,
        time_limit: float | None = None,
        **unknown: Any,
    ) -> dimod.SampleSet:
        """Sample a model; `beta_range` is (first, last) inverse temperature.

        Without `num_sweeps` there are 1,000, or as many as fit the time limit. Without `seed` one
        is drawn and noted in ``info``. `interrupt_function` is called between slices of sweeps;
        once it returns True, the states so far are returned.
        """
        self.remove_unknown_kwargs(**unknown)
        if beta_schedule_type != "geometric":
            raise RangeError(f"beta_schedule_type must be 'geometric'; got {beta_schedule_type!r}")
        states = None if initial_states is None else _initial_states(bqm, initial_states)
        reads = (1 if states is None else len(states)) if num_reads is None else num_reads
        annealer = SimulatedAnnealing(
            replica_count=require_count("num_reads", reads), sweep_count=num_sweeps
        )
        if beta_range is not None:
            first, last = beta_range
            if not 0 < first <= last:
                raise RangeError(
                    f"beta_range must be (first, last) with 0 < first <= last; got {beta_range}"
                )
            annealer = replace(annealer, hottest=1 / first, coldest=1 / last)
        return _sample_set(
            annealer,
            bqm,
            seed,
            time_limit=time_limit,
            report=None if interrupt_function is None else lambda _: interrupt_function(),
            initial_states=None if states is None else np.resize(states, (reads, states.shape[1])),
        )


def _initial_states(bqm: dimod.BinaryQuadraticModel, initial_states: Any) -> Any:
    """Return rows of bits in the order of the model's variables, from any form of samples."""
    given = dimod.SampleSet.from_samples_bqm(initial_states, bqm)
    bits = given.change_vartype("BINARY", inplace=False)
    return bits.samples(sorted_by=None)[:, list(bqm.variables)]


def _sample_set(
    sampler: Any, bqm: dimod.BinaryQuadraticModel, seed: int | None, **options: Any
) -> dimod.SampleSet:
    """Sample the model and return the samples with its variables and vartype."""
    start = time.perf_counter()
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    samples: Samples = sampler.sample(Qubo.from_dimod(bqm), seed=seed, **options)
    info = {**samples.info, "seed": seed, "stop": samples.stop.name}
    info["timing"] = {"sampling_seconds": time.perf_counter() - start}
    return dimod.SampleSet.from_samples(
        (samples.bits, list(bqm.variables)),
        vartype="BINARY",
        energy=samples.energies.astype(np.float64),
        info=info,
    ).change_vartype(bqm.vartype, inplace=False)
