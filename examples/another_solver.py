"""Train with an external Ising solver, and certify the result.

Problem -> file -> samples -> network.  The external solver is dwave-samplers if it is installed,
otherwise a sampler of qubonn; a QPU is used in the same way.
"""

import tempfile
from pathlib import Path

import dimod

import qubonn as qn


def external_sampler() -> dimod.Sampler:
    """Return any dimod sampler."""
    try:
        from dwave.samplers import SimulatedAnnealingSampler
    except ImportError:
        return qn.AnnealingSampler()
    return SimulatedAnnealingSampler()


letters = qn.datasets.letters(seed=0)
problem = qn.TrainingProblem(qn.paper.topology(10), letters.train_inputs, letters.train_outputs)

with tempfile.TemporaryDirectory() as folder:
    # write the problem as a dimod file; the other formats hold the same
    path = Path(folder) / "letters.bqm"
    problem.qubo().save(path)
    with path.open("rb") as file:
        model = dimod.BinaryQuadraticModel.from_file(file)

# the external solver; its default temperatures are too hot for these QUBOs
sample_set = external_sampler().sample(
    model, num_reads=200, num_sweeps=1000, beta_range=(0.2, 8.6), seed=0
)
print(f"{model.num_variables} variables; lowest energy sampled: {sample_set.first.energy:g}")

# decode the samples: repair them, run the forward pass, evaluate
decoding = qn.decode_samples(problem, qn.Samples.from_dimod(sample_set, problem.qubo()))
result = decoding.result
print(f"feasible samples: {decoding.feasible_as_sampled} of {len(sample_set)}")
print(f"after repair: {decoding.feasible_after_repair}")
print(result.certificate())
assert result.is_feasible
accuracy = result.network.accuracy(letters.test_inputs, letters.test_outputs)
print("accuracy on damaged letters:", accuracy)
