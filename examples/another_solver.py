"""The road through somebody else's Ising machine, and back with a certificate.

Problem -> file -> their samples -> network.  "Their machine" is dwave-samplers if it is installed,
else a sampler of ours; a QPU is used the same way.
"""

import tempfile
from pathlib import Path

import dimod

import qubonn as qn


def their_machine() -> dimod.Sampler:
    """Return any dimod sampler."""
    try:
        from dwave.samplers import SimulatedAnnealingSampler
    except ImportError:
        return qn.AnnealingSampler()
    return SimulatedAnnealingSampler()


letters = qn.datasets.letters(seed=0)
problem = qn.TrainingProblem(qn.paper.topology(10), letters.train_inputs, letters.train_outputs)

with tempfile.TemporaryDirectory() as folder:
    # what we send: dimod's own file; .qubo, .json and .npz hold the same
    path = Path(folder) / "letters.bqm"
    problem.qubo().save(path)
    with path.open("rb") as file:
        model = dimod.BinaryQuadraticModel.from_file(file)

# what they do; their default temperatures are too hot for these QUBOs
answers = their_machine().sample(
    model, num_reads=200, num_sweeps=1000, beta_range=(0.2, 8.6), seed=0
)
print(f"{model.num_variables} variables; lowest energy sampled: {answers.first.energy:g}")

# what we make of it: repair, forward pass, judge
qubo = problem.qubo()
states = dimod.as_samples(answers)
columns = [states[1].index(label) for label in qubo.labels]
decoding = qn.decode_samples(problem, qn.Samples.of(qubo, states[0][:, columns]))
result = decoding.result
print(f"samples that satisfy everything: {decoding.feasible_as_sampled} of {len(answers)}")
print(f"after repair: {decoding.feasible_after_repair}")
print(result.certificate())
assert result.is_feasible
accuracy = result.network.accuracy(letters.test_inputs, letters.test_outputs)
print("accuracy on damaged letters:", accuracy)
