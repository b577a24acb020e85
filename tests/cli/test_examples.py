"""Every example in help texts and documents uses commands and options that exist."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import click
import pytest

from qubonn.cli import COMMANDS

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def command_of(name: str) -> click.Command:
    command = import_module(f"qubonn.cli.{name}").command
    assert isinstance(command, click.Command)
    return command


def examples() -> list[str]:
    help_texts = [command_of(name).epilog or "" for name in COMMANDS]
    texts = [document.read_text() for document in DOCUMENTS if document.exists()]
    blocks = [block for text in texts for block in re.findall(r"```sh\n(.*?)```", text, re.S)]
    joined = "\n".join([*help_texts, *blocks]).replace("\\\n", " ")
    lines = re.findall(r"(?:^|\s|\|)(qubonn [a-z]+[^\n|>#]*)", joined, re.M)
    return sorted({line.strip() for line in lines})


@pytest.mark.parametrize("example", examples())
def test_an_example_can_be_parsed(example: str) -> None:
    name, *arguments = shlex.split(example)[1:]
    assert name in COMMANDS
    command = command_of(name)
    context = click.Context(command, resilient_parsing=True)
    given, _, _ = command.make_parser(context).parse_args(arguments)
    assert given is not None


def test_there_are_examples_of_every_command() -> None:
    named = {example.split()[1] for example in examples()}
    assert named >= set(COMMANDS)
