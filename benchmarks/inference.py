"""Prediction on packed bits compared with float32 products of NumPy and torch.

    python benchmarks/inference.py [dense] [convolution] [limit] [--threads 2] [--rounds 15]

Without names: all tables, in less than a minute on two cores. All methods use the same networks and
the same number of threads (default: all cores), and must give the same outputs. Rounds are
interleaved, and the best time of each method counts: processor time with one thread, which a busy
machine hardly changes, and wall-clock time with more. Compilation and loading are not included.
Without torch its cells stay empty.

dense        784-128-10: from each method's preferred inputs, from the same int8 spins, and a
             committee; and the bytes of the models
convolution  conv(5x5x8) over 28 x 28 and ten outputs; NumPy has no convolution
limit        words of XNOR and popcount per second: in registers alone, and in a prediction
"""

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import qubonn as qn
from printing import head, show
from qubonn.inference import PackedInputs
from qubonn.inference.packing import aligned_zeros
from qubonn.simd.threads import share
from qubonn.simd.words import load_at, ones_of, repeated, store_at

try:
    import torch
except ImportError:
    torch = None

Works = dict[str, Callable[[], Any]]
NAMES = ("qubonn", "NumPy", "torch")


def main() -> None:
    tables = {"dense": dense, "convolution": convolution, "limit": limit}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", help=", ".join(tables))
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--members", type=int, default=25)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    if unknown := set(arguments.tables) - set(tables):
        parser.error(f"tables are {', '.join(tables)}; got {', '.join(unknown)}")
    if torch is None:
        print("torch is not installed: its cells stay empty\n")
    else:
        torch.set_num_threads(arguments.threads)
    with threadpool_limits(arguments.threads):
        for name in arguments.tables or tables:
            tables[name](arguments)
            print(flush=True)


# ---- dense ----


def dense(arguments: argparse.Namespace) -> None:
    topology = qn.Topology.dense(784, 128, 10)
    members = [qn.BinaryNetwork.random(topology, seed=seed) for seed in range(arguments.members)]
    spins = random_spins(arguments.examples, 784)
    one = members[0].packed(thread_count=arguments.threads)
    committee = qn.Committee(members).packed(thread_count=arguments.threads)
    floats, packed_spins = spins.astype(np.float32), PackedInputs.of(spins)
    with_numpy, with_torch = DenseNumpy(members), DenseTorch(members)
    rows: dict[str, Works] = {
        "packed bits; float32": {
            "qubonn": lambda: one.predict_outputs(packed_spins),
            "NumPy": lambda: with_numpy.outputs(floats, 1),
            "torch": lambda: with_torch.outputs(floats, 1),
        },
        "int8 spins": {
            "qubonn": lambda: one.predict_outputs(spins),
            "NumPy": lambda: with_numpy.outputs(spins, 1),
            "torch": lambda: with_torch.outputs(spins, 1),
        },
        "float32 spins": {
            "qubonn": lambda: one.predict_outputs(floats),
            "NumPy": lambda: with_numpy.outputs(floats, 1),
            "torch": lambda: with_torch.outputs(floats, 1),
        },
        f"int8 spins, committee of {len(members)}": {
            "qubonn": lambda: committee.predict_outputs(spins),
            "NumPy": lambda: with_numpy.outputs(spins, len(members)),
            "torch": lambda: with_torch.outputs(spins, len(members)),
        },
    }
    print(f"### 784-128-10, {arguments.examples:,} examples, {arguments.threads} threads: ms\n")
    head("from", *NAMES, "speed-up over the faster")
    for name, works in rows.items():
        rounds = max(arguments.rounds // 5, 3) if "committee" in name else arguments.rounds
        show_times(name, works, rounds, arguments.threads)
    print("\n### Bytes of the model\n")
    head("network", "qubonn", "float32", "ratio")
    for name, packed, count in (
        ("784-128-10", one, 1),
        (f"committee of {len(members)}", committee, len(members)),
    ):
        ours, theirs = packed.byte_count, count * with_numpy.byte_count
        show(name, f"{ours:,}", f"{theirs:,}", f"{theirs / ours:.1f}x")


class DenseNumpy:
    """The same networks in float32; half a unit less bias, so that no sum is zero: ties to -1."""

    def __init__(self, members: list[qn.BinaryNetwork]) -> None:
        self.layers = [layers_of(member) for member in members]
        self.byte_count = sum(part.nbytes for layer in self.layers[0] for part in layer)

    def outputs(self, spins: NDArray[Any], member_count: int) -> NDArray[np.int8]:
        """Return the majority of the first members."""
        inputs = spins.astype(np.float32, copy=False)
        votes = np.zeros((len(inputs), 10), dtype=np.float32)
        for layers in self.layers[:member_count]:
            known = inputs
            for weights, biases in layers:
                known = known @ weights.T
                known += biases
                np.copysign(np.float32(1), known, out=known)
            votes += known
        return np.where(votes > 0, 1, -1).astype(np.int8)


class DenseTorch:
    """The same in torch."""

    def __init__(self, members: list[qn.BinaryNetwork]) -> None:
        if torch is not None:
            self.layers = [
                [tuple(map(torch.from_numpy, layer)) for layer in layers_of(member)]
                for member in members
            ]

    def outputs(self, spins: NDArray[Any], member_count: int) -> NDArray[np.int8]:
        """Return the majority of the first members."""
        with torch.inference_mode():
            inputs = torch.from_numpy(spins).float()
            votes = torch.zeros(len(inputs), 10)
            for layers in self.layers[:member_count]:
                known = inputs
                for weights, biases in layers:
                    known = torch.nn.functional.linear(known, weights, biases).sign_()
                votes += known
            found: NDArray[np.int8] = torch.where(votes > 0, 1, -1).to(torch.int8).numpy()
            return found


def layers_of(network: qn.BinaryNetwork) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Weights, targets x sources, and biases of 784-128-10, less a half."""
    weights = np.split(network.weight_spins.astype(np.float32), [784 * 128])
    biases = np.split(network.bias_spins.astype(np.float32) - np.float32(0.5), [128])
    return [
        (weights[0].reshape(128, 784), biases[0]),
        (weights[1].reshape(10, 128), biases[1]),
    ]


# ---- convolution ----


def convolution(arguments: argparse.Namespace) -> None:
    topology = qn.Topology.parse("conv(5x5x8)", inputs=(28, 28), outputs=10)
    network = qn.BinaryNetwork.random(topology, seed=0)
    packed = network.packed(thread_count=arguments.threads)
    spins = random_spins(arguments.examples // 5, 784)
    with_torch = ConvolutionTorch(network)
    print(f"### conv(5x5x8), {len(spins):,} examples, {arguments.threads} threads: ms\n")
    head("from", *NAMES, "speed-up over the faster")
    packed_spins, floats = PackedInputs.of(spins), spins.astype(np.float32)
    for name, ours, theirs in (
        ("packed bits; float32", packed_spins, floats),
        ("int8 spins", spins, spins),
    ):
        works: Works = {
            "qubonn": partial(packed.predict_outputs, ours),
            "torch": partial(with_torch.outputs, theirs),
        }
        show_times(name, works, arguments.rounds, arguments.threads)
    print("\n### Bytes of the model\n")
    head("network", "qubonn", "float32", "ratio")
    theirs_bytes = 4 * (topology.weight_count + topology.neuron_count)
    ratio = f"{theirs_bytes / packed.byte_count:.1f}x"
    show("conv(5x5x8), ten outputs", f"{packed.byte_count:,}", f"{theirs_bytes:,}", ratio)


class ConvolutionTorch:
    """The same network in torch; each neuron has its own bias, as in qubonn."""

    def __init__(self, network: qn.BinaryNetwork) -> None:
        if torch is None:
            return
        weights = torch.from_numpy(network.weight_spins.astype(np.float32))
        biases = torch.from_numpy(network.bias_spins.astype(np.float32) - np.float32(0.5))
        self.filters, self.filter_biases = weights[:200].view(8, 1, 5, 5), biases[:-10]
        self.weights, self.biases = weights[200:].view(10, -1), biases[-10:]

    def outputs(self, spins: NDArray[Any]) -> NDArray[np.int8]:
        """Return the output activations."""
        with torch.inference_mode():
            images = torch.from_numpy(spins).float().view(-1, 1, 28, 28)
            known = torch.nn.functional.conv2d(images, self.filters).flatten(1)
            known = known.add_(self.filter_biases).sign_()
            sums = torch.nn.functional.linear(known, self.weights, self.biases)
            found: NDArray[np.int8] = sums.sign_().to(torch.int8).numpy()
            return found


# ---- limit ----


def limit(arguments: argparse.Namespace) -> None:
    print("### XNOR and popcount, billion words of 64 bits per second\n")
    head("network", "threads", "in registers alone", "prediction", "share of the limit")
    for sizes in ((784, 128, 10), (784, 1024, 10), (128, 128, 128, 10)):
        network = qn.BinaryNetwork.random(qn.Topology.dense(*sizes), seed=0)
        inputs = PackedInputs.of(random_spins(arguments.examples, sizes[0]))
        words = sum(-(-sources // 64) * targets for sources, targets in pairwise(sizes))
        for threads in sorted({1, arguments.threads}):
            packed = network.packed(thread_count=threads)
            best = best_times(
                {
                    "limit": partial(count_in_registers, words * arguments.examples, threads),
                    "prediction": partial(packed.predict_outputs, inputs),
                },
                4 * arguments.rounds,
                threads,
            )
            rates = [
                words * arguments.examples / best[name] / 1e9 for name in ("limit", "prediction")
            ]
            name, part = "-".join(map(str, sizes)), f"{100 * rates[1] / rates[0]:.0f} %"
            show(name, threads, *(f"{rate:.1f}" for rate in rates), part)


def count_in_registers(word_count: int, threads: int) -> None:
    """XNOR and count a number of words, 32 at a time, loading only a weight."""
    targets = [aligned_zeros(32) for _ in range(threads)]
    share(
        lambda first, end, thread: count_words(WEIGHTS, targets[thread], (end - first) * 52),
        word_count // (32 * 52),
        threads,
    )


@njit(nogil=True)  # type: ignore[untyped-decorator]
def count_words(weights: Any, target: Any, count: Any) -> None:
    known = load_at(target, 0, THIRTY_TWO)  # type: ignore[no-untyped-call]
    total = repeated(np.uint64(0), THIRTY_TWO)  # type: ignore[no-untyped-call]
    for _ in range(count // 52):
        for word in range(52):
            total = total + ones_of(known ^ weights[word])  # type: ignore[no-untyped-call]
    store_at(target, 0, total)  # type: ignore[no-untyped-call]


WEIGHTS = np.random.default_rng(0).integers(1 << 64, size=52, dtype=np.uint64)
THIRTY_TWO = np.zeros(1, dtype=np.uint32)  # 32 lanes


# ---- all ----


def random_spins(rows: int, columns: int) -> NDArray[np.int8]:
    return (2 * np.random.default_rng(0).integers(2, size=(rows, columns)) - 1).astype(np.int8)


def show_times(name: str, works: Works, rounds: int, threads: int) -> None:
    if torch is None:
        works.pop("torch", None)
    results = [np.asarray(work()) for work in works.values()]
    assert all((result == results[0]).all() for result in results), "contenders disagree"
    best = best_times(works, rounds, threads)
    rivals = [seconds for rival, seconds in best.items() if rival != "qubonn"]
    times = [f"{1000 * best[who]:.2f}" if who in best else "" for who in NAMES]
    show(name, *times, f"{min(rivals) / best['qubonn']:.1f}x" if rivals else "")


def best_times(works: Works, rounds: int, threads: int) -> dict[str, float]:
    """Seconds of the fastest of some interleaved rounds, for each method."""
    clock = time.process_time if threads == 1 else time.perf_counter
    best = dict.fromkeys(works, float("inf"))
    for work in works.values():
        work()
    for _ in range(rounds):
        for name, work in works.items():
            start = clock()
            work()
            best[name] = min(best[name], clock() - start)
    return best


if __name__ == "__main__":
    main()
