"""The commands of "From a table to a chip" run as they stand."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "circuits.md"
TOOLS = ("bash", "iverilog", "yosys", "nextpnr-ice40", "icepack")


@pytest.mark.skipif(
    not all(map(shutil.which, TOOLS)), reason=f"one of {', '.join(TOOLS)} is not installed"
)
def test_the_road_from_a_table_to_a_bitstream(tmp_path: Path) -> None:
    (block,) = re.findall(
        r"<!-- run in a test -->\n```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    )
    folder = Path(sys.executable).parent
    if not (folder / "qubonn").exists():
        pytest.skip("the command qubonn is not installed beside Python")
    environment = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    run = subprocess.run(
        ["bash", "-euc", block],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "PASS: 500 examples" in run.stdout
    assert (tmp_path / "chip" / "iris.bin").stat().st_size > 30_000


def test_every_block_of_commands_is_run_or_marked() -> None:
    before = re.findall(r"(.*)\n```sh\n", PAGE.read_text("utf-8"))
    assert before
    assert all(re.fullmatch(r"<!-- (run in a test|not run: .+) -->", line) for line in before)
