"""Every engine in one file passes one contract. A new engine adds one class."""

import qubonn as qn
from qubonn.engines import Engine
from qubonn.testing import EngineContract

LONG, MANY = 10**6, 256  # sweeps and replicas: minutes of work, but few temperatures to list


class TestLiftedAnnealing(EngineContract):
    def make_engine(self) -> Engine:
        return qn.LiftedAnnealing(replica_count=64, sweep_count=200)

    def make_long_engine(self) -> Engine:
        return qn.LiftedAnnealing(replica_count=MANY, sweep_count=LONG)


class TestForwardAnnealing(EngineContract):
    has_own_energies = True

    def make_engine(self) -> Engine:
        return qn.ForwardAnnealing(replica_count=16, sweep_count=200)

    def make_long_engine(self) -> Engine:
        return qn.ForwardAnnealing(replica_count=MANY, sweep_count=LONG)
