"""What every QUBO sampler is.

Qubo -> Samples.
"""

from typing import Protocol, runtime_checkable

from qubonn.quadratic import Qubo, Samples
from qubonn.stopping import Report


@runtime_checkable
class Sampler(Protocol):
    """Anything that turns a QUBO into samples.

    The same `seed` gives the same samples whatever the number of threads. After `time_limit`
    seconds, on Ctrl-C, or once a state at or below `target_energy` is there, the states so far come
    back, and ``samples.stop`` says why. `report` is called now and then with a `Progress`; it may
    return True to stop the run.
    """

    def sample(
        self,
        qubo: Qubo,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
    ) -> Samples:
        """Return states of the QUBO, lowest energy first."""
        ...
