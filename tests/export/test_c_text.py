"""Names that users choose cannot become code."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import qubonn as qn
from export.compiled import STRICT, compile_source, needs_gcc, output_of
from export.models import FittedClassifier, committee
from qubonn.errors import RangeError
from qubonn.export.c_text import comment, identifier, string_literal

HOSTILE = [
    '*/ int x = system("reboot"); /*',
    "*\\\n/ int x; /*",
    "*??/\n/ int x; /*",
    "a\n#error broken\n",
    "quote \" and ' and \\",
    "%s%n%d",
    "??/",
    "??=define x ??(",
    "\\",
    "\x00zero\x01\x7f",
    "int",
    "_Bool",
    "__FILE__",
    "9 lives",
    "naïve Σ \u2028 \U0001f600",
    "\ud800 lone surrogate",
    "$name ${NAME} $$",
    "{0} %(x)s",
    "a" * 5000,
    "",
    " ",
    "1",
    "\\u0041\\101\\x41",
    "//",
    "\r\n*/\r",
]
hostile_names = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(max_size=30),
    st.text(alphabet="*/\\?\"'\n\r%$#0=(<>!-x ", max_size=20),
)


@given(hostile_names)
def test_an_identifier_is_one_whatever_the_name(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,30}", identifier(name))


@given(hostile_names)
def test_a_comment_stays_open_whatever_the_text(text: str) -> None:
    inside = comment(text)
    assert inside.isascii()
    assert len(inside) == len(text)
    assert not set(inside) & set('*/\\?"\n\r`')


@given(hostile_names)
def test_a_literal_is_plain_ascii_that_spells_the_bytes_of_the_text(text: str) -> None:
    text = text[:1000]
    literal = string_literal(text)
    assert re.fullmatch(r'"([A-Za-z0-9 _.,:;+=(){}\[\]<>@#$%&^|~!\'-]|\\[0-3][0-7]{2})*"', literal)
    spelled = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), literal[1:-1])
    assert spelled.encode("latin-1") == text.encode("utf-8", "backslashreplace")


def test_a_label_too_long_for_a_c_compiler_is_refused() -> None:
    with pytest.raises(RangeError, match="at most 4,095 bytes to be written as C; got 4,096"):
        string_literal("é" * 2048)


@needs_gcc
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(hostile_names, min_size=10, max_size=10), st.lists(hostile_names, min_size=1))
def test_headers_with_hostile_names_compile_and_say_the_labels(
    names: list[str], labels: list[str]
) -> None:
    with TemporaryDirectory() as folder:
        check_names(names, labels, Path(folder))


@needs_gcc
def test_headers_with_the_worst_names_compile_and_say_the_labels(tmp_path: Path) -> None:
    check_names(HOSTILE, HOSTILE, tmp_path)


def check_names(names: list[str], labels: list[str], folder: Path) -> None:
    """Compile a header for each name, all with the same labels, in one program; read the labels."""
    different = sorted({label[:1000] for label in labels} - {""}) or ["only"]
    classifier = classifier_for(different)
    prefixes: dict[str, str] = {}
    for name in names:
        prefixes.setdefault(identifier(name).upper(), name)
    source = ["#include <stdio.h>"]
    for number, name in enumerate(prefixes.values()):
        qn.to_c(classifier, folder / f"{number}.h", name=name, with_main=True)
        source.append(f'#include "{number}.h"')
    first = identifier(next(iter(prefixes.values())))
    sizes = [len(label.encode("utf-8", "backslashreplace")) for label in different]
    source.append(PRINT.format(first=first, sizes=", ".join(map(str, sizes)), count=len(different)))
    (folder / "names.c").write_text("\n".join(source))
    compile_source(folder / "names.c", folder / "names", ("gcc", *STRICT))
    lines = output_of(folder / "names").splitlines()
    assert lines == [label.encode("utf-8", "backslashreplace").hex() for label in different]


PRINT = """
int main(void)
{{
    static const unsigned sizes[] = {{ {sizes} }};
    int number;
    unsigned place;
    for (number = 0; number < {count}; number++) {{
        for (place = 0; place < sizes[number]; place++)
            printf("%02x", (unsigned char){first}_label(number)[place]);
        printf("\\n");
    }}
    return 0;
}}
"""


def classifier_for(labels: list[str]) -> FittedClassifier:
    book = qn.CodeBook.one_hot(np.array(labels, dtype=object))
    return FittedClassifier(committee(qn.Topology.dense(3, len(labels)), 1, "largest"), book)
