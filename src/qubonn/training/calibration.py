"""Calibration: how much the votes of a committee count, set on examples that it has not seen.

Scores of left-out examples, their classes -> Calibration.
"""

from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector

MOST_SHARPNESS = exp(4)
WORTH = 4.0  # log likelihood that the classes' shares must gain to be used
MOST_OFFSET = 2**20  # of a vote; sums of votes and offsets are exact in float32


@dataclass(frozen=True)
class Calibration:
    """Scores are multiplied by `sharpness` after `pulls`, one for each class, are added.

    Pulls are in logarithms of probabilities; none are added if there are none. On examples whose
    classes do not depend on the inputs, sharpness is near 0 and pulls give the classes' shares.

    >>> scores = np.log([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]] * 25)
    >>> class_of = np.array([0, 1, 1, 0] * 25)  # right half of the time
    >>> Calibration.fit(scores, class_of).sharpness < 0.2
    True
    """

    sharpness: float = 1.0
    pulls: tuple[float, ...] = ()

    @classmethod
    def fit(
        cls,
        scores: NDArray[np.float64],
        class_of: IntVector,
        weights: NDArray[np.float64] | None = None,
        *,
        has_pulls: bool = True,
    ) -> "Calibration":
        """Return the calibration with the least log loss on left-out examples.

        It is kept near 1 where examples are few. The classes' shares are used only if they gain
        more than chance, and only if scores are votes, to which they can be added.
        """
        from scipy.optimize import minimize

        weights = np.ones(len(class_of)) if weights is None else weights * (1 / weights.mean())
        counts = np.bincount(class_of, weights, minlength=scores.shape[1]) + 0.5
        shares = np.log(counts / counts.sum())

        def loss(settings: NDArray[np.float64]) -> float:
            sharpness, pull = np.exp(settings[0]), settings[1]
            logits = sharpness * scores + pull * shares
            logits -= logits.max(axis=1, keepdims=True)
            each = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(class_of)), class_of]
            return float(weights @ each + 0.5 * (settings**2).sum())

        most = np.log(MOST_SHARPNESS)
        plain, pulled = (
            minimize(loss, [0.0, 0.0], method="L-BFGS-B", bounds=[(-most, most), (0, limit)])
            for limit in (0.0, 2.0)
        )
        if not has_pulls or plain.fun - pulled.fun < WORTH:
            return cls(float(np.exp(plain.x[0])))
        sharpness, pull = float(np.exp(pulled.x[0])), float(pulled.x[1])
        return cls(sharpness, tuple((pull / sharpness * (shares - shares.max())).tolist()))

    def offsets(self, scale: float) -> IntVector | None:
        """Return the pulls as whole votes, `scale` of which change a score by one; None if zero."""
        votes = np.rint(np.clip(np.array(self.pulls) * scale, -MOST_OFFSET, 0)).astype(np.int64)
        return votes if votes.any() else None
