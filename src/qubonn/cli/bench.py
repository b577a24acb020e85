"""``qubonn bench``: how fast this machine anneals, trains and predicts."""

import platform
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any

import click
import numpy as np

import qubonn as qn
from qubonn.cli.options import screen_options, seed_option
from qubonn.cli.screen import Screen
from qubonn.experiments.workers import core_count
from qubonn.inference import PackedInputs


@click.command(
    epilog="""Examples:

\b
  qubonn bench
  qubonn bench --repeats 10 --json > machine.json"""
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 100),
    default=5,
    show_default=True,
    help="Measure each so often; the median is shown, and the range.",
)
@seed_option
@screen_options
def command(repeats: int, seed: int, screen: Screen) -> None:
    """Measure this machine, in seconds; compilation is not counted.

    Annealing: network 10 of the paper as a QUBO, 1,000 replicas, in spin updates a second, and the
    same by dwave-samplers where it is installed. Training: the time until our engine has found
    H = 0. Prediction: images a second through a network of 784 inputs, float32 beside bits.
    """
    rows, document = measure_machine(repeats, seed, screen)
    screen.table(["what", "median", "least", "most", "unit"], rows)
    screen.document(document)
    screen.facts([("", ""), *document["machine"].items()])


NETWORK = 10  # of the paper
REPLICAS, SWEEPS = 1000, 1000
PEER_READS = 20  # dwave-samplers anneals one after the other
LAYERS, IMAGES = (784, 256, 10), 10_000

Row = tuple[str, str, str, str, str]


def measure_machine(repeats: int, seed: int, screen: Screen) -> tuple[list[Row], dict[str, Any]]:
    """Measure everything; return rows for people and a document for programs."""
    letters = qn.datasets.letters(seed=0)
    topology = qn.paper.topology(NETWORK)
    problem = qn.TrainingProblem(topology, letters.train_inputs, letters.train_outputs)
    tasks: list[tuple[str, str, Callable[[int], float]]] = [
        ("annealing of QUBOs", "million spin updates/s", _annealing(problem)),
        *_peer(problem),
        (f"network {NETWORK} trained to H = 0", "ms", _training(problem)),
        *_prediction(seed),
    ]
    rows, measured = [], {}
    for name, unit, task in tasks:
        with screen.working(f"{name}: compiling ..."):
            task(seed)
        with screen.working(f"{name} ..."):
            values = [task(seed + number) for number in range(repeats)]
        rows.append(_row(name, unit, values))
        measured[name] = {"unit": unit, "median": median(values), "values": values}
    return rows, {"machine": machine(), "repeats": repeats, "measured": measured}


def machine() -> dict[str, str]:
    """Say where this was measured."""
    packages = ("numpy", "numba", "dwave-samplers")
    versions = ", ".join(f"{name} {_version(name)}" for name in packages)
    return {
        "processor": _processor(),
        "cores": str(core_count()),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": f"qubonn {qn.__version__}, {versions}",
    }


def _annealing(problem: "qn.TrainingProblem") -> Callable[[int], float]:
    qubo = problem.qubo()
    annealer = qn.SimulatedAnnealing(replica_count=REPLICAS, sweep_count=SWEEPS)

    def run(seed: int) -> float:
        seconds = _seconds(lambda: annealer.sample(qubo, seed=seed))
        return qubo.variable_count * REPLICAS * SWEEPS / seconds / 1e6

    return run


def _peer(problem: "qn.TrainingProblem") -> list[tuple[str, str, Callable[[int], float]]]:
    """Return the same task for dwave-samplers, if it is installed."""
    try:
        from dwave.samplers import SimulatedAnnealingSampler
    except ImportError:
        return []
    model = problem.qubo().to_dimod()
    options = {"num_reads": PEER_READS, "num_sweeps": SWEEPS, "beta_range": (0.2, 8.6)}

    def run(seed: int) -> float:
        sampler = SimulatedAnnealingSampler()
        seconds = _seconds(lambda: sampler.sample(model, seed=seed, **options).record)
        return float(model.num_variables * PEER_READS * SWEEPS / seconds / 1e6)

    return [("the same, dwave-samplers", "million spin updates/s", run)]


def _training(problem: "qn.TrainingProblem") -> Callable[[int], float]:
    def run(seed: int) -> float:
        start = time.perf_counter()
        attempt = seed
        # a run that ends above 0 counts, and so does the one after it
        while qn.LiftedAnnealing().solve(problem, seed=attempt, target_energy=0).energies[0] > 0:
            attempt += 1_000_003
        return 1e3 * (time.perf_counter() - start)

    return run


def _prediction(seed: int) -> list[tuple[str, str, Callable[[int], float]]]:
    network = qn.BinaryNetwork.random(qn.Topology.dense(*LAYERS), seed=seed)
    images = np.random.default_rng(seed).normal(size=(IMAGES, LAYERS[0])).astype(np.float32)
    bits, packed = PackedInputs.of(images), network.packed()
    first, second = _matrices(network)
    biases = np.split(network.bias_spins.astype(np.float32), [LAYERS[1]])

    def in_float(_: int) -> float:
        def forward() -> object:
            spins = np.where(images > 0, np.float32(1), np.float32(-1))
            hidden = np.where(spins @ first + biases[0] > 0, np.float32(1), np.float32(-1))
            return hidden @ second + biases[1] > 0

        return IMAGES / _seconds(forward) / 1e3

    unit = "thousand images/s"
    size = "-".join(map(str, LAYERS))
    return [
        (f"prediction {size}, packed images", unit,
         lambda _: IMAGES / _seconds(lambda: packed.predict_outputs(bits)) / 1e3),
        (f"prediction {size}, float images", unit,
         lambda _: IMAGES / _seconds(lambda: packed.predict_outputs(images)) / 1e3),
        ("the same, NumPy float32", unit, in_float),
    ]  # fmt: skip


def _matrices(network: "qn.BinaryNetwork") -> tuple[Any, Any]:
    """Return both layers as matrices, sources x targets."""
    spins = network.weight_spins.astype(np.float32)
    first, second = np.split(spins, [LAYERS[0] * LAYERS[1]])
    return first.reshape(LAYERS[1], LAYERS[0]).T, second.reshape(LAYERS[2], LAYERS[1]).T


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _row(name: str, unit: str, values: list[float]) -> Row:
    return name, _shown(median(values)), _shown(min(values)), _shown(max(values)), unit


def _shown(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
