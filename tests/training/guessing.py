"""An engine that guesses, so that many iterations cost nothing, and remembers what it was asked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import qubonn as qn
from qubonn.engines import Solutions
from qubonn.stopping import Progress, Report


@dataclass
class Guessing:
    """Random parameters and activations; `hooks` run before the call of that number."""

    count: int = 3
    problems: list[qn.TrainingProblem] = field(default_factory=list)
    found: list[Solutions] = field(default_factory=list)
    starts: list[list[qn.BinaryNetwork]] = field(default_factory=list)
    options: list[dict[str, Any]] = field(default_factory=list)
    hooks: dict[int, Callable[[], qn.Stop]] = field(default_factory=dict)

    def solve(
        self,
        problem: qn.TrainingProblem,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
        initial_networks: Sequence[qn.BinaryNetwork] = (),
    ) -> Solutions:
        number = len(self.problems)
        self.problems.append(problem)
        self.starts.append(list(initial_networks))
        self.options.append({"seed": seed, "time_limit": time_limit})
        stop = self.hooks.get(number, lambda: qn.Stop.FINISHED)()
        if report is not None:
            for part in (0.5, 1.0):
                report(Progress(part, 0.0, 0.0))
        self.found.append(self._guess(problem, np.random.default_rng(seed), stop))
        return self.found[-1]

    def _guess(
        self, problem: qn.TrainingProblem, generator: np.random.Generator, stop: qn.Stop
    ) -> Solutions:
        topology, structure = problem.topology, problem.variables.structure
        weights = generator.choice([-1, 1], (self.count, topology.weight_count)).astype(np.int8)
        biases = generator.choice([-1, 1], (self.count, topology.neuron_count)).astype(np.int8)
        weights, biases = topology.with_known(weights, biases)
        known = 2 * problem.variables.known_bits - 1
        spins = np.broadcast_to(known, (self.count, *known.shape)).copy()
        free = spins[:, :, structure.free_nodes].shape
        spins[:, :, structure.free_nodes] = generator.choice([-1, 1], free)
        networks = [qn.BinaryNetwork(topology, *pair) for pair in zip(weights, biases, strict=True)]
        energies = np.array(
            [
                float(problem.certify(network, spins[number]).terms.total)
                for number, network in enumerate(networks)
            ]
        )
        order = np.argsort(energies, kind="stable")
        return Solutions(
            problem, weights[order], biases[order], spins[order], energies[order], stop, {}
        )
