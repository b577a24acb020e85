"""Replay: the annealing of the playground in Python, flip by flip.

TrainingProblem, seed, replica -> Replay.  The page and this file use the same generator and only
operations that round in the same way everywhere, so flips and energies are equal. It is written
to be read and not to be fast: `qubonn.train` trains the same problem in less time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import floor, inf
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import BitVector, SpinMatrix, require_count, require_spins
from qubonn.errors import RangeError
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork

UNIT = 1000  # energies are whole thousandths, so that sums are exact in any order
QUENCH_SWEEPS = 10  # at temperature zero, at the end
LARGEST_RATIO = 22  # of cost and temperature that is still decided by chance
LN2, LOG2_E = 0.6931471805599453, 1.4426950408889634
TEST_STREAMS = 2**20  # the first stream of test images; those below are of replicas

View = Literal["lifted", "qubo"]


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """One replica of a run: its last state, and its energy after each sweep."""

    problem: TrainingProblem
    bits: BitVector  # weights, biases and activations; in the view "qubo" counts and products too
    energies: NDArray[np.int64]  # in thousandths: before the first sweep, then after each
    flip_count: int
    proposal_count: int

    @property
    def energy(self) -> float:
        """The energy H of the last state."""
        return float(self.energies[-1] / UNIT)

    @property
    def network(self) -> BinaryNetwork:
        """The network whose weights and biases are in the last state."""
        weights, biases, _ = np.split(self.bits, self.problem.variables.starts[1:3])
        return BinaryNetwork(self.problem.topology, 2 * weights - 1, 2 * biases - 1)

    def __repr__(self) -> str:
        return f"Replay(H={self.energy:g} after {self.flip_count} flips)"


def replay(
    problem: TrainingProblem,
    *,
    view: View = "lifted",
    seed: int = 0,
    replica: int = 0,
    sweeps: int = 300,
    hottest: float = 5.0,
    coldest: float = 0.116,
) -> Replay:
    """Anneal one replica as the playground does; outputs must be fixed.

    A sweep proposes each variable in order: weights, biases, activations by example and node, and
    in the view "qubo" counts and products, as in ``problem.qubo()``. A flip that costs nothing is
    made; one that costs more is made with probability exp(-cost / temperature). Temperatures fall
    geometrically, and ten sweeps at zero follow. Strengths must be whole thousandths.

    >>> import qubonn as qn
    >>> letters = qn.datasets.letters(seed=0)
    >>> topology = qn.paper.topology(10)
    >>> problem = qn.TrainingProblem(topology, letters.train_inputs, letters.train_outputs)
    >>> run = replay(problem, seed=1, sweeps=100)
    >>> run.energy, problem.certify(run.network).is_feasible
    (0.0, True)
    """
    if view not in ("lifted", "qubo"):
        raise RangeError(f"view must be 'lifted' or 'qubo'; got {view!r}")
    others = problem.extra_terms or problem.decay_strength or problem.share
    if not problem.has_fixed_outputs or others:
        raise RangeError(
            "the playground has no output_strength, decay_strength, extra_terms or share: leave "
            "them out"
        )
    if problem.topology.known_parameters.any():
        raise RangeError("the playground has no known weights or biases; use a topology without")
    random = generator(seed, replica)
    count = problem.variables.starts[3] if view == "lifted" else problem.variables.count
    bits = [random() >> 31 for _ in range(count)]
    state: _State = (_Lifted if view == "lifted" else _Quadratic)(problem, bits)
    energies, flip_count = [state.energy()], 0
    for temperature in temperatures(sweeps, hottest, coldest):
        energy = energies[-1]
        for variable in range(count):
            cost = state.cost(variable)
            if cost <= 0 or _accepts(cost, temperature, random):
                state.flip(variable)
                energy += cost
                flip_count += 1
        energies.append(energy)
    assert energies[-1] == state.energy()
    last = np.array(state.bits, dtype=np.int8)
    proposals = count * (len(energies) - 1)
    return Replay(problem, last, np.array(energies), flip_count, proposals)


def images_with_two_flips(
    image: ArrayLike, *, seed: int = 0, class_number: int = 0, count: int = 10
) -> SpinMatrix:
    """Return the test images that the playground makes of a class: two pixels inverted in each.

    >>> images_with_two_flips([1, 1, 1], count=3)
    array([[ 1, -1, -1],
           [-1,  1, -1],
           [-1, -1,  1]], dtype=int8)
    """
    size = np.size(image)
    spins = require_spins("image", image, count=size, of="pixel")
    if count > size * (size - 1) // 2:
        raise RangeError(f"{size} pixels have {size * (size - 1) // 2} pairs; got count={count}")
    random = generator(seed, TEST_STREAMS + class_number)
    pairs: list[tuple[int, int]] = []
    while len(pairs) < count:
        first, second = sorted(floor(random() / 2**32 * size) for _ in range(2))
        if first != second and (first, second) not in pairs:
            pairs.append((first, second))
    images = np.tile(spins, (count, 1))
    images[np.arange(count)[:, None], np.array(pairs).reshape(count, 2)] *= -1
    return images


# ---- chance and temperature --------------------------------------------------------------------


def generator(seed: int, stream: int) -> Callable[[], int]:
    """Return xoshiro128** of Blackman and Vigna: each call gives a number from 0 to 2**32 - 1."""
    mask = 0xFFFFFFFF
    start = (require_count("seed", seed, least=0) * 0x9E3779B1) ^ ((stream + 1) * 0x85EBCA77)
    words = []
    for number in range(1, 5):
        z = (start + number * 0x9E3779B9) & mask
        z = (z ^ z >> 16) * 0x85EBCA6B & mask
        z = (z ^ z >> 13) * 0xC2B2AE35 & mask
        words.append(z ^ z >> 16)
    words[3] |= 1  # never all zero

    def following() -> int:
        a, b, c, d = words
        product = b * 5 & mask
        result = (product << 7 | product >> 25) * 9 & mask
        shifted = b << 9 & mask
        c, d = c ^ a, d ^ b
        b, a = b ^ c, a ^ d
        words[:] = a, b, c ^ shifted, (d << 11 | d >> 21) & mask
        return result

    return following


def temperatures(sweeps: int, hottest: float, coldest: float) -> list[float]:
    """Return the temperature of each sweep: geometric from hottest to coldest, then zeros."""
    require_count("sweeps", sweeps)
    if not 0 < coldest <= hottest < 1e6:
        raise RangeError(
            f"temperatures must fall from hottest to coldest, above 0; got {hottest} and {coldest}"
        )
    extent, steps = logarithm(hottest / coldest), max(1, sweeps - 1)
    return [hottest * decay(extent * k / steps) for k in range(sweeps)] + [0.0] * QUENCH_SWEEPS


def decay(x: float) -> float:
    """Return exp(-x) for 0 <= x < 40, from operations that round in the same way everywhere."""
    halvings = floor(x * LOG2_E)
    rest, total = halvings * LN2 - x, 1.0
    for n in range(13, 0, -1):
        total = 1 + total * rest * (1 / n)
    return total * 2.0**-halvings


def logarithm(x: float) -> float:
    """Return the natural logarithm of x > 0, as `decay`."""
    power = 0
    while x >= 1.5:
        x, power = x / 2, power + 1
    while x < 0.75:
        x, power = x * 2, power - 1
    ratio, total = (x - 1) / (x + 1), 0.0
    for n in range(25, 0, -2):
        total = total * (ratio * ratio) + 1 / n
    return 2 * ratio * total + power * LN2


def _accepts(cost: int, temperature: float, random: Callable[[], int]) -> bool:
    ratio = cost / (UNIT * temperature) if temperature else inf
    return ratio < LARGEST_RATIO and random() < decay(ratio) * 2**32


# ---- the two views -----------------------------------------------------------------------------


class _State(Protocol):
    @property
    def bits(self) -> list[int]: ...
    def energy(self) -> int: ...
    def cost(self, variable: int) -> int: ...
    def flip(self, variable: int) -> None: ...


class _Quadratic:
    """All bits of the QUBO; its coefficients in thousandths."""

    def __init__(self, problem: TrainingProblem, bits: list[int]) -> None:
        count = problem.variables.count
        self.state, self.offset = np.array(bits), 0
        self.linear, self.matrix = np.zeros(count, np.int64), np.zeros((count, count), np.int64)
        alpha = _thousandths("product_strength", problem.product_strength)
        gamma = _thousandths("margin_strength", problem.margin_strength)
        for term, factor in (("activation", UNIT), ("product", alpha), ("margin", -gamma)):
            qubo = problem.qubo(term)
            self.linear += factor * qubo.linear.astype(np.int64)
            np.add.at(self.matrix, (qubo.rows, qubo.columns), factor * qubo.couplings)
            self.offset += factor * int(qubo.offset)
        field = np.array(_field(problem), dtype=np.int64)
        self.linear[: len(field)] -= 2 * field
        self.offset += int(field.sum())
        self.matrix += self.matrix.T

    @property
    def bits(self) -> list[int]:
        return [int(bit) for bit in self.state]

    def energy(self) -> int:
        pairs = int(self.state @ self.matrix @ self.state) // 2
        return self.offset + int(self.linear @ self.state) + pairs

    def cost(self, variable: int) -> int:
        slope = int(self.linear[variable] + self.matrix[variable] @ self.state)
        return -slope if self.state[variable] else slope

    def flip(self, variable: int) -> None:
        self.state[variable] ^= 1


class _Lifted:
    """Weights, biases and activations; products are exact and counts as good as possible."""

    def __init__(self, problem: TrainingProblem, bits: list[int]) -> None:
        self.problem, self.field = problem, _field(problem)
        self.gamma = _thousandths("margin_strength", problem.margin_strength)
        topology, variables = problem.topology, problem.variables
        self.neurons = range(topology.input_count, topology.node_count)
        self.arcs: dict[int, list[tuple[int, int]]] = {node: [] for node in self.neurons}
        ends = (topology.source_of, topology.target_of, topology.weight_of)
        for source, target, weight in zip(*(end.tolist() for end in ends), strict=True):
            self.arcs[target].append((source, weight))
        # where the activation of an example and node is: among the bits, or behind them if known
        known = variables.known_bits
        places = len(bits) + np.arange(known.size).reshape(known.shape)
        free = variables.activation_variables
        self.place: list[list[int]] = np.where(free < 0, places, free).tolist()
        self.values: list[int] = bits + known.reshape(-1).tolist()
        self.sites = [self._sites(variable) for variable in range(len(bits))]

    @property
    def bits(self) -> list[int]:
        return self.values[: len(self.sites)]

    def _sites(self, variable: int) -> list[tuple[int, int]]:
        """Return each example and neuron whose energy depends on a variable."""
        kind, *where = self.problem.variables.labels[variable]
        examples = range(self.problem.example_count)
        if kind == "bias":
            return [(k, where[0]) for k in examples]
        if kind == "weight":
            reading = [n for n in self.neurons if any(w == where[0] for _, w in self.arcs[n])]
            return [(k, node) for k in examples for node in reading]
        k, own = where
        reading = [n for n in self.neurons if any(source == own for source, _ in self.arcs[n])]
        return [(k, node) for node in [own, *reading]]

    def energy(self) -> int:
        sites = ((k, node) for k in range(self.problem.example_count) for node in self.neurons)
        pull = sum(c * (2 * bit - 1) for c, bit in zip(self.field, self.values, strict=False))
        return sum(self._site_energy(*site) for site in sites) - pull

    def cost(self, variable: int) -> int:
        before = sum(self._site_energy(*site) for site in self.sites[variable])
        self.flip(variable)
        after = sum(self._site_energy(*site) for site in self.sites[variable])
        self.flip(variable)
        pull = self.field[variable] if variable < len(self.field) else 0
        return after - before + 2 * pull * (2 * self.values[variable] - 1)

    def flip(self, variable: int) -> None:
        self.values[variable] ^= 1

    def _site_energy(self, k: int, node: int) -> int:
        values, place, arcs = self.values, self.place[k], self.arcs[node]
        positive = values[self.problem.topology.weight_count + node - self.neurons.start]
        positive += sum(values[w] == values[place[source]] for source, w in arcs)
        return best_energy(len(arcs), positive, values[place[node]], self.gamma)


@lru_cache(maxsize=10_000)
def best_energy(fan_in: int, positive: int, activation: int, gamma: int) -> int:
    """Return the least energy of a neuron over its count bits, in thousandths.

    `positive` is the number of +1 among its terms, rho in the paper; eq:training-activation-
    constraint2 squared, minus gamma times eq:som-hamiltonian.
    """
    top_bit = (fan_in + 1).bit_length() - 1
    shift = (2 ** (top_bit + 1) - fan_in - 2) // 2
    energies: list[int] = []
    for count in range(2**top_bit):
        written = 2**top_bit * activation + count - shift
        margin = (2 * activation - 1) * (2 * written - fan_in - 1)
        energies.append(UNIT * (positive - written) ** 2 - gamma * margin)
    return min(energies)


def _field(problem: TrainingProblem) -> list[int]:
    strengths = [*problem.field.weights.tolist(), *problem.field.biases.tolist()]
    return [_thousandths("field", strength) for strength in strengths]


def _thousandths(name: str, value: float) -> int:
    whole = round(UNIT * value)
    if abs(whole - UNIT * value) > 1e-6:
        raise RangeError(f"{name} must be whole thousandths, as on the page; got {value}")
    return whole
