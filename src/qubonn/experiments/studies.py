"""The paper's studies, with the settings of its tables.

Name, engine -> Study.  Paper, sections "Analysis of network architectures", "Maximising sum of
margins" and "A dropout algorithm".
"""

from qubonn.experiments.spec import EngineName, Setting, Study, Tune
from qubonn.paper import Published, published

STUDIES = {
    "architectures": "18 networks",
    "margins": "Sum of margins",
    "dropout": "Dropout",
}
SIZES = {"native": (256, 200), "paper": (1000, 1000)}  # replicas, sweeps; ours are the defaults


def study_of(name: str, engine: EngineName, *, tune: Tune = "once", seed: int = 0) -> Study:
    """Return one of the paper's studies for an engine.

    >>> study_of("margins", "paper").label, len(study_of("margins", "paper").settings)
    ('margins-paper', 16)
    """
    replica_count, sweep_count = SIZES[engine]
    return Study(
        name=name,
        engine=engine,
        settings=tuple(_setting(row) for row in published(name)),
        seed=seed,
        tune=tune if engine == "paper" else "once",  # ours measures its temperatures
        replica_count=replica_count,
        sweep_count=sweep_count,
    )


def paper_runs(name: str) -> int:
    """How often the paper ran each setting of a study."""
    return published(name)[0].run_count


def published_row(study: Study, setting: Setting) -> Published | None:
    """What the paper printed for a setting, if it is one of the paper's."""
    if study.name not in STUDIES:
        return None
    rows = (row for row in published(study.name) if _setting(row) == setting)
    return next(rows, None)


def _setting(row: Published) -> Setting:
    return Setting(row.network, row.margin_strength, row.learning_rate, row.dropped)
