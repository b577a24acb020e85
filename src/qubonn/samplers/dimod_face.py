"""AnnealingSampler, AsDimodSampler: ours as dimod samplers, for people who live in dimod.

dimod model -> dimod sample set.
"""

import time
from collections.abc import Callable
from typing import Any

import dimod
import numpy as np

from qubonn.checks import require_count
from qubonn.errors import RangeError
from qubonn.quadratic import Qubo, Samples
from qubonn.samplers.annealing import SimulatedAnnealing
from qubonn.samplers.base import Sampler


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
        start, seed = time.perf_counter(), _drawn(seed)
        samples = self.sampler.sample(Qubo.from_dimod(bqm), seed=seed, time_limit=time_limit)
        return _sample_set(bqm, samples, seed, time.perf_counter() - start)


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
        num_sweeps: int = 1000,
        beta_range: tuple[float, float] | None = None,
        beta_schedule_type: str = "geometric",
        seed: int | None = None,
        initial_states: Any = None,
        interrupt_function: Callable[[], bool] | None = None,
        time_limit: float | None = None,
        **unknown: Any,
    ) -> dimod.SampleSet:
        """Sample a model; `beta_range` is (first, last) inverse temperature.

        Without `seed` one is drawn and noted in ``info``. `interrupt_function` is asked between
        slices of sweeps; the states so far come back when it says True.
        """
        self.remove_unknown_kwargs(**unknown)
        if beta_schedule_type != "geometric":
            raise RangeError(f"beta_schedule_type must be 'geometric'; got {beta_schedule_type!r}")
        start = time.perf_counter()
        states = _initial_states(bqm, initial_states)
        reads = _read_count(num_reads, states)
        annealer = _annealer(reads, num_sweeps, beta_range)
        seed = _drawn(seed)
        samples = annealer.sample(
            Qubo.from_dimod(bqm),
            seed=seed,
            time_limit=time_limit,
            report=None if interrupt_function is None else lambda _: interrupt_function(),
            initial_states=None if states is None else np.resize(states, (reads, states.shape[1])),
        )
        return _sample_set(bqm, samples, seed, time.perf_counter() - start)


def _read_count(num_reads: int | None, states: Any) -> int:
    if num_reads is None:
        return 1 if states is None else len(states)
    return require_count("num_reads", num_reads)


def _drawn(seed: int | None) -> int:
    return int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed


def _annealer(
    read_count: int, sweep_count: int, beta_range: tuple[float, float] | None
) -> SimulatedAnnealing:
    if beta_range is None:
        return SimulatedAnnealing(replica_count=read_count, sweep_count=sweep_count)
    first, last = beta_range
    if not 0 < first <= last:
        raise RangeError(
            f"beta_range must be (first, last) with 0 < first <= last; got {beta_range}"
        )
    return SimulatedAnnealing(
        replica_count=read_count, sweep_count=sweep_count, hottest=1 / first, coldest=1 / last
    )


def _initial_states(bqm: dimod.BinaryQuadraticModel, initial_states: Any) -> Any:
    """Rows of bits in the order of the model's variables, from anything dimod takes as samples."""
    if initial_states is None:
        return None
    given = dimod.SampleSet.from_samples_bqm(initial_states, bqm).change_vartype(
        "BINARY", inplace=False
    )
    columns = [given.variables.index(variable) for variable in bqm.variables]
    return np.asarray(given.record.sample)[:, columns]


def _sample_set(
    bqm: dimod.BinaryQuadraticModel, samples: Samples, seed: int, seconds: float
) -> dimod.SampleSet:
    """Samples in the names and the alphabet of the model."""
    info = {**samples.info, "seed": seed, "stop": samples.stop.name}
    info["timing"] = {"sampling_seconds": seconds}
    return dimod.SampleSet.from_samples_bqm(
        dimod.as_samples((samples.bits, list(bqm.variables))), _binary(bqm), info=info
    ).change_vartype(bqm.vartype, inplace=False)


def _binary(bqm: dimod.BinaryQuadraticModel) -> dimod.BinaryQuadraticModel:
    return bqm if bqm.vartype is dimod.BINARY else bqm.change_vartype("BINARY", inplace=False)
