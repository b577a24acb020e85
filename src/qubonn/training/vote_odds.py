"""What the votes on one output tell: log odds as whole numbers, so that ties stay ties.

Number of members -> evidence, by how many of them say +1. A classifier adds evidence up over
outputs and compares classes; sums of float64 would tell equal ones apart by chance.
"""

import numpy as np
from numpy.typing import NDArray

EVIDENCE_UNIT = 2.0**-20


def vote_evidence(size: int) -> NDArray[np.int64]:
    """Return the log odds of +1 in units of 2**-20, by the number of members that say +1.

    Half a vote is added on both sides, so that nothing is certain.

    >>> vote_evidence(2) * EVIDENCE_UNIT  # none, one or both of two; log(5) is 1.609
    array([-1.60943794,  0.        ,  1.60943794])
    """
    logarithms = np.log(np.arange(size + 1) + 0.5)
    odds = (logarithms - logarithms[::-1]) / EVIDENCE_UNIT
    evidence: NDArray[np.int64] = np.rint(odds).astype(np.int64)
    return evidence
