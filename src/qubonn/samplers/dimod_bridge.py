"""DimodSolver: any dimod sampler as one of ours.

Qubo -> dimod model -> their sample set -> Samples.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qubonn.errors import RangeError
from qubonn.quadratic import Qubo, Samples, Stop
from qubonn.watching import Report, Watch, require_seed

__all__ = ["DimodSolver"]


@dataclass(frozen=True)
class DimodSolver:
    """Hand the QUBO to a dimod sampler and read its answer.

    `parameters` go to every call of ``sampler.sample``. Seed, time limit and target energy are
    passed on under the names that the sampler knows: `seed`; `time_limit`, `timeout` (tabu) or an
    `interrupt_function` that is asked between reads; `energy_threshold`. Whatever it does not know
    is not obeyed: a QPU takes no seed. OpenJij gives identical reads for a seed, so it is called
    once for each read.
    """

    sampler: Any
    parameters: Mapping[str, Any] = field(default_factory=dict)

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
        states, info = run(seed)
        samples = Samples.of(qubo, states, stop=call.stop, info={"seconds": watch.seconds, **info})
        watch.verdict(1.0, samples.best_energy)
        return samples


class _Call:
    """One run of a dimod sampler under a watch."""

    def __init__(self, sampler: Any, parameters: dict[str, Any], qubo: Qubo, watch: Watch) -> None:
        self.sampler, self.parameters, self.qubo, self.watch = sampler, parameters, qubo, watch
        self.known = set(getattr(sampler, "parameters", {}) or {})
        self.stop = Stop.FINISHED

    def at_once(self, seed: int) -> tuple[Any, Mapping[str, Any]]:
        """Ask for all reads in one call."""
        found = self.sampler.sample(_model(self.qubo), **self._arguments(seed))
        return _states(found, self.qubo), dict(found.info)

    def one_by_one(self, seed: int) -> tuple[Any, Mapping[str, Any]]:
        """Ask for the reads in calls of their own, each with its own seed."""
        arguments = self._arguments(seed)
        read_count = int(arguments.pop("num_reads", 1))
        seeds = np.random.SeedSequence(seed).generate_state(read_count)
        model, rows = _model(self.qubo), []
        try:
            for read, read_seed in enumerate(seeds.tolist()):
                arguments.update(num_reads=1, seed=read_seed)
                found = self.sampler.sample(model, **arguments)
                rows.append(_states(found, self.qubo)[:1])
                energy = self.qubo.energy(rows[-1]).min()
                verdict = self.watch.verdict((read + 1) / read_count, energy)
                if verdict is not None:
                    self.stop = verdict
                    break
        except KeyboardInterrupt:
            if not rows:
                raise
            self.stop = Stop.INTERRUPTED
        return np.concatenate(rows), {}

    def _arguments(self, seed: int) -> dict[str, Any]:
        arguments = dict(self.parameters)
        if "seed" in self.known:
            arguments.setdefault("seed", seed % 2**31)
        if "energy_threshold" in self.known and self.watch.target_energy is not None:
            # tabu compares with energies that lack the offset
            threshold = self.watch.target_energy - self.qubo.offset
            arguments.setdefault("energy_threshold", threshold)
        return self._with_time_limit(arguments)

    def _with_time_limit(self, arguments: dict[str, Any]) -> dict[str, Any]:
        limit = self.watch.time_limit
        if "interrupt_function" in self.known:
            arguments.setdefault("interrupt_function", self._should_stop)
        elif limit is not None and "timeout" in self.known:  # milliseconds for each read
            reads = max(int(arguments.get("num_reads", 1)), 1)
            arguments.setdefault("timeout", max(int(1000 * limit / reads), 1))
        elif limit is not None and "time_limit" in self.known:
            arguments.setdefault("time_limit", limit)
        return arguments

    def _should_stop(self) -> bool:
        try:
            verdict = self.watch.verdict(0.0, float("inf"))
        except KeyboardInterrupt:
            verdict = Stop.INTERRUPTED
        if verdict is not None:
            self.stop = verdict
        return verdict is not None


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
