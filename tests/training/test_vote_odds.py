import numpy as np
import pytest

from qubonn.training.vote_odds import EVIDENCE_UNIT, vote_evidence


@pytest.mark.parametrize("size", [1, 2, 3, 10, 1000])
def test_evidence_is_the_log_odds_of_votes_and_fair(size: int) -> None:
    evidence = vote_evidence(size)
    share = (np.arange(size + 1) + 0.5) / (size + 1)
    assert np.allclose(evidence * EVIDENCE_UNIT, np.log(share / (1 - share)), atol=1e-6)
    assert (evidence == -evidence[::-1]).all()
    assert (np.diff(evidence) > 0).all()
