"""How long the first call on a machine compiles: each call in a new process with an empty cache.

    python benchmarks/first_run.py [--functions 8] [call ...]

Seconds of processor time in Numba's compiler, from its own events; the list has the functions with
most time of their own, without what they call. Run it on an idle machine.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import qubonn

CALLS = {
    "fit iris": "from sklearn.datasets import load_iris\n"
    "qn.QuboClassifier(random_state=0).fit(*load_iris(return_X_y=True))",
    "fit digits": "from sklearn.datasets import load_digits\n"
    "X, y = load_digits(return_X_y=True)\n"
    "qn.QuboClassifier(random_state=0).fit(X[:600], y[:600])",
    "fit a convolution": "from sklearn.datasets import load_digits\n"
    "X, y = load_digits(return_X_y=True)\n"
    "classifier = qn.QuboClassifier(topology='conv(3x3x4)+fc(32)', committee_size=1)\n"
    "classifier.fit(X[:600].reshape(-1, 8, 8), y[:600])",
    "soft credit": "import numpy as np\n"
    "generator, topology = np.random.default_rng(0), qn.Topology.dense(20, 8, 8, 3)\n"
    "X, classes = generator.choice([-1, 1], (500, 20)), generator.integers(0, 3, 500)\n"
    "problem = qn.TrainingProblem(topology, X, 2 * np.eye(3, dtype=int)[classes] - 1)\n"
    "qn.ForwardAnnealing(reading='largest', softness=0.5, sweep_count=3).solve(problem)",
    "train letters": "letters = qn.datasets.letters(seed=0)\n"
    "topology = qn.Topology.parse('fc(4)', inputs=(5, 5), outputs=2)\n"
    "qn.train(qn.TrainingProblem(topology, letters.train_inputs, letters.train_outputs))",
    "SimulatedAnnealing": "qn.SimulatedAnnealing(replica_count=64).sample(QUBO, seed=0)",
    "PopulationAnnealing": "qn.PopulationAnnealing(replica_count=64).sample(QUBO, seed=0)",
    "MomentumAnnealing": "qn.MomentumAnnealing(replica_count=64).sample(QUBO, seed=0)",
    "predict": "import numpy as np\n"
    "network = qn.BinaryNetwork.random(qn.Topology.dense(784, 128, 10), seed=0)\n"
    "network.predict_outputs(np.ones((10_000, 784)))",
    "demo": "from click.testing import CliRunner\nfrom qubonn.cli import main\n"
    "assert CliRunner().invoke(main, ['demo', '-o', FOLDER]).exit_code == 0",
}
PROGRAM = """
import json, sys, tempfile, time
import numba
from numba.core import event
import qubonn as qn

FOLDER = tempfile.mkdtemp()
QUBO = qn.Qubo.of([0, 1], [1, 2], [1, -2], variable_count=3)
begun, found = [], {{}}

class Listener(event.Listener):
    def on_start(self, one):
        begun.append([one.data["dispatcher"].py_func, time.process_time(), 0.0])

    def on_end(self, one):
        function, start, inner = begun.pop()
        spent = time.process_time() - start
        if begun:
            begun[-1][2] += spent
        name = f"{{function.__module__}}.{{function.__qualname__}}"
        own, whole, count = found.get(name, (0.0, 0.0, 0))
        found[name] = own + spent - inner, whole + (not begun) * spent, count + 1

event.register("numba:compile", Listener())
start = time.process_time()
{call}
print(json.dumps([time.process_time() - start, found]), file=sys.stderr)
"""


def measured(call: str) -> tuple[float, dict[str, tuple[float, float, int]]]:
    """Return the seconds of a call, and by function: own, outermost, and specialisations."""
    with tempfile.TemporaryDirectory() as folder:
        # a copy, because a cache beside the source is read too
        copy = shutil.copytree(
            Path(qubonn.__file__).parent,
            Path(folder, "src", "qubonn"),
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        environment = {
            **os.environ,
            "NUMBA_CACHE_DIR": str(Path(folder, "cache")),
            "NUMBA_NUM_THREADS": "1",
            "PYTHONPATH": str(copy.parent),
        }
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(call=call)],
            check=True, text=True, env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )  # fmt: skip
    seconds, found = json.loads(done.stderr.splitlines()[-1])
    return seconds, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calls", nargs="*", metavar="call", help=f"of {', '.join(CALLS)}")
    parser.add_argument("--functions", type=int, default=8, help="that are listed for each call")
    options = parser.parse_args()
    for name in options.calls or CALLS:
        seconds, found = measured(CALLS[name])
        compiling = sum(whole for _, whole, _ in found.values())
        print(f"{name}: {compiling:.1f} s of compiling in {seconds:.1f} s")
        longest = sorted(found.items(), key=lambda item: -item[1][0])[: options.functions]
        for function, (own, _, count) in longest:
            print(f"    {own:6.2f} s  {count} x  {function}")


if __name__ == "__main__":
    main()
