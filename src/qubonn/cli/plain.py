"""Text that is safe to print: what comes from files cannot steer the terminal.

Any text -> the same with control characters and surrogates written out.
"""


def printable(text: str) -> str:
    r"""Return text in one line: control characters, line ends and surrogates as \x1b and the like.

    >>> printable("red\x1b[31m\n")
    'red\\x1b[31m\\n'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def printable_lines(text: str) -> str:
    """Return text with its line ends, everything else as `printable` has it."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
