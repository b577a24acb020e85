"""QUBO samplers on the paper's 18 networks: speed, outcome, and time to solution.

    python benchmarks/samplers.py [speed] [defaults] [outcome] [solution]

Without arguments: all four tables, in about half an hour on two cores. Data: the letters, seed 0.
speed     SimulatedAnnealing and dwave-samplers: 1,000 reads x 1,000 sweeps, 1/T from 0.2 to 8.6
defaults  temperatures computed from the QUBO, and dwave-samplers' default range
outcome   unsatisfied constraints, compared with the paper's table
solution  time to the proved optimum with 99 % probability, for all solvers
"""

import sys
from functools import partial
from math import log
from typing import Any

import numpy as np
from dwave.samplers import SimulatedAnnealingSampler, TabuSampler

import qubonn as qn
import qubonn.samplers
from printing import head, problem_of, show, timed

NETWORKS = range(18)
OPTIMUM = {8: 2, 9: 1}  # proved by CP-SAT; 0 for all others
# paper, tab:results-oneshot: mean fraction of unsatisfied constraints, in percent
PAPER_PERCENT = [0.6875, 4.6782, 0.7845, 2.8549, 2.6483, 0.0, 0.0865, 2.2917, 10.0]
PAPER_PERCENT += [3.1250, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0086, 0.0273]
HOTTEST, COLDEST = 1 / 0.2, 1 / 8.6  # the paper's dropout runs


def main() -> None:
    tables = {"speed": speed, "defaults": defaults, "outcome": outcome, "solution": solution}
    chosen = sys.argv[1:] or list(tables)
    unknown = set(chosen) - set(tables)
    if unknown:
        sys.exit(f"tables are {', '.join(tables)}; got {', '.join(unknown)}")
    qn.SimulatedAnnealing(replica_count=100, sweep_count=2).sample(problem_of(8).qubo())  # compile
    for name in chosen:
        tables[name]()
        print(flush=True)


# ---- speed ----


def speed() -> None:
    print("### Speed: 1,000 reads x 1,000 sweeps, 1/T from 0.2 to 8.6\n")
    print(
        "dwave-samplers sweeps in the sorted order of the variables' names, which matters: mean E"
    )
    print("with the labels as names (as `qubo.to_dimod()` gives them), and with their numbers.\n")
    head(
        "network",
        "bits",
        "qubonn s",
        "dwave s",
        "ratio",
        "mean E",
        "dwave, labels",
        "dwave, numbers",
        "at optimum %",
        "dwave %",
        "proposals/s",
    )
    for number in NETWORKS:
        compare_speed(number, problem_of(number).qubo())


def compare_speed(number: int, qubo: qn.Qubo) -> None:
    annealer = qn.SimulatedAnnealing(hottest=HOTTEST, coldest=COLDEST)
    runs = [timed(partial(annealer.sample, qubo, seed=seed)) for seed in range(5)]
    ours = min(seconds for seconds, _ in runs)
    energies = np.concatenate([samples.energies for _, samples in runs])
    dwave = [timed(partial(dwave_anneal, model)) for model in (qubo.to_dimod(), numbered(qubo))]
    theirs = min(seconds for seconds, _ in dwave)
    labels, numbers = (np.rint(found.record.energy) for _, found in dwave)
    optimum = OPTIMUM.get(number, 0)
    show(
        number,
        qubo.variable_count,
        f"{ours:.3f}",
        f"{theirs:.2f}",
        f"{theirs / ours:.1f}x",
        f"{energies.mean():.2f}",
        f"{labels.mean():.2f}",
        f"{numbers.mean():.2f}",
        f"{100 * np.mean(energies == optimum):.1f}",
        f"{100 * np.mean(np.concatenate([labels, numbers]) == optimum):.1f}",
        f"{qubo.variable_count * 1e6 / ours:.2e}",
    )


def dwave_anneal(model: Any) -> Any:
    return SimulatedAnnealingSampler().sample(
        model,
        num_reads=1000,
        num_sweeps=1000,
        beta_range=(0.2, 8.6),
        beta_schedule_type="geometric",
        seed=1,
    )


def numbered(qubo: qn.Qubo) -> Any:
    """The dimod model in qubonn's order: dwave-samplers sweeps in sorted order of the labels."""
    names = {label: number for number, label in enumerate(qubo.labels)}
    return qubo.to_dimod().relabel_variables(names, inplace=False)


# ---- default temperatures ----


def defaults() -> None:
    print("### Default temperatures: mean (best) final energy of 300 reads x 1,000 sweeps\n")
    head("network", "qubonn default", "dwave-samplers default", "1/T 0.2 to 8.6", "default T range")
    for number in NETWORKS:
        qubo = problem_of(number).qubo()
        own = qn.SimulatedAnnealing(replica_count=300).sample(qubo, seed=0)
        paper = qn.SimulatedAnnealing(replica_count=300, hottest=HOTTEST, coldest=COLDEST)
        fixed = paper.sample(qubo, seed=0)
        found = SimulatedAnnealingSampler().sample(
            numbered(qubo), num_reads=300, num_sweeps=1000, seed=1
        )
        show(
            number,
            f"{own.energies.mean():.2f} ({own.best_energy})",
            f"{found.record.energy.mean():.2f} ({found.record.energy.min():.0f})",
            f"{fixed.energies.mean():.2f} ({fixed.best_energy})",
            f"{own.info['hottest']:.2f} to {own.info['coldest']:.3f}",
        )


# ---- outcome ----


def outcome() -> None:
    print(
        "### Outcome: best of 1,000 replicas x 1,000 sweeps; unsatisfied constraints in percent\n"
    )
    print(
        "One anneal, temperatures tuned once per network (20 anneals), 10 runs; each run tunes its"
    )
    print(
        "own temperatures and keeps the best of its 100 anneals, 3 runs; one population anneal with"
    )
    print("temperatures from the QUBO, 10 runs. In brackets: runs that reach the proved optimum.\n")
    head("network", "paper", "one anneal", "each run tunes", "one population anneal")
    for number in NETWORKS:
        problem = problem_of(number)
        optimum = OPTIMUM.get(number, 0)
        tuning = qn.tune(problem.qubo(), evaluation_count=20, seed=1000)
        samplers: list[tuple[qubonn.samplers.Sampler, int]] = [
            (tuning.apply(qn.SimulatedAnnealing()), 10),
            (qn.TunedAnnealing(evaluation_count=100), 3 if number in (0, 2, 3, 6) else 0),
            (qn.PopulationAnnealing(), 10),
        ]
        cells = [outcome_of(problem, optimum, sampler, runs) for sampler, runs in samplers]
        show(number, f"{PAPER_PERCENT[number]:.4f}", *cells)


def outcome_of(
    problem: qn.TrainingProblem, optimum: int, sampler: qubonn.samplers.Sampler, run_count: int
) -> str:
    if run_count == 0:
        return ""
    qubo = problem.qubo()
    best = [
        sampler.sample(qubo, seed=seed, target_energy=optimum).best for seed in range(run_count)
    ]
    percent = np.mean([100 * problem.violations(bits).fraction for bits in best])
    reached = sum(qubo.energy(bits) == optimum for bits in best)
    return f"{percent:.4f} ({reached} of {run_count})"


# ---- time to solution ----


def solution() -> None:
    print("### Seconds to the proved optimum with 99 % probability\n")
    head("network", "annealing", "population", "tabu (dwave)", "momentum", "CP-SAT")
    for number in NETWORKS:
        problem = problem_of(number)
        qubo, optimum = problem.qubo(), OPTIMUM.get(number, 0)
        show(
            number,
            annealing(qubo, optimum),
            population(qubo, optimum),
            tabu(qubo, optimum),
            momentum(qubo, optimum),
            cp_sat(problem, optimum),
        )


def until_99(seconds_a_try: float, successes: int, tries: int) -> str:
    if successes == 0:
        return f"never in {tries} tries"
    chance = successes / tries
    factor = 1.0 if chance == 1 else max(log(0.01) / log(1 - chance), 1.0)
    return f"{seconds_a_try * factor:.3g} ({100 * chance:.3g} % of {tries})"


def annealing(qubo: qn.Qubo, optimum: int) -> str:
    """Each replica is one try."""
    seconds, samples = timed(lambda: qn.SimulatedAnnealing(replica_count=4096).sample(qubo, seed=5))
    return until_99(seconds / 4096, int((samples.energies == optimum).sum()), 4096)


def population(qubo: qn.Qubo, optimum: int) -> str:
    """Replicas depend on each other: a try is a population of 256, stopped at the optimum."""
    sampler = qn.PopulationAnnealing(replica_count=256)
    runs = [
        timed(partial(sampler.sample, qubo, seed=seed, target_energy=optimum)) for seed in range(10)
    ]
    reached = sum(samples.best_energy == optimum for _, samples in runs)
    return until_99(float(np.mean([seconds for seconds, _ in runs])), reached, 10)


def tabu(qubo: qn.Qubo, optimum: int) -> str:
    solver = qn.DimodSolver(TabuSampler(), {"num_reads": 1, "timeout": 1000})
    runs = [
        timed(partial(solver.sample, qubo, seed=seed, target_energy=optimum)) for seed in range(3)
    ]
    reached = sum(samples.best_energy == optimum for _, samples in runs)
    return until_99(float(np.mean([seconds for seconds, _ in runs])), reached, 3)


def momentum(qubo: qn.Qubo, optimum: int) -> str:
    sampler = qn.MomentumAnnealing(replica_count=256, step_count=1000)
    seconds, samples = timed(lambda: sampler.sample(qubo, seed=5))
    return until_99(seconds / 256, int((samples.energies == optimum).sum()), 256)


def cp_sat(problem: qn.TrainingProblem, optimum: int) -> str:
    solver = qn.CpSat()
    ask = solver.find_feasible if optimum == 0 else solver.fewest_violations
    runs = [timed(partial(ask, problem, seed=seed)) for seed in range(10)]
    assert all(result.value == optimum for _, result in runs)
    return f"{np.percentile([seconds for seconds, _ in runs], 99):.3g} (proves it)"


if __name__ == "__main__":
    main()
