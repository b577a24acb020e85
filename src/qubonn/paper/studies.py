"""The paper's three studies: settings of its tables, one run of either engine, and its measures.

Setting, seed -> record.  Paper, sections "Experimental set-up", "Analysis of network
architectures", "Maximising sum of margins" and "A dropout algorithm".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import SpinMatrix, require_count
from qubonn.datasets import letters
from qubonn.engines import LiftedAnnealing
from qubonn.errors import RangeError
from qubonn.experiments.store import Row
from qubonn.experiments.study import Record, Setting, Study
from qubonn.experiments.tables import ResultTable
from qubonn.formulation import TrainingProblem
from qubonn.network.forward import sign
from qubonn.paper.published import published, topology
from qubonn.samplers import SimulatedAnnealing, TunedAnnealing, tune
from qubonn.samplers.tuning import mean_energy
from qubonn.stopping import Stop
from qubonn.training import Dropout, TrainingResult, train, train_with_dropout

SMALL_COMMITTEE = 25
DROPOUT_TEMPERATURES = {"hottest": 1 / 0.2, "coldest": 1 / 8.6}
SIZES = {"native": (256, 200), "paper": (1000, 1000)}  # replicas, sweeps; ours are the defaults

STUDIES = {"architectures": "18 networks", "margins": "Sum of margins", "dropout": "Dropout"}
COLUMNS = {  # of the tables: part of a setting -> head
    "architectures": {"network": "network"},
    "margins": {"network": "network", "margin_strength": "gamma"},
    "dropout": {"network": "network", "learning_rate": "eta", "dropped": "dropped"},
}

EngineName = Literal["paper", "native"]
Tune = Literal["once", "each"]
Votes = Literal["decayed", "full"]
_network = cache(topology)  # comparing topologies is fast if they are the same object


@dataclass(frozen=True, kw_only=True)
class PaperStudy(Study):
    """Networks of the paper, trained on its letters by one engine.

    "architectures" are the 18 networks (tab:results-oneshot), "margins" networks 5 and 10 with a
    reward for margins (tab:som-summary), "dropout" networks 10 and 12 after Algorithm 1
    (tab:dropout-results-summary).

    Engine "paper" anneals the QUBO; Nelder-Mead looks for temperatures of low mean energy, "once"
    for each setting or in "each" run. Engine "native" is `LiftedAnnealing`. Votes of dropout are
    "decayed" by unsatisfied constraints, as the paper writes, or "full", which agrees better with
    its table. Networks are tested on the images of the first of `data_seeds`; the others show the
    effect of that draw.
    """

    engine: EngineName
    data_seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    replica_count: int = 1000
    sweep_count: int = 1000
    tune: Tune = "once"
    votes: Votes = "decayed"
    evaluation_count: int = 30  # anneals of a tuning

    watched: ClassVar[str] = "test_accuracy"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("replica_count", "sweep_count", "evaluation_count"):
            require_count(name, getattr(self, name))
        if self.engine not in ("paper", "native") or self.tune not in ("once", "each"):
            raise RangeError(
                "engine must be 'paper' or 'native' and tune 'once' or 'each'; "
                f"got {self.engine!r} and {self.tune!r}"
            )
        if self.votes not in ("decayed", "full"):
            raise RangeError(f"votes must be 'decayed' or 'full'; got {self.votes!r}")
        if not self.data_seeds:
            raise RangeError("data_seeds must name at least one draw of test images; got none")

    @property
    def label(self) -> str:
        """Name, engine, way of tuning and of voting."""
        readings = "-each" * (self.tune == "each") + "-full" * (self.votes == "full")
        return f"{self.name}-{self.engine}{readings}"

    @property
    def spec(self) -> dict[str, Any]:
        """The fields by name; without decayed votes, which older stores do not mention."""
        return {name: it for name, it in super().spec.items() if (name, it) != ("votes", "decayed")}

    @property
    def title(self) -> str:
        """What is varied, for headings."""
        return STUDIES[self.name]

    @property
    def columns(self) -> Mapping[str, str]:
        """Heads of the parts of a setting that the paper's table shows."""
        return COLUMNS[self.name]

    @property
    def needs_preparation(self) -> bool:
        """Whether temperatures are tuned once a setting."""
        return self.engine == "paper" and self.tune == "once"

    def prepare(self, setting: Setting, seed: int) -> Record:
        """Tune the temperatures of a setting; the record has every anneal of the search."""
        first, second = _two_seeds(seed)
        count = self.evaluation_count
        qubo = self.problem(setting, first).qubo()
        found = tune(
            qubo, self._solver({}), evaluation_count=count, objective=mean_energy, seed=second
        )
        if len(found.trials) < count:
            raise KeyboardInterrupt
        record: Record = {
            "hottest": found.hottest,
            "coldest": found.coldest,
            "anneal_count": count,
            "lowest_energy": min(trial.best_energy for trial in found.trials),
        }
        for number, trial in enumerate(found.trials):
            for name in ("hottest", "coldest", "value", "best_energy"):
                record[f"anneal_{number}_{name}"] = float(getattr(trial, name))
        return record

    def perform(self, setting: Setting, seed: int, prepared: Record) -> Record:
        """Train once, on one thread, and measure the results."""
        first, second = _two_seeds(seed)
        problem = self.problem(setting, first)
        names = ("hottest", "coldest")
        tuned = {name: prepared[name] for name in names if name in prepared}
        result = train(problem, self._solver(tuned), seed=second)
        _require_finished(result.stop)
        is_annealed = self.engine == "paper"
        used = {name: result.info[name] if is_annealed else None for name in names}
        return measure(result, two_pixel_images(self.data_seeds)) | used

    def problem(self, setting: Setting, seed: int) -> TrainingProblem:
        """The training problem of a setting, in the field that iterations of dropout leave."""
        data = letters(seed=0)  # the training images are the same in every draw
        problem = TrainingProblem(
            _network(setting["network"]),
            data.train_inputs,
            data.train_outputs,
            margin_strength=setting["margin_strength"],
        )
        if setting["dropped"] is None:
            return problem
        dropout = Dropout(
            dropped_inputs=5,
            dropped_hidden=setting["dropped"],
            iteration_count=10,
            learning_rate=setting["learning_rate"],
            violation_decay=0.1 if self.votes == "decayed" else 1.0,
            final="none",
        )
        annealer = replace(self, tune="once")._solver(DROPOUT_TEMPERATURES)
        result = train_with_dropout(problem, dropout, annealer, seed=seed)
        _require_finished(result.stop)
        return result.problem

    def tables(self, rows: Sequence[Row]) -> list[ResultTable]:
        """The results beside the paper's."""
        from qubonn.paper.comparison import StudySummary
        from qubonn.paper.results import results_table

        return [results_table([StudySummary(self, rows, {})])]

    def _solver(self, temperatures: Record) -> Any:
        sizes: Any = {"replica_count": self.replica_count, "sweep_count": self.sweep_count}
        if self.engine == "native":
            return LiftedAnnealing(**sizes, thread_count=1)
        annealer = SimulatedAnnealing(**sizes, **temperatures, thread_count=1)
        if self.tune == "once":
            return annealer
        count = self.evaluation_count
        return TunedAnnealing(annealer=annealer, evaluation_count=count, objective=mean_energy)


def study_of(
    name: str,
    engine: EngineName,
    *,
    tune: Tune = "once",
    votes: Votes = "decayed",
    seed: int = 0,
) -> PaperStudy:
    """Return one of the paper's studies for an engine.

    >>> study_of("margins", "paper").label, len(study_of("margins", "paper").settings)
    ('margins-paper', 16)
    """
    replica_count, sweep_count = SIZES[engine]
    return PaperStudy(
        name=name,
        engine=engine,
        settings=tuple(row.setting for row in published(name)),
        seed=seed,
        tune=tune if engine == "paper" else "once",  # ours measures its temperatures
        votes=votes if name == "dropout" else "decayed",
        replica_count=replica_count,
        sweep_count=sweep_count,
    )


# ---- what is measured ----


@dataclass(frozen=True, eq=False)
class TwoPixelImages:
    """Every image with two pixels inverted, and the rows of each draw."""

    inputs: SpinMatrix  # 1,200 x 25
    outputs: SpinMatrix
    draws: Mapping[int, NDArray[np.int64]]  # seed -> rows of `inputs`, 40 each

    @cached_property
    def drawn(self) -> NDArray[np.int64]:
        """Rows that are in any draw."""
        return np.unique(np.concatenate(list(self.draws.values())))

    def accuracies(self, drawn_outputs: SpinMatrix) -> dict[int, float]:
        """Return the accuracy on each draw, from the predicted outputs of `drawn`."""
        is_right = (drawn_outputs == self.outputs[self.drawn]).all(axis=1)
        return {
            seed: float(is_right[np.searchsorted(self.drawn, rows)].mean())
            for seed, rows in self.draws.items()
        }


@cache
def two_pixel_images(data_seeds: tuple[int, ...]) -> TwoPixelImages:
    """Return all two-pixel images and the draws of the given seeds."""
    data = letters(seed=0)
    pairs = np.array(list(combinations(range(data.train_inputs.shape[1]), 2)))
    inputs = np.repeat(data.train_inputs, len(pairs), axis=0)
    rows = np.arange(len(inputs))[:, np.newaxis]
    inputs[rows, np.tile(pairs, (len(data.train_inputs), 1))] *= -1
    outputs = np.repeat(data.train_outputs, len(pairs), axis=0)
    place = {row.tobytes(): number for number, row in enumerate(inputs)}
    draws = {
        seed: np.array([place[image.tobytes()] for image in letters(seed=seed).test_inputs])
        for seed in data_seeds
    }
    return TwoPixelImages(inputs, outputs, draws)


def measure(result: TrainingResult, images: TwoPixelImages) -> Record:
    """Measure the network of lowest energy, the best feasible one, and committees.

    Constraints and energies are those of the state that the solver returned; accuracies, S1 and S2
    are those of the network's forward pass; `state_s1` and `state_s2` are of the activations that
    the solver left. A committee is all feasible networks of the run, or all networks where none is
    feasible; the small one has the 25 of lowest energy.
    """
    problem, network, terms = result.problem, result.network, result.found_terms
    inputs, outputs = problem.input_spins, problem.output_spins
    margins = network.margins(inputs)
    state_margins = problem.certify(network, result.activations[0]).margins
    committee, feasible_count = result.committee(), len(result.feasible_networks)
    drawn = images.inputs[images.drawn]
    draws = images.accuracies(network.predict_outputs(drawn))
    answers = committee.member_outputs(drawn)
    best, small, whole = (
        images.accuracies(sign(answers[:size].sum(axis=0, dtype=np.int64)))
        for size in (1, SMALL_COMMITTEE, None)
    )
    first = next(iter(images.draws))
    return {
        "training_accuracy": network.accuracy(inputs, outputs),
        "test_accuracy": draws[first],
        "all_accuracy": network.accuracy(images.inputs, images.outputs),
        "energy": float(terms.total),
        "activation_penalty": int(terms.activation),
        "product_penalty": int(terms.product),
        "margin_reward": int(terms.margin),
        "field_reward": float(terms.field),
        "violation_count": int(result.found_violations.count),
        "constraint_count": int(problem.size.constraints),
        "s1": int(margins.s1),
        "s2": int(margins.s2),
        "state_s1": int(state_margins.s1),
        "state_s2": int(state_margins.s2),
        "network_count": len(result.networks),
        "feasible_count": feasible_count,
        "feasible_accuracy": best[first] if feasible_count else None,
        "committee_size": len(committee),
        "committee_accuracy": whole[first],
        "committee_training_accuracy": (
            1.0 if feasible_count else committee.accuracy(inputs, outputs)  # all members are right
        ),
        "small_committee_accuracy": small[first],
        **{f"draw_accuracy_seed_{seed}": value for seed, value in draws.items()},
        **{f"committee_draw_accuracy_seed_{seed}": value for seed, value in whole.items()},
    }


def _two_seeds(seed: int) -> tuple[int, int]:
    first, second = np.random.SeedSequence(seed).generate_state(2, np.uint64).tolist()
    return int(first), int(second)


def _require_finished(stop: Stop) -> None:
    if stop is not Stop.FINISHED:
        raise KeyboardInterrupt  # partial results are not stored
