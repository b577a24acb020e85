"""scikit-learn's own checks of an estimator, all of them."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import qubonn as qn


@parametrize_with_checks([qn.QuboClassifier()])  # type: ignore[untyped-decorator]
def test_the_defaults_pass_every_check_of_scikit_learn(
    estimator: qn.QuboClassifier, check: Callable[[Any], None]
) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore::qubonn.errors.Underfitted")  # six neurons, random labels
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [qn.QuboClassifier((6, 6), committee_size=1, binariser=2)]
)
def test_other_arguments_pass_every_check_too(
    estimator: qn.QuboClassifier, check: Callable[[Any], None]
) -> None:
    check(estimator)


def test_the_check_that_needs_an_environment_variable_passes_too() -> None:
    program = (
        "from sklearn.utils.estimator_checks import check_array_api_input as check\n"
        "import qubonn\n"
        "check('QuboClassifier', qubonn.QuboClassifier(committee_size=1), 'numpy')"
    )
    variables = os.environ | {"SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", program], env=variables, check=True, timeout=120)
