"""SamplerContract: the requirements on every QUBO sampler, as a test class to inherit.

    class TestMySampler(SamplerContract):
        def make_sampler(self):
            return MySampler()

Plain asserts, so any test runner that collects classes will do.
"""

from typing import Any
from unittest import SkipTest

import numpy as np

from qubonn.quadratic import Qubo, Samples, fix
from qubonn.samplers import Exhaustive, Sampler
from qubonn.testing.stopping_contract import StoppingContract


class SamplerContract(StoppingContract):
    """Inherit, return your sampler from `make_sampler`; switch off what it does not support."""

    result, target_energy = "bits", -20

    def make_sampler(self) -> Sampler:
        """Return the sampler under test, small enough to finish in a second or so."""
        raise NotImplementedError

    def make_long_sampler(self) -> Sampler | None:
        """Return it with minutes of work, or None if it has no such setting."""
        return None

    def test_it_is_a_sampler(self) -> None:
        assert isinstance(self.make_sampler(), Sampler)

    def test_it_reports_the_energy_of_each_state_it_returns_best_first(self) -> None:
        for qubo in (random_qubo(20, 1), random_qubo(20, 2, whole=False)):
            samples = self.make_sampler().sample(qubo, seed=3)
            assert np.array_equal(samples.energies, qubo.energy(samples.bits))
            assert (np.diff(samples.energies) >= 0).all()
            assert len(samples) >= 1

    def test_it_repeats_itself_for_the_same_seed(self) -> None:
        if self.has_seed:
            qubo = random_qubo(20, 4)
            first, second = (self.make_sampler().sample(qubo, seed=5) for _ in range(2))
            assert np.array_equal(first.bits, second.bits)

    def test_it_solves_a_problem_that_exhaustive_search_can_check(self) -> None:
        for number in range(3):
            qubo = random_qubo(12, number)
            lowest = Exhaustive().sample(qubo).best_energy
            assert self.make_sampler().sample(qubo, seed=0).best_energy == lowest

    def test_it_respects_fixed_variables(self) -> None:
        qubo = random_qubo(12, 7)
        fixed = fix(qubo, {0: 1, 5: 0})
        samples = self.make_sampler().sample(fixed.qubo, seed=0)
        lifted = fixed.lift(samples.bits)
        assert (lifted[:, 0] == 1).all()
        assert (lifted[:, 5] == 0).all()
        assert np.array_equal(qubo.energy(lifted), samples.energies)

    def test_it_accepts_a_problem_without_variables(self) -> None:
        samples = self.make_sampler().sample(Qubo.of([], [], [], variable_count=0, offset=3))
        assert samples.bits.shape[1] == 0
        assert samples.best_energy == 3

    def test_it_solves_a_problem_of_one_variable(self) -> None:
        for value, bit in ((-2, 1), (2, 0)):
            samples = self.make_sampler().sample(Qubo.of([0], [0], [value], variable_count=1))
            assert samples.best.tolist() == [bit]

    def test_it_accepts_variables_that_do_not_matter(self) -> None:
        samples = self.make_sampler().sample(Qubo.of([1], [1], [-1], variable_count=3))
        assert samples.best_energy == -1

    def run_long(self, **options: Any) -> Samples:
        """Sample with minutes of work and check the energies."""
        sampler, qubo = self.make_long_sampler(), random_qubo(24, 9)
        if sampler is None:
            raise SkipTest("make_long_sampler returns None")
        samples = sampler.sample(qubo, **options)
        assert np.array_equal(samples.energies, qubo.energy(samples.bits))
        return samples


def random_qubo(variable_count: int, seed: int, *, whole: bool = True) -> Qubo:
    """Return a QUBO with half of all couplings, drawn from a seed."""
    generator = np.random.default_rng(seed)
    rows, columns = np.triu_indices(variable_count)
    values = generator.integers(-10, 11, len(rows)) * generator.integers(0, 2, len(rows))
    coefficients = values if whole else values + generator.normal(size=len(rows))
    return Qubo.of(rows, columns, coefficients, variable_count=variable_count, offset=1)
