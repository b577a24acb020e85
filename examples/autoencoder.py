"""An autoencoder: a network trained to reproduce its inputs.

Four letters of 25 pixels are encoded by five neurons and reproduced exactly; most damaged letters
are restored.
"""

import numpy as np

import qubonn as qn

letters = qn.datasets.letters(seed=0)
images = letters.train_inputs

topology = qn.Topology.dense(25, 5, 25)
problem = qn.TrainingProblem(topology, images, outputs=images, margin_strength=0.02)
result = qn.train(problem, seed=0)
print(topology)
print(result.certificate())
assert result.is_feasible
assert (result.network.predict_outputs(images) == images).all()

# the activations of the five hidden neurons: a code for each letter
codes = result.network.forward(images).activation_spins[:, 25:30]
print("codes:", ["".join("+" if spin > 0 else "-" for spin in code) for code in codes])
assert len(np.unique(codes, axis=0)) == len(images)

# ten copies of each letter with two pixels inverted
originals = {tuple(code): image for code, image in zip(letters.train_outputs, images, strict=True)}
wanted = np.array([originals[tuple(code)] for code in letters.test_outputs])
restored = result.network.predict_outputs(letters.test_inputs)
print("pixels wrong before:", np.mean((letters.test_inputs != wanted).sum(axis=1)))
print("pixels wrong after: ", np.mean((restored != wanted).sum(axis=1)))
assert (restored == wanted).all(axis=1).mean() > 0.5
