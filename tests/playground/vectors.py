"""Write what the playground must compute: the file that the tests of its engine read.

    python tests/playground/vectors.py

Everything in ``playground/tests/vectors.json`` comes from this package; `test_replay` checks that
the file is what the package gives today.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import qubonn as qn
from qubonn.playground import images_with_two_flips, replay
from qubonn.playground.replay import decay, generator, logarithm, temperatures

FILE = Path(__file__).parents[2] / "playground" / "tests" / "vectors.json"
UNIT = 1000

Case = dict[str, Any]

LAYERS: list[Case] = [
    {"notation": "fc(3)", "inputs": [1, 5, 5], "outputs": 2},
    {"notation": "conv(3x3x2)+fc(4)", "inputs": [1, 5, 5], "outputs": 2},
    {"notation": "conv(2x2)", "inputs": [1, 3, 3], "outputs": 1},
    {"notation": "fc(2, levels=3, thresholds=4)+out(levels=3)", "inputs": [6], "outputs": 2},
    {"notation": "conv(2x2, levels=3, thresholds=3)+fc(2)", "inputs": [1, 3, 3], "outputs": 3},
    {"notation": "fc(3)+out(skip)", "inputs": [4], "outputs": 2},
    {"notation": "fc(2)+fc(2, levels=3, skip)+out(thresholds=3)", "inputs": [5], "outputs": 1},
]


def topology_of(case: Case) -> qn.Topology:
    """The topology of a case; layers with `skip` also read the inputs, and come as arcs."""
    if "skip" not in case["notation"]:
        shape = case["inputs"][1:] if len(case["inputs"]) == 3 else case["inputs"][0]
        return qn.Topology.parse(case["notation"], inputs=shape, outputs=case["outputs"])
    return SKIPPING[case["notation"]]


def _skipping() -> dict[str, qn.Topology]:
    """Written out by hand: targets in order, for each its sources in order."""
    first = [(source, target) for target in (4, 5, 6) for source in range(4)]
    last = [(source, target) for target in (7, 8) for source in range(7)]
    plain = qn.Topology.from_arcs(first + last, inputs=4, outputs=2)
    # five inputs, the constant 5, hidden 6 and 7, hidden 8 and 9, output 10
    arcs = [(source, target) for target in (6, 7) for source in range(5)]
    for target in (8, 9):
        arcs += [(source, target) for source in [*range(5), 6, 7] for _ in range(2)]
    arcs += [(8, 10), (9, 10), (5, 10)]
    levelled = qn.Topology.from_arcs(arcs, inputs=6, outputs=1, has_constant=True)
    notations = [case["notation"] for case in LAYERS if "skip" in str(case["notation"])]
    return dict(zip(notations, (plain, levelled), strict=True))


SKIPPING = _skipping()


def problem_of(case: Case) -> qn.TrainingProblem:
    """The problem of a case, with strengths in thousandths."""
    topology = topology_of(case)
    field = qn.Field.zero(topology)
    if "field" in case:
        strengths = np.array(case["field"]) / UNIT
        field = qn.Field(*np.split(strengths, [topology.weight_count]))
    return qn.TrainingProblem(
        topology,
        case["examples"],
        case["wanted"],
        product_strength=case.get("product", UNIT) / UNIT,
        margin_strength=case.get("margin", 0) / UNIT,
        field=field,
    )


def cases() -> Iterator[Case]:
    """Problems: the letters with several networks, and random ones with every option."""
    letters = qn.datasets.letters(seed=0)
    for number, margin in ((10, 0), (5, 20), (2, 0), (10, 700)):
        yield {
            "notation": qn.paper.NOTATIONS[number],
            "inputs": [1, 5, 5],
            "outputs": 2,
            "examples": letters.train_inputs.tolist(),
            "wanted": letters.train_outputs.tolist(),
            "margin": margin,
        }
    random = np.random.default_rng(7)
    for layers in LAYERS[2:]:
        topology = topology_of(layers)
        yield {
            **layers,
            "examples": (2 * random.integers(2, size=(3, topology.column_count)) - 1).tolist(),
            "wanted": (2 * random.integers(2, size=(3, topology.output_count)) - 1).tolist(),
            "product": 1500,
            "margin": 35,
            "field": random.integers(
                -200, 200, size=topology.weight_count + topology.neuron_count
            ).tolist(),
        }


def topologies() -> list[Case]:
    """Arcs of several networks."""
    found = []
    for case in LAYERS:
        topology = topology_of(case)
        arcs = {name: getattr(topology, name).tolist() for name in ("source_of", "target_of")}
        arcs["weight_of"] = topology.weight_of.tolist()
        found.append({**case, "nodes": topology.node_count, **arcs})
    return found


def paper_sizes() -> list[list[int]]:
    """The counts of the 18 networks of the paper, as this package computes them."""
    letters, sizes = qn.datasets.letters(seed=0), []
    for number in range(len(qn.paper.NOTATIONS)):
        topology = qn.paper.topology(number)
        problem = qn.TrainingProblem(topology, letters.train_inputs, letters.train_outputs)
        sizes.append([*vars(problem.size).values(), problem.qubo().coupling_count])
    return sizes


def energies(case: Case) -> Case:
    """Terms and violations of random assignments, and the QUBO's coefficients."""
    problem, random = problem_of(case), np.random.default_rng(3)
    qubo, states = problem.qubo(), []
    for _ in range(4):
        bits = random.integers(0, 2, size=qubo.variable_count, dtype=np.int8)
        terms, violations = problem.terms(bits), problem.violations(bits)
        assert abs(qubo.energy(bits) - terms.total) < 1e-6
        states.append(
            {
                "bits": _text(bits),
                "terms": [terms.activation, terms.product, terms.margin, round(UNIT * terms.field)],
                "broken": [len(violations.activation), len(violations.product)],
                "energy": round(UNIT * terms.total),
            }
        )
    thousandths = np.rint(UNIT * qubo.couplings).astype(int)
    checksum = int((thousandths * (qubo.rows * 31 + qubo.columns * 17 + 1)).sum())
    linear = np.rint(UNIT * np.asarray(qubo.linear)).astype(int).tolist()
    offset = round(UNIT * qubo.offset)
    return {
        "case": case,
        "states": states,
        "linear": linear,
        "offset": offset,
        "couplings": [qubo.coupling_count, checksum],
    }


def runs(case: Case, sweeps: int) -> Iterator[Case]:
    """Replicas annealed in both views."""
    for view, replica in (("lifted", 0), ("lifted", 3), ("qubo", 0), ("qubo", 5)):
        done = replay(problem_of(case), view=view, seed=11, replica=replica, sweeps=sweeps)  # type: ignore[arg-type]
        yield {
            "view": view,
            "replica": replica,
            "seed": 11,
            "sweeps": sweeps,
            "energies": done.energies.tolist(),
            "flips": done.flip_count,
            "bits": _text(done.bits),
        }


def networks() -> Iterator[Case]:
    """Forward passes, votes and robustness of random networks."""
    for case in LAYERS:
        topology, random = topology_of(case), np.random.default_rng(5)
        members = [qn.BinaryNetwork.random(topology, seed=seed) for seed in range(5)]
        inputs = 2 * random.integers(2, size=(3, topology.column_count)) - 1
        committee = qn.Committee(members)
        yield {
            **case,
            "spins": [[*m.weight_spins.tolist(), *m.bias_spins.tolist()] for m in members],
            "images": inputs.tolist(),
            "sums": members[0].pre_activations(inputs).tolist(),
            "votes": committee.votes(inputs).tolist(),
            "flips": members[0].robustness(inputs).flips.tolist(),
            "committee_flips": committee.robustness(inputs).flips.tolist(),
        }


def vectors() -> Case:
    """Everything, as the file has it."""
    letters = qn.datasets.letters(seed=0)
    streams = [(0, 0), (1, 0), (1, 63), (4294967295, 7), (12345, 2**20 + 3)]
    numbers = [0.0, 0.1, 0.5, 1.0, 2.5, 10.0, 21.9, 43.1]
    return {
        "random": [[*one, _first_numbers(*one)] for one in streams],
        "decay": [[x, decay(x)] for x in numbers[:-1]],
        "logarithm": [[x, logarithm(x)] for x in numbers[1:]],
        "temperatures": [5.0, 0.116, 40, temperatures(40, 5.0, 0.116)],
        "images": [
            images_with_two_flips(image, seed=9, class_number=number).tolist()
            for number, image in enumerate(letters.train_inputs)
        ],
        "gray": [qn.CodeBook.gray_code(range(n)).codewords.tolist() for n in range(2, 9)],
        "topologies": topologies(),
        "sizes": paper_sizes(),
        "energies": [energies(case) for case in cases()],
        "runs": [
            {"case": case, "runs": list(runs(case, sweeps=20 if number < 4 else 60))}
            for number, case in enumerate(cases())
        ],
        "networks": list(networks()),
    }


def _first_numbers(seed: int, stream: int) -> list[int]:
    draw = generator(seed, stream)
    return [draw() for _ in range(6)]


def _text(bits: Any) -> str:
    return "".join(map(str, bits.tolist()))


def text_of(found: Case) -> str:
    """One line for each entry, so that changes are readable."""
    parts = [
        f'"{name}": {json.dumps(value, separators=(",", ":"))}' for name, value in found.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text_of(vectors()), encoding="utf-8")
