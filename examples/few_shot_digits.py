"""Few-shot learning: a committee of +-1 networks from ten images per digit.

scikit-learn's digits, 8 x 8 pixels -> QuboClassifier -> test accuracy.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import qubonn as qn

SHOTS = 10  # training images per class

images, digits = load_digits(return_X_y=True)
few, rest, few_digits, rest_digits = train_test_split(
    images, digits, train_size=SHOTS * 10, stratify=digits, random_state=0
)

classifier = qn.QuboClassifier(hidden=(32,), committee_size=10, random_state=0)
classifier.fit(few, few_digits)

accuracy = classifier.score(rest, rest_digits)
spins = classifier.binariser_.encode(rest)
members = classifier.committee_.members
singles = [
    (m.pre_activations(spins)[:, -10:].argmax(axis=1) == rest_digits).mean() for m in members
]
print(f"{len(few)} training images, {len(rest)} test images")
print(f"one network   {np.mean(singles):.3f}")
print(f"ten networks  {accuracy:.3f}")

# all weights are -1 or +1
assert all(set(np.unique(m.weight_spins)) == {-1, 1} for m in members)
assert accuracy > 0.8
assert accuracy > np.mean(singles)
