import csv
import gzip
import io
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qubonn.datasets import Table, read_csv
from qubonn.errors import AlphabetError, FileFormatError, QubonnError, ShapeError

FINITE = st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).map(
    str.strip
)


def written(folder: Path, text: str | bytes, name: str = "d.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("csv")


@given(
    numbers=st.lists(st.lists(FINITE, min_size=2, max_size=2), min_size=1, max_size=6),
    labels=st.lists(WORDS.filter(bool), min_size=6, max_size=6),
    separator=st.sampled_from(",;\t|"),
)
@settings(max_examples=60)
def test_what_python_writes_is_read_back_exactly(
    folder: Path, numbers: list[list[float]], labels: list[str], separator: str
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator)
    writer.writerow(["a", "b", "kind"])
    writer.writerows([*row, label] for row, label in zip(numbers, labels, strict=False))
    table = read_csv(written(folder, text.getvalue()), target="kind", separator=separator)
    assert table.inputs.tolist() == numbers
    assert [str(label) for label in table.known_labels] == labels[: len(numbers)]
    assert table.names == ("a", "b")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(tmp_path: Path, separator: str) -> None:
    text = "a,b,c\n1,2,x\n".replace(",", separator)
    assert read_csv(written(tmp_path, text), target="c").inputs.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffa,b\r\n1,x\r\n2,y\r\n",
        '"a","b"\n"1","x"\n"2","y"',
        "a,b\n\n1,x\n,\n\n2,y\n\n",
        "a, b\n 1 , x \n 2, y",
    ],
)
def test_marks_quotes_blanks_and_line_ends_do_not_matter(tmp_path: Path, text: str) -> None:
    table = read_csv(written(tmp_path, text), target="b")
    assert table.inputs.tolist() == [[1], [2]]
    assert table.known_labels.tolist() == ["x", "y"]


def test_a_quoted_cell_may_hold_separators_and_line_ends(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, 'a,kind\n1,"x, or\ny"\n2,z\n'), target="kind")
    assert table.known_labels.tolist() == ["x, or\ny", "z"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["3", "-1"], [3, -1]),
        (["007", "1"], ["007", "1"]),
        (["1.0", "2.0"], ["1.0", "2.0"]),
        (["9" * 19, "1"], ["9" * 19, "1"]),
        (["NA", "None"], ["NA", "None"]),
    ],
)
def test_labels_are_numbers_only_if_they_look_like_whole_ones(
    tmp_path: Path, labels: list[str], expected: list[Any]
) -> None:
    text = "a,k\n" + "".join(f"1,{label}\n" for label in labels)
    assert read_csv(written(tmp_path, text), target="k").known_labels.tolist() == expected


def test_true_and_false_are_one_and_zero(tmp_path: Path) -> None:
    assert read_csv(written(tmp_path, "a,b\nTrue,2\nfalse,3\n")).inputs.tolist() == [[1, 2], [0, 3]]


def test_columns_are_left_out_by_name_or_number(tmp_path: Path) -> None:
    path = written(tmp_path, ",a,b,k\n0,1,text,x\n1,2,more,y\n")
    table = read_csv(path, target="k", drop=["1", "b"])
    assert table.inputs.tolist() == [[1], [2]]
    assert table.names == ("a",)


def test_columns_are_kept_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, "a,b,c\n1,2,text\n"), keep=["b", "a"])
    assert table.inputs.tolist() == [[2, 1]]
    assert table.names == ("b", "a")


def test_a_file_without_a_header_has_columns_by_number(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, "1,2,x\n3,4,y\n"), has_header=False, target="3")
    assert table.inputs.tolist() == [[1, 2], [3, 4]]
    assert table.names is None


def test_rows_with_missing_cells_are_left_out_on_request(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,k\n1,2,x\n,2,x\n3,NaN,y\n4,5,\n6,7,y\n")
    table = read_csv(path, target="k", skip_missing=True)
    assert table.inputs.tolist() == [[1, 2], [6, 7]]
    assert table.skipped == (1, 2, 3)


def test_missing_cells_are_kept_otherwise(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, "a,b\n1,NA\n,2\n?,nan\n"))
    wanted = np.array([[1, np.nan], [np.nan, 2], [np.nan, np.nan]])
    assert np.array_equal(table.inputs, wanted, equal_nan=True)
    assert not table.skipped + table.text + table.notes


def test_a_column_with_text_is_of_text(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, "a,b,c\n1,red,1.0\n2,,x\n3,blue,01\n"))
    assert table.inputs.tolist() == [[1, "red", "1"], [2, None, "x"], [3, "blue", "1"]]
    assert table.text == ("b", "c")
    assert len(table.notes) == 1
    assert table.notes[0].endswith("line 3, column 'c' holds 'x': the column is read as text")


@given(cells=st.lists(st.sampled_from(["1", "1.0", "2.5", "red", "", "true"]), min_size=1))
@settings(max_examples=60)
def test_columns_are_the_same_in_blocks_of_any_size(folder: Path, cells: list[str]) -> None:
    path = written(folder, "a,b\n" + "".join(f"{cell},{n}\n" for n, cell in enumerate(cells)))
    found = []
    for size in (2, 4, 1 << 18):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("qubonn.datasets.table.CELLS_AT_ONCE", size)
            table = read_csv(path)
            found.append((repr(table.inputs.tolist()), table.text, len(table.notes)))
    assert found[0] == found[1] == found[2]


def test_columns_that_must_be_numbers_are_checked_and_named_ones_are_text(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n1,2\n3,4\n")
    assert read_csv(path, text=["b"]).inputs.tolist() == [[1, "2"], [3, "4"]]
    with pytest.raises(FileFormatError, match="line 3, column 'b' must hold a finite number; got"):
        read_csv(written(tmp_path, "a,b\n1,2\n3,x\n"), text=["a"])


def test_decimals_may_have_a_comma(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, "a;b\n1,5;-2\n;3e2\n"), decimal=",")
    assert np.array_equal(table.inputs, np.array([[1.5, -2], [np.nan, 300]]), equal_nan=True)
    with pytest.raises(FileFormatError, match=r"line 2, column 'a' .*--decimal \."):
        read_csv(written(tmp_path, "a;b\n1.5;2\n"), decimal=",")


def test_files_may_have_another_encoding(tmp_path: Path) -> None:
    path = written(tmp_path, "größe,b\n1,é\n".encode("latin-1"))
    table = read_csv(path, encoding="latin-1")
    assert table.names == ("größe", "b")
    assert table.inputs.tolist() == [[1, "é"]]
    for wrong in ("nonsense", "hex", "ascii"):
        with pytest.raises(FileFormatError, match=r"d\.csv"):
            read_csv(path, encoding=wrong)


def test_several_columns_are_dropped_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, 'a,b,"c,d",e\n1,2,3,4\n')
    assert read_csv(path, drop=["a, 2"]).names == ("c,d", "e")
    assert read_csv(path, drop=["c,d", "e"]).names == ("a", "b")


def test_columns_that_number_the_rows_are_found(tmp_path: Path) -> None:
    count = 12
    columns: dict[str, list[Any]] = {
        "row number": [*range(count)],
        "falling": [*range(count, 0, -1)],
        "PassengerId": [n * 5 % count for n in range(count)],
        "user_id": [n * 7 % count for n in range(count)],
        "name": [f"person {n}" for n in range(count)],
        "size": [n * 5 % count for n in range(count)],
        "rising": [n / 2 for n in range(count)],
        "colour": ["red", "blue"] * (count // 2),
        "id": [1] * count,
    }
    rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path = written(tmp_path, "\n".join([",".join(columns), *rows]))
    assert read_csv(path).id_columns == [*columns][:5]
    assert read_csv(written(tmp_path, "id\n1\n2\n")).id_columns == []


def test_gzipped_files_are_read_as_they_are(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"a,b\n1,2\n"), "d.csv.gz")
    assert read_csv(path).inputs.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a,b\n1,red\n", {"text": []}, ["line 2", "'b'", "'red'", "trained on numbers"]),
        ("a;b\n1;2,5\n", {}, ["line 2", "'b'", "--decimal ,"]),
        ("a,b\n1,inf\n", {}, ["line 2", "'b'", "finite"]),
        ("a,b\n1,1_000\n", {"text": []}, ["line 2", "'b'", "'1_000'"]),
        ("a,b\n1,2\n1,2,3\n", {}, ["line 3", "2 cells", "got 3"]),
        ('a,b\n1,2\n"1,2\n', {}, ["line 3", "cannot be read"]),
        ("a,a\n1,2\n", {}, ["names of columns must differ", "1 and 2"]),
        (",b\n1,2\n", {}, ["column 1 must have a name"]),
        ("1,2\n3,4\n", {}, ["names of its columns", "numbers only", "--no-header"]),
        ("", {}, ["empty"]),
        ("a,b\n", {}, ["a row for each example", "none"]),
        ("a,b\n1,\n,1\n", {"skip_missing": True}, ["every row has missing values"]),
        ("a,k\n1,\n", {"target": "k"}, ["line 2", "'k'", "label"]),
        ("a,k\n1,x\n", {"target": "z"}, ["a column 'z'", "'a', 'k'"]),
        ("a,k\n1,x\n", {"target": "k", "drop": ["k"]}, ["'k'", "must not be dropped"]),
        ("k\nx\n", {"target": "k"}, ["at least one column besides"]),
        ("a\n1\n", {"target": "0" * 5000 + "1"}, ["a column '0000"]),
    ],
)
def test_what_is_wrong_is_named_by_line_and_column(
    tmp_path: Path, text: str, options: dict[str, Any], words: list[str]
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(QubonnError) as caught:
        read_csv(path, **options)
    assert "d.csv" in str(caught.value)
    assert [word for word in words if word not in str(caught.value)] == []
    assert "\n" not in str(caught.value)


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="UTF-8; got the byte 0xe9"):
        read_csv(written(tmp_path, b"caf\xe9,b\n1,2\n"))


def test_the_bad_cell_is_found_in_a_later_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qubonn.datasets.table.CELLS_AT_ONCE", 4)
    rows = "".join(f"{n},{n}\n" for n in range(9)) + "9,nine\n"
    path = written(tmp_path, "a,b\n" + rows)
    with pytest.raises(FileFormatError, match="line 11, column 'b'"):
        read_csv(path, text=[])
    assert "line 11, column 'b' holds 'nine'" in read_csv(path).notes[0]


def test_blocks_give_the_same_numbers_as_one_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = np.random.default_rng(0).normal(size=(50, 3))
    path = written(
        tmp_path, "a,b,c\n" + "\n".join(",".join(map(repr, row)) for row in numbers.tolist())
    )
    monkeypatch.setattr("qubonn.datasets.table.CELLS_AT_ONCE", 7)
    assert np.array_equal(read_csv(path).inputs, numbers)


def test_a_bomb_is_refused_while_it_unpacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qubonn.files.MOST_BYTES", 1 << 16)
    path = written(tmp_path, gzip.compress(b"a,b\n" + b"1,2\n" * (1 << 18)), "d.csv.gz")
    assert path.stat().st_size < 1 << 16
    tracemalloc.start()
    with pytest.raises(FileFormatError, match="larger than 65,536 bytes"):
        read_csv(path)
    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("cut", [3, 12, -4])
def test_half_a_gzip_file_is_refused(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path, gzip.compress(b"a,b\n1,2\n" * 9)[:cut], "d.csv.gz")
    with pytest.raises(FileFormatError, match=r"d\.csv\.gz"):
        read_csv(path)


def test_a_label_of_a_novel_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, f"a,k\n1,{'x' * 300}\n2,y\n")
    with pytest.raises(QubonnError, match="at most 200 characters"):
        read_csv(path, target="k")


def table_of(counts: dict[str, int]) -> Table:
    """Examples with one column that numbers them, and this many of each class."""
    labels = np.repeat(list(counts), list(counts.values()))
    return Table("d.csv", np.arange(len(labels), dtype=float)[:, np.newaxis], labels)


def class_counts(table: Table) -> dict[str, int]:
    return dict(zip(*np.unique(table.known_labels, return_counts=True), strict=True))


def test_a_split_keeps_every_example_once_and_the_shares_of_classes() -> None:
    table = table_of({"a": 40, "b": 20})
    learned, tested = table.split(0.25, seed=3)
    assert tested is not None
    assert class_counts(learned) == {"a": 30, "b": 15}
    assert class_counts(tested) == {"a": 10, "b": 5}
    joined = np.concatenate([learned.inputs, tested.inputs]).ravel()
    assert sorted(joined.tolist()) == list(range(60))
    assert np.array_equal(
        learned.known_labels, table.known_labels[learned.inputs.astype(int)[:, 0]]
    )


def test_a_split_depends_on_the_seed_only() -> None:
    table = table_of({"a": 40, "b": 20})
    first, again, other = (table.split(0.2, seed)[0].inputs for seed in (1, 1, 2**40))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("counts", "share"),
    [({"a": 1, "b": 1}, 0.5), ({"a": 2, "b": 2}, 0.2), ({"a": 60}, 0), ({"a": 2, "b": 2}, 0.9)],
)
def test_too_few_examples_leave_no_test(counts: dict[str, int], share: float) -> None:
    table = table_of(counts)
    assert table.split(share, seed=0) == (table, None)


def test_a_class_with_one_example_is_only_learned_from() -> None:
    learned, tested = table_of({"a": 10, "b": 1, "c": 10}).split(0.2, seed=0)
    assert tested is not None
    assert class_counts(learned) == {"a": 8, "b": 1, "c": 8}
    assert class_counts(tested) == {"a": 2, "c": 2}


def test_some_of_each_class_are_drawn_or_all_of_a_small_one() -> None:
    table = table_of({"a": 9, "b": 2})
    assert class_counts(table.some_per_class(4, seed=3)) == {"a": 4, "b": 2}
    assert table.some_per_class(None, seed=3) is table


def test_labels_get_the_type_of_the_classes() -> None:
    table = Table("d.csv", np.zeros((2, 1)), np.array([1, 2]))
    assert table.labels_among(np.array(["1", "large"]), "m").tolist() == ["1", "2"]
    with pytest.raises(AlphabetError, match="labels such as 'large', as m has; got '1'"):
        table.labels_among(np.array(["large"]), "m")


def test_a_table_without_labels_says_so() -> None:
    with pytest.raises(ShapeError, match="must have labels"):
        _ = Table("d.csv", np.zeros((2, 1))).known_labels
