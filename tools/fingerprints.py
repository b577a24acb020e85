"""Print a hash of what fixed seeds give: QUBOs, samples, networks, committees, C and ONNX.

    python tools/fingerprints.py > before.txt       # in one checkout
    python tools/fingerprints.py > after.txt        # in the other; then diff the two

A change that should not change results leaves every line as it was.
"""

import hashlib
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine

import qubonn as qn

ENGINES = {
    "lifted": qn.LiftedAnnealing(replica_count=32, sweep_count=60),
    "linear": qn.LiftedAnnealing(replica_count=16, sweep_count=40, violation="linear"),
    "forward": qn.ForwardAnnealing(replica_count=4, sweep_count=20),
    "soft": qn.ForwardAnnealing(replica_count=2, sweep_count=20, softness=1.0, margin_cap=8),
}
SAMPLERS = {
    "annealing": qn.SimulatedAnnealing(replica_count=32, sweep_count=50),
    "population": qn.PopulationAnnealing(),
    "momentum": qn.MomentumAnnealing(replica_count=8, step_count=40),
    "tuned": qn.TunedAnnealing(
        annealer=qn.SimulatedAnnealing(replica_count=8, sweep_count=20), evaluation_count=8
    ),
}
STRENGTHS: tuple[dict[str, Any], ...] = (
    {},
    {"margin_strength": 0.02},
    {"output_strength": 3, "product_strength": 2},
)


def main() -> None:
    """Print all lines."""
    letters = qn.datasets.letters(seed=0)
    for number in range(18):
        for strengths in STRENGTHS:
            topology = qn.paper.topology(number)
            data = letters.train_inputs, letters.train_outputs
            problem = qn.TrainingProblem(topology, *data, **strengths)
            show(f"qubo {number} {strengths}", *qubo_parts(problem.qubo()))
    for number in (2, 5, 7, 10):
        problem = qn.TrainingProblem(qn.paper.topology(number), *data, margin_strength=0.02)
        for name, sampler in SAMPLERS.items():
            samples = sampler.sample(problem.qubo(), seed=number)
            show(f"{name} {number}", samples.bits, samples.energies)
        for name, engine in ENGINES.items():
            result = qn.train(problem, engine, seed=number)
            show(f"{name} {number}", *parameters(result.networks), result.energies)
            show_exports(f"{name} {number}", result.network, result.committee(3))
        dropout = qn.Dropout(dropped_hidden=1, iteration_count=4)
        dropped = qn.train_with_dropout(problem, dropout, seed=number)
        show(f"dropout {number}", *parameters(dropped.networks))
    show_classifiers()


def show_classifiers() -> None:
    """Print what classifiers learn from four tables."""
    for name, load in (("iris", load_iris), ("wine", load_wine), ("digits", load_digits)):
        X, y = load(return_X_y=True)
        for settings in ({}, {"label_code": "gray_code", "hidden": (16, 8)}):
            classifier = qn.QuboClassifier(committee_size=3, random_state=0, **settings)
            classifier.fit(X[::2], y[::2])
            show(f"{name} {[*settings]}", classifier.predict_proba(X[1::2]))
            show(f"{name} {[*settings]}", *parameters(classifier.committee_.members))
            show_exports(f"{name} {[*settings]}", classifier)
    images, y = np.kron(X[:200].reshape(-1, 8, 8), np.ones((3, 3))), y[:200]
    for settings in ({}, {"topology": "conv(7x7x2)+fc(8)", "solver": ENGINES["forward"]}):
        classifier = qn.QuboClassifier(committee_size=2, random_state=3, **settings)
        show(f"images {[*settings]}", *parameters(classifier.fit(images, y).committee_.members))
        show_exports(f"images {[*settings]}", classifier)


def show_exports(name: str, *models: Any) -> None:
    """Print C and ONNX of models."""
    for model in models:
        kind = type(model).__name__
        show(f"c {name} {kind}", np.frombuffer(qn.to_c(model).encode(), np.uint8))
        onnx = qn.to_onnx(model).SerializeToString(deterministic=True)
        show(f"onnx {name} {kind}", np.frombuffer(onnx, np.uint8))


def show(name: str, *arrays: Any) -> None:
    """Print the hash of some arrays behind a name."""
    digest = hashlib.sha256()
    for array in map(np.ascontiguousarray, arrays):
        digest.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
    print(digest.hexdigest()[:16], name)


def qubo_parts(qubo: qn.Qubo) -> tuple[Any, ...]:
    """Return what a QUBO is made of."""
    return qubo.linear, qubo.rows, qubo.columns, qubo.couplings, qubo.offset


def parameters(networks: Any) -> tuple[Any, Any]:
    """Return weights and biases of networks."""
    return np.stack([one.weight_spins for one in networks]), np.stack(
        [one.bias_spins for one in networks]
    )


if __name__ == "__main__":
    main()
