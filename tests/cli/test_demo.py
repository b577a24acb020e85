import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

import qubonn as qn
from qubonn.cli import main


def test_the_demo_trains_certifies_and_leaves_its_files(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["demo", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "satisfies all 44 constraints" in result.output
    assert "Training accuracy 1.000" in result.output
    network = qn.load(tmp_path / "out" / "model.qubonn")
    letters = qn.datasets.letters(seed=0)
    assert network.accuracy(letters.train_inputs, letters.train_outputs) == 1
    assert qn.Qubo.load(tmp_path / "out" / "problem.qubo").variable_count == 186
    assert (tmp_path / "out" / "network.png").stat().st_size > 10_000


def test_the_demo_says_when_a_network_cannot_be_trained(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["demo", "--network", "8", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "does not satisfy all 20 constraints" in result.output
    assert "activation constraint of example" in result.output


@pytest.mark.parametrize("arguments", [["--network", "18"], ["--seed", "-1"]])
def test_wrong_options_get_one_clear_sentence(arguments: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["demo", *arguments, "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    assert len(result.output.strip().splitlines()) == 1


def test_help_answers_without_heavy_imports() -> None:
    program = """
        import sys
        from qubonn.cli import main
        try:
            main(["--help"])
        except SystemExit:
            heavy = ("numpy", "numba", "sklearn", "matplotlib", "rich")
            print([name for name in heavy if name in sys.modules])
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "demo  Show the whole road" in run.stdout
    assert run.stdout.splitlines()[-1] == "[]"
