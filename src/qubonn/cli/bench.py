"""``qubonn bench``: how fast this machine anneals, trains and predicts."""

import platform
import re
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

import click

import qubonn as qn
from qubonn.cli import options
from qubonn.cli.screen import Screen

NETWORK = 10  # of the paper
REPLICAS, SWEEPS = 1000, 1000
PEER_READS = 20  # dwave-samplers anneals one after the other
LAYERS, IMAGES = (784, 256, 10), 10_000

Task = tuple[str, str, Callable[[int], float]]  # name, unit, and the value measured with a seed


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
    help="Number of measurements of each; median and range are printed.",
)
@options.seed
@options.screen
def command(repeats: int, seed: int, screen: Screen) -> None:
    """Measure how fast this machine anneals, trains and predicts.

    Compilation is not counted. Annealing: network 10 of the paper as a QUBO, 1,000 replicas, in
    spin updates per second, and the same with dwave-samplers if it is installed. Training: the
    time until our engine finds H = 0. Prediction: images per second through a network of 784
    inputs, float32 beside bits.
    """
    letters = qn.datasets.letters(seed=0)
    topology = qn.paper.topology(NETWORK)
    problem = qn.TrainingProblem(topology, letters.train_inputs, letters.train_outputs)
    rows, measured = [], {}
    for name, unit, measure in (*_annealing(problem), _training(problem), *_prediction(seed)):
        with screen.working(f"{name}: compiling ..."):
            measure(seed)
        with screen.working(f"{name} ..."):
            values = [measure(seed + number) for number in range(repeats)]
        extent = (median(values), min(values), max(values))
        shown = [f"{value:,.3g}" if value < 1000 else f"{value:,.0f}" for value in extent]
        rows.append([name, *shown, unit])
        measured[name] = {"unit": unit, "median": median(values), "values": values}
    screen.table(["task", "median", "least", "most", "unit"], rows)
    screen.document(machine=machine(), repeats=repeats, measured=measured)


def machine() -> dict[str, str]:
    """Return the processor, the system and the versions that were measured."""
    import joblib

    versions = [f"qubonn {qn.__version__}"]
    for name in ("numpy", "numba", "dwave-samplers"):
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} not installed")
    return {
        "processor": _processor(),
        "cores": str(joblib.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": ", ".join(versions),
    }


def _annealing(problem: "qn.TrainingProblem") -> list[Task]:
    from qubonn.stopping import uninterrupted

    """Return the task for our annealer, and for dwave-samplers if it is installed."""
    qubo = problem.qubo()
    annealer = qn.SimulatedAnnealing(replica_count=REPLICAS, sweep_count=SWEEPS)

    def task(name: str, replicas: int, sample: Callable[[int], object]) -> Task:
        updates = qubo.variable_count * replicas * SWEEPS / 1e6
        return name, "million spin updates/s", lambda seed: updates / _seconds(lambda: sample(seed))

    ours = task(
        "annealing of QUBOs", REPLICAS, lambda seed: uninterrupted(annealer.sample(qubo, seed=seed))
    )
    try:
        from dwave.samplers import SimulatedAnnealingSampler
    except ImportError:
        return [ours]
    model, peer = qubo.to_dimod(), SimulatedAnnealingSampler()
    settings = {"num_reads": PEER_READS, "num_sweeps": SWEEPS, "beta_range": (0.2, 8.6)}

    def peer_sample(seed: int) -> object:
        return peer.sample(model, seed=seed, **settings).record  # waits for the samples

    return [ours, task("the same, dwave-samplers", PEER_READS, peer_sample)]


def _training(problem: "qn.TrainingProblem") -> Task:
    from qubonn.stopping import uninterrupted

    def train(seed: int) -> None:
        # a run that ends above 0 counts too: the time includes it and the next one
        solver = qn.LiftedAnnealing()
        while uninterrupted(solver.solve(problem, seed=seed, target_energy=0)).energies[0] > 0:
            seed += 1_000_003

    name = f"network {NETWORK} trained to H = 0"
    return name, "ms", lambda seed: 1e3 * _seconds(lambda: train(seed))


def _prediction(seed: int) -> list[Task]:
    import numpy as np

    from qubonn.inference import PackedInputs

    network = qn.BinaryNetwork.random(qn.Topology.dense(*LAYERS), seed=seed)
    images = np.random.default_rng(seed).normal(size=(IMAGES, LAYERS[0])).astype(np.float32)
    bits, packed = PackedInputs.of(images), network.packed()
    first, second = _matrices(network)
    biases = np.split(network.bias_spins.astype(np.float32), [LAYERS[1]])

    def in_float() -> object:
        spins = np.where(images > 0, np.float32(1), np.float32(-1))
        hidden = np.where(spins @ first + biases[0] > 0, np.float32(1), np.float32(-1))
        return hidden @ second + biases[1] > 0

    def task(name: str, predict: Callable[[], object]) -> Task:
        return name, "thousand images/s", lambda _: IMAGES / _seconds(predict) / 1e3

    size = "-".join(map(str, LAYERS))
    return [
        task(f"prediction {size}, packed images", lambda: packed.predict_outputs(bits)),
        task(f"prediction {size}, float images", lambda: packed.predict_outputs(images)),
        task("the same, NumPy float32", in_float),
    ]


def _matrices(network: "qn.BinaryNetwork") -> tuple[Any, Any]:
    """Return both layers as float32 matrices, sources x targets."""
    inputs, hidden, outputs = LAYERS
    spins = network.weight_spins.astype("float32")
    first, second = spins[: inputs * hidden], spins[inputs * hidden :]
    return first.reshape(hidden, inputs).T, second.reshape(outputs, hidden).T


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _processor() -> str:
    with suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        if found := re.search(r"^model name\s*:(.*)", text, re.MULTILINE):
            return found[1].strip()
    return platform.processor() or platform.machine()
