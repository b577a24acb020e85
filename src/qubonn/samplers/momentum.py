"""MomentumAnnealing: all spins at once, by matrix products; the machine that the paper used.

Qubo -> Samples.  Okuyama et al. 2019. The one file that imports torch.

To maximise s'Js/2 + h's, every spin of every replica moves in each step:
    s_i(k+1) = sgn( h_i + sum_j J_ij s_j(k) + w_i(k) s_i(k) - (T_k / 2) G_i s_i(k-1) )
with G_i ~ Exp(1) fresh each step, and w_i(k) = c_k m_i w_i a self-coupling that keeps the parallel
update stable: m_i is 0 with probability p_k (falling from 1/2 to 0), and c_k rises to 1.
"""

import logging
from dataclasses import dataclass
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitMatrix, require_count, require_memory
from qubonn.errors import MissingExtra, RangeError
from qubonn.quadratic import Qubo, Samples
from qubonn.quadratic.ising import as_qubo
from qubonn.samplers.base import descend
from qubonn.samplers.temperatures import Cooling, chosen_temperatures, require_temperatures
from qubonn.stopping import Report, Stop, Watch, require_seed

HEAT, COLD = 4.0, 0.05
LARGE = 64  # variables; smaller problems often have few minima

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class MomentumAnnealing:
    """Momentum annealing of a batch of replicas in float32, on the CPU or a GPU, polished greedily.

    `self_coupling` is "spectral" (half the largest eigenvalue of -J, less where a spin's couplings
    are weak) or "absolute" (half the sum of |J_ij|; cheap, larger). Temperatures that are not given
    come from the QUBO. With a time limit the steps fit the time. Memory and time of a step grow
    with the square of the number of variables.

    All spins move together. On problems like Max-Cut every replica ends in the same state or its
    inverse if the temperature falls far below the self-coupling. Default temperatures are therefore
    at least HEAT and COLD times the largest self-coupling. ``samples.info["states"]`` counts the
    different states; a warning is logged if there are only a few. `SimulatedAnnealing` is better on
    most problems.
    """

    replica_count: int = 1000
    step_count: int = 1000
    hottest: float | None = None
    coldest: float | None = None
    self_coupling: Literal["spectral", "absolute"] = "spectral"
    device: str = "cpu"

    def __post_init__(self) -> None:
        require_count("replica_count", self.replica_count)
        require_count("step_count", self.step_count)
        if self.self_coupling not in ("spectral", "absolute"):
            raise RangeError(
                f"self_coupling must be 'spectral' or 'absolute'; got {self.self_coupling!r}"
            )
        require_temperatures(self.hottest, self.coldest)

    def sample(
        self,
        qubo: Qubo,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
    ) -> Samples:
        """Anneal all replicas; a run that is stopped returns the best so far."""
        require_seed(seed)
        try:
            import torch
        except ImportError:
            raise MissingExtra.of("MomentumAnnealing", "torch", "torch") from None
        count = qubo.variable_count
        require_memory(
            f"momentum annealing of {count:,} variables x {self.replica_count:,} replicas",
            4 * count * (8 * count + 6 * self.replica_count),
            hint="use fewer replicas, or SimulatedAnnealing for sparse QUBOs",
        )
        qubo = as_qubo(qubo)
        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        run = _Anneal(torch, qubo, self, seed)
        ends = self._ends(qubo, run)
        end = inf if time_limit is None else watch.start + 0.95 * time_limit
        stop = run.anneal(Cooling(ends, self.step_count, end=end), watch)
        states = descend(qubo, run.states())
        different = len(np.unique(np.packbits(states, axis=1), axis=0))
        if different <= 2 and len(states) >= 10 and count >= LARGE:
            _log.warning(
                "all replicas ended in %d states: raise `coldest` above %.3g, or use "
                "SimulatedAnnealing", different, ends[1]
            )  # fmt: skip
        info = {"hottest": ends[0], "coldest": ends[1], "steps": run.step, "states": different}
        return Samples.of(qubo, states, stop=stop, info=info | {"seconds": watch.seconds})

    def _ends(self, qubo: Qubo, run: "_Anneal") -> tuple[float, float]:
        """Return temperatures; defaults stay above what the self-coupling suppresses."""
        hottest, coldest = chosen_temperatures(qubo, self.hottest, self.coldest)
        coupling = float(run.weights.max()) if qubo.variable_count else 0.0
        if self.hottest is None:
            hottest = max(hottest, HEAT * coupling)
        if self.coldest is None:
            coldest = min(max(coldest, COLD * coupling), hottest)
        return hottest, coldest


class _Anneal:
    """The state of one anneal: spins now and one step ago, variables x replicas."""

    def __init__(self, torch: Any, qubo: Qubo, settings: MomentumAnnealing, seed: int) -> None:
        self.torch, self.qubo, self.step, self.total = torch, qubo, 0, settings.step_count
        self.device = _device(torch, settings.device)
        self.generator = torch.Generator(device=self.device)
        # torch accepts 64-bit seeds; SeedSequence spreads small ones over all bits
        state = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
        self.generator.manual_seed(int(state >> np.uint64(1)))
        couplings, fields = _maximisation_form(qubo)
        self.couplings = torch.from_numpy(couplings).to(self.device)
        self.fields = torch.from_numpy(fields).to(self.device)[:, None]
        weights = self_couplings(couplings, settings.self_coupling)
        self.weights = torch.from_numpy(weights).to(self.device)[:, None]
        shape = (qubo.variable_count, settings.replica_count)
        self.spins = self._random_spins(shape)
        self.before = self._random_spins(shape)

    def anneal(self, cooling: Cooling, watch: Watch) -> Stop:
        """Step through the temperatures until the watch says stop."""
        part = 0.0
        try:
            for temperatures in cooling.slices(watch):
                parts = (self.step + np.arange(len(temperatures))) / self.total
                if cooling.plan is None:  # cut short
                    parts = np.linspace(part, cooling.part, len(temperatures))
                part = cooling.part
                for temperature, done in zip(temperatures.tolist(), parts.tolist(), strict=True):
                    self._advance(temperature, done)
                energy = np.inf
                if watch.needs_energies:  # they cost as much as some steps
                    energy = np.min(self.qubo.energy(self.states()))
                if stop := watch.verdict(cooling.progress(watch), float(energy)):
                    return stop
        except KeyboardInterrupt:
            return Stop.INTERRUPTED
        return Stop.TIME_LIMIT if cooling.plan is None else Stop.FINISHED

    def states(self) -> BitMatrix:
        """Replicas x variables, as bits."""
        return np.asarray((self.spins.T > 0).contiguous().cpu(), dtype=np.int8)

    def _advance(self, temperature: float, part: float) -> None:
        torch = self.torch
        drop, scale = max(0.0, 0.5 - part / 2), min(1.0, part**0.5)
        drive = torch.addmm(self.fields, self.couplings, self.spins)
        kept = torch.rand(drive.shape, generator=self.generator, device=self.device) >= drop
        drive += scale * self.weights * kept * self.spins
        noise = torch.empty_like(drive).exponential_(generator=self.generator)
        drive -= (temperature / 2) * noise * self.before
        self.before = self.spins
        self.spins = torch.where(drive > 0, 1.0, -1.0)
        self.step += 1

    def _random_spins(self, shape: tuple[int, int]) -> Any:
        coins = self.torch.rand(shape, generator=self.generator, device=self.device)
        return self.torch.where(coins < 0.5, -1.0, 1.0)


def _maximisation_form(qubo: Qubo) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return J (full, symmetric) and h so that the energy is a constant minus s'Js/2 + h's."""
    ising = qubo.to_ising()
    couplings = np.zeros((qubo.variable_count, qubo.variable_count), dtype=np.float32)
    couplings[ising.rows, ising.columns] = -ising.couplings
    couplings[ising.columns, ising.rows] = -ising.couplings
    return couplings, -ising.fields.astype(np.float32)


def self_couplings(couplings: NDArray[np.float32], rule: str) -> NDArray[np.float32]:
    """Return w_i by the "spectral" or the "absolute" rule."""
    from scipy.linalg import eigvalsh

    magnitudes = np.abs(couplings)
    sums = magnitudes.sum(axis=1)
    if rule == "absolute" or not len(couplings):
        return np.asarray(sums / 2)
    last = len(couplings) - 1
    largest = float(eigvalsh(-couplings.astype(np.float64), subset_by_index=[last, last])[0])
    is_weak = sums <= largest  # the set C of the paper by Okuyama et al.
    weak_sums = magnitudes[:, is_weak].sum(axis=1)
    return np.where(is_weak, sums - weak_sums / 2, largest / 2).astype(np.float32)


def _device(torch: Any, name: str) -> Any:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise RangeError(
            f"device must be one that torch can use here, such as 'cpu'; got {name!r} ({error})"
        ) from error
    return device
