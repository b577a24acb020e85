"""QUBO solvers at equal wall clock: qubonn, dwave-samplers, OpenJij and simulated-bifurcation.

    python benchmarks/qubo_solvers.py FOLDER [--seconds 1 10 60] [--seeds 10] [--only NAME ...]
                                      [--solvers NAME ...] [--store FILE] [--most-minutes M]

FOLDER holds the instances: G*.txt.gz and K2000.txt.gz (Max-Cut, rudy's form), *.qubo.gz (qbsolv's
text; bqp* is to be maximised and is negated). Every solver has its defaults and is stopped by the
clock: it takes reads of growing length, each as long as all before, until the next would end too
late, and the best state of all counts. Solvers that have a time limit get it. qubonn and torch use
all cores, the others one, as they come. Each run is written to the store as it ends; the same
command goes on where it was stopped and repeats nothing. Solvers that are not installed are left
out, with the reason.
"""

import argparse
import gzip
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import qubonn as qn
from printing import head, show

BEST = {  # best known, as energies
    "G1": -11624, "G22": -13359, "G32": -1410, "G35": -7687, "G55": -10299, "G70": -9591,
    "K2000": -33337, "bqp1000_1": -371438, "TSP48cities": -785519,
}  # fmt: skip
STORE = Path(__file__).resolve().parent.parent / "results" / "qubo_solvers.sqlite"
Solve = Callable[[qn.Qubo, Any, float, int], float]  # qubo, dimod model, seconds, seed -> energy


def main() -> None:
    arguments = parse()
    solvers = {name: SOLVERS[name] for name in arguments.solvers if is_installed(name)}
    names = sorted(path.name.split(".")[0] for path in arguments.folder.glob("*.gz"))
    names = [name for name in names if not arguments.only or name in arguments.only]
    stop_at = time.monotonic() + 60 * arguments.most_minutes
    with store(arguments.store) as database:
        for seconds in arguments.seconds:
            for name in names:
                for solver, solve in solvers.items():
                    for seed in range(arguments.seeds):
                        if time.monotonic() > stop_at:
                            print("stopped; the same command goes on from here", file=sys.stderr)
                            return report(database, arguments.seconds, names, list(solvers))
                        once(database, arguments.folder, (name, solver, seconds, seed), solve)
        report(database, arguments.seconds, names, list(solvers))


def once(
    database: sqlite3.Connection, folder: Path, key: tuple[str, str, float, int], solve: Solve
) -> None:
    """Do one run and keep it, unless it is in the store."""
    where = "name = ? and solver = ? and seconds = ? and seed = ?"
    if database.execute(f"select 1 from runs where {where}", key).fetchone():
        return
    name, solver, seconds, seed = key
    qubo, model = instance(folder, name)
    warm_up(folder, name, solver)
    start = time.perf_counter()
    energy = solve(qubo, model, seconds, seed)
    took = time.perf_counter() - start
    database.execute("insert into runs values (?, ?, ?, ?, ?, ?)", (*key, float(energy), took))
    database.commit()
    print(json.dumps([*key, float(energy), round(took, 2)]), file=sys.stderr, flush=True)


@cache
def warm_up(folder: Path, name: str, solver: str) -> None:
    """Compile and import before the clock starts."""
    SOLVERS[solver](*instance(folder, name), 0.2, 0)


@cache
def instance(folder: Path, name: str) -> tuple[qn.Qubo, Any]:
    """Return a QUBO to minimise, and the same for dimod."""
    path = next(folder.glob(f"{name}.*.gz"))
    with gzip.open(path, "rt") as stream:
        qubo = max_cut(stream) if path.name.endswith(".txt.gz") else qbsolv(stream.read())
    if name.startswith("bqp"):
        parts = (-qubo.linear, qubo.rows, qubo.columns, -qubo.couplings)
        qubo = qn.Qubo.of_parts(*parts, -qubo.offset, qubo.labels)
    return qubo, qubo.to_dimod(range(qubo.variable_count))


def max_cut(stream: Any) -> qn.Qubo:
    """Return minus the weight of the cut: w (2 b c - b - c) for each edge."""
    count = int(stream.readline().split()[0])
    rows, columns, weights = np.loadtxt(stream, dtype=np.int64).T
    rows, columns = rows - 1, columns - 1
    return qn.Qubo.of(
        np.concatenate([rows, rows, columns]),
        np.concatenate([columns, rows, columns]),
        np.concatenate([2 * weights, -weights, -weights]),
        variable_count=count,
    )


def qbsolv(text: str) -> qn.Qubo:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "instance.qubo")
        path.write_text(text)
        return qn.Qubo.load(path)


# ---- solvers ----


def annealing(qubo: qn.Qubo, model: Any, seconds: float, seed: int) -> float:
    return float(qn.SimulatedAnnealing().sample(qubo, seed=seed, time_limit=seconds).best_energy)


def population(qubo: qn.Qubo, model: Any, seconds: float, seed: int) -> float:
    return float(qn.PopulationAnnealing().sample(qubo, seed=seed, time_limit=seconds).best_energy)


def growing(read: Callable[[int, int], float], seconds: float, seed: int, first: int) -> float:
    """Return the best of reads of `first` sweeps, twice as many, ... while they fit the time."""
    start, best, sweeps, number = time.perf_counter(), float("inf"), first, 0
    while True:
        begun = time.perf_counter()
        best = min(best, read(sweeps, 1000 * seed + number))
        took, left = time.perf_counter() - begun, seconds - (time.perf_counter() - start)
        number += 1
        if left < 0.5 * took or left < 0.02:
            return best
        sweeps = max(int(sweeps * min(2.0, 0.95 * left / took)), 1)


def dwave_annealing(qubo: qn.Qubo, model: Any, seconds: float, seed: int) -> float:
    from dwave.samplers import SimulatedAnnealingSampler

    def read(sweeps: int, number: int) -> float:
        found = SimulatedAnnealingSampler().sample(model, num_sweeps=sweeps, seed=number)
        return float(found.first.energy)

    return growing(read, seconds, seed, 10)


def dwave_tabu(qubo: qn.Qubo, model: Any, seconds: float, seed: int) -> float:
    from dwave.samplers import TabuSampler

    options = {"num_reads": 1, "timeout": int(1000 * seconds), "seed": seed}
    return float(TabuSampler().sample(model, **options).first.energy)


def openjij_annealing(qubo: qn.Qubo, model: Any, seconds: float, seed: int) -> float:
    import openjij

    def read(sweeps: int, number: int) -> float:
        found = openjij.SASampler().sample(model, num_sweeps=sweeps, seed=number)
        return float(found.first.energy)

    return growing(read, seconds, seed, 10)


def bifurcation(qubo: qn.Qubo, model: Any, seconds: float, seed: int) -> float:
    import simulated_bifurcation
    import torch

    matrix = np.zeros((qubo.variable_count, qubo.variable_count), dtype=np.float32)
    matrix[qubo.rows, qubo.columns] = qubo.couplings
    dense, linear = torch.from_numpy(matrix), torch.from_numpy(qubo.linear.astype(np.float32))

    torch.manual_seed(seed)
    options = {"domain": "binary", "verbose": False, "timeout": seconds, "max_steps": 10**7}
    bits, _ = simulated_bifurcation.minimize(dense, linear, **options)
    return float(qubo.energy(np.rint(bits.numpy()).astype(np.int8)))


SOLVERS: dict[str, Solve] = {
    "SimulatedAnnealing": annealing,
    "PopulationAnnealing": population,
    "dwave SA": dwave_annealing,
    "dwave tabu": dwave_tabu,
    "OpenJij SA": openjij_annealing,
    "simulated-bifurcation": bifurcation,
}
NEEDS = {"dwave": "dwave.samplers", "OpenJij": "openjij", "simulated": "simulated_bifurcation"}


def is_installed(solver: str) -> bool:
    import importlib

    needed = next((module for word, module in NEEDS.items() if solver.startswith(word)), "qubonn")
    try:
        importlib.import_module(needed)
    except ImportError as error:
        print(f"{solver} is left out: {error}", file=sys.stderr)
        return False
    return True


# ---- store and report ----


def store(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    columns = "name text, solver text, seconds real, seed integer, energy real, took real"
    database.execute(f"create table if not exists runs ({columns})")
    return database


def report(
    database: sqlite3.Connection, limits: list[float], names: list[str], solvers: list[str]
) -> None:
    for seconds in limits:
        print(f"\n### {seconds:g} s: mean energy (lowest; runs at the best known, of all runs)\n")
        head("instance", "best known", *solvers)
        for name in names:
            show(name, BEST.get(name, ""), *(cell(database, name, s, seconds) for s in solvers))


def cell(database: sqlite3.Connection, name: str, solver: str, seconds: float) -> str:
    query = "select energy from runs where name = ? and solver = ? and seconds = ?"
    found = [row[0] for row in database.execute(query, (name, solver, seconds))]
    if not found:
        return ""
    reached = sum(energy <= BEST.get(name, -np.inf) for energy in found)
    return f"{np.mean(found):,.1f} ({min(found):,.0f}; {reached} of {len(found)})"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the instances")
    parser.add_argument("--seconds", type=float, nargs="+", default=[1.0, 10.0, 60.0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    parser.add_argument("--store", type=Path, default=STORE, help="SQLite file of all runs")
    parser.add_argument("--most-minutes", type=float, default=float("inf"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
