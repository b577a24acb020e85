"""What a QUBO asks of an annealing machine: range, precision, qubits and chains.

Qubo -> Hardware; Qubo, number of bits -> the QUBO that a machine of this precision solves.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log2, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, require_count
from qubonn.errors import MissingExtra
from qubonn.quadratic.ising import Ising, as_qubo
from qubonn.quadratic.qubo import Qubo

# name: size of the graph, its qubits, couplers of each, largest clique that fits, its chains
MACHINES = {
    "Pegasus": (16, 5640, 15, 182, 17),
    "Zephyr": (12, 4800, 20, 184, 12),
}
LIKELY, LONGER = 2.3, 3  # times the least qubits and chain, for minorminer on networks 5, 8, 10
TORQUE = 1.414  # of D-Wave's uniform torque compensation


@dataclass(frozen=True)
class Embedding:
    """Qubits and the longest chain on one graph; bounds and an estimate, or as embedded."""

    machine: str
    qubits: int  # estimated, or of the embedding that was found
    longest_chain: int
    least_qubits: int  # no embedding has fewer
    is_found: bool  # by minorminer, rather than estimated
    fits: bool  # as far as is known

    def __str__(self) -> str:
        if self.is_found and not self.fits:
            return "no embedding found"
        about, end = ("", "embedded") if self.is_found else ("about ", "estimated")
        missing = "" if self.fits else ", more than there are"
        return (
            f"{about}{self.qubits:,} qubits{missing}, chains to {self.longest_chain}, {end}; "
            f"at least {self.least_qubits:,}"
        )


@dataclass(frozen=True)
class Hardware:
    """The size of a QUBO in the terms of a machine; ranges are of all its coefficients.

    Bits of precision, one of them the sign, hold every coefficient as a multiple of the smallest
    step. ``chain_strength`` is D-Wave's uniform torque compensation, in units of the Ising form.
    """

    variable_count: int
    coupling_count: int
    mean_degree: float
    largest_degree: int
    qubo_range: tuple[float, float]
    qubo_bits: int
    ising_range: tuple[float, float]
    ising_bits: int
    chain_strength: float
    embeddings: tuple[Embedding, ...]
    suggested_alpha: float | None = None  # of a training problem with products

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield names and values, as text."""
        yield "degree", f"{self.mean_degree:.1f} on average, at most {self.largest_degree}"
        for name in ("QUBO", "Ising"):
            low, high = getattr(self, f"{name.lower()}_range")
            bits = getattr(self, f"{name.lower()}_bits")
            yield f"{name} range", f"{low:g} to {high:g}, {bits} bits with sign"
        for one in self.embeddings:
            yield one.machine, str(one)
        yield "chain strength", f"{self.chain_strength:.3g}, in the Ising form"
        if self.suggested_alpha is not None:
            yield "suggested alpha", f"{self.suggested_alpha:g}"


def hardware_of(
    qubo: Qubo, *, embed: bool = False, seed: int = 0, time_limit: float = 60
) -> Hardware:
    """Describe a QUBO; with `embed`, minorminer looks for embeddings, `time_limit` s for each.

    >>> hardware_of(Qubo.of([0, 0], [0, 1], [-3, 2], variable_count=2)).ising_bits
    3
    """
    energy = as_qubo(qubo)
    ising, degree = energy.to_ising(), _degrees(energy)
    values = np.concatenate([energy.linear, energy.couplings])
    spin_values = np.concatenate([ising.fields, ising.couplings])
    squares = (ising.couplings**2).mean() if energy.coupling_count else 0.0
    return Hardware(
        variable_count=energy.variable_count,
        coupling_count=energy.coupling_count,
        mean_degree=float(degree.mean()) if len(degree) else 0.0,
        largest_degree=int(degree.max(initial=0)),
        qubo_range=_range(values),
        qubo_bits=precision_bits(values),
        ising_range=_range(spin_values),
        ising_bits=precision_bits(spin_values),
        chain_strength=TORQUE * sqrt(squares * degree.mean()) if squares else 1.0,
        embeddings=tuple(
            _embedded(energy, name, seed, time_limit) if embed else _estimated(degree, name)
            for name in MACHINES
        ),
    )


def precision_bits(values: NDArray[Any]) -> int:
    """Return the bits, one for the sign, that hold all values as multiples of one step.

    >>> precision_bits(np.array([-64, 0.25, 8]))
    10
    """
    sizes = np.unique(np.abs(values[values != 0]).astype(np.float64))
    if not len(sizes):
        return 1
    step, tiny = sizes[0], 1e-9 * sizes[-1]
    for size in sizes:  # Euclid, with rounding
        other = size
        while other > tiny:
            step, other = other, step - other * np.floor(step / other + 1e-9)
    return int(np.floor(log2(round(sizes[-1] / step)))) + 2


def rounded(qubo: Qubo, bit_count: int) -> Qubo:
    """Return the QUBO whose Ising coefficients are rounded to `bit_count` bits, sign included.

    The largest coefficient becomes 2**(bit_count - 1) - 1 steps; the others keep its scale.
    """
    require_count("bit_count", bit_count, least=2)
    ising = as_qubo(qubo).to_ising()
    values = np.concatenate([ising.fields, ising.couplings])
    most = 2 ** (bit_count - 1) - 1
    step = np.abs(values).max(initial=0) / most or 1.0
    whole = np.rint(values / step)
    fields, couplings = np.split(whole, [len(ising.fields)])
    kept = couplings != 0
    ends = ising.rows[kept], ising.columns[kept]
    return Ising(fields, *ends, couplings[kept], ising.offset / step, ising.labels).to_qubo()


def _range(values: NDArray[Any]) -> tuple[float, float]:
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)


def _degrees(qubo: Qubo) -> IntVector:
    return np.bincount(np.concatenate([qubo.rows, qubo.columns]), minlength=qubo.variable_count)


def _least_chains(degree: IntVector, coupler_count: int) -> IntVector:
    """A chain of L qubits has L - 1 couplers inside, so at most L * (c - 2) + 2 go out."""
    return np.maximum(1, -(-(degree - 2) // (coupler_count - 2)))


def _estimated(degree: IntVector, machine: str) -> Embedding:
    """The least chains times a factor, but not more than in the embedding of a clique."""
    size, qubit_count, coupler_count, clique, clique_chain = MACHINES[machine]
    chains = _least_chains(degree, coupler_count)
    least, longest = int(chains.sum()), int(chains.max(initial=0))
    factors = (LIKELY, LONGER) if longest > 1 else (1, 1)
    most = max(1, ceil(len(degree) / clique * clique_chain))  # the chains of a clique
    qubits = min(ceil(factors[0] * least), most * len(degree))
    chain = min(factors[1] * longest, most)
    return Embedding(f"{machine} {size}", qubits, chain, least, False, qubits <= qubit_count)


def _embedded(qubo: Qubo, machine: str, seed: int, time_limit: float) -> Embedding:
    try:
        import minorminer

        try:
            from dwave import graphs
        except ImportError:
            import dwave_networkx as graphs
    except ImportError as error:
        raise MissingExtra.of("embedding", "minorminer", "qpu") from error
    size, _, coupler_count, _, _ = MACHINES[machine]
    target = getattr(graphs, f"{machine.lower()}_graph")(size)
    pairs = list(zip(qubo.rows.tolist(), qubo.columns.tolist(), strict=True))
    options = {"random_seed": seed, "timeout": time_limit}
    found = minorminer.find_embedding(pairs, list(target.edges), **options)
    alone = qubo.variable_count - len(found) if found or not pairs else 0  # without couplings
    chains = [len(chain) for chain in found.values()] + [1] * alone
    least = int(_least_chains(_degrees(qubo), coupler_count).sum())
    longest = max(chains, default=0)
    return Embedding(f"{machine} {size}", sum(chains), longest, least, True, bool(chains))
