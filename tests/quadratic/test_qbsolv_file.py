import tracemalloc
from pathlib import Path

import pytest

from quadratic.small_qubos import SMALL
from qubonn.errors import FileFormatError
from qubonn.quadratic import Qubo, term_lines
from qubonn.quadratic.files import load_qubo, save_qubo


class TestQbsolv:
    def test_the_text_is_as_documented(self, tmp_path: Path) -> None:
        save_qubo(SMALL, tmp_path / "file.qubo")
        assert (tmp_path / "file.qubo").read_text() == (
            "c qubonn qubo 1\n"
            "c offset : 5\n"
            'c label 0 ["weight", 0]\n'
            'c label 1 ["activation", 1, 2]\n'
            'c label 2 "bias"\n'
            "p qubo 0 3 3 2\n"
            "0 0 -3\n1 1 0\n2 2 1\n"
            "0 1 2\n1 2 7\n"
        )

    def test_a_file_of_another_program_is_read(self, tmp_path: Path) -> None:
        text = (
            "c\nc offset : 100\nc label 0 17\n\nC made elsewhere\r\n"
            "P  qubo unconstrained  5   2 3\r\n"
            " 1   3\t+4.5 \nc couplers before nodes\n0 1 -2e0\n\n  2 3 .5\n"
            "4 4 1\n 0 0  -1."
        )
        (tmp_path / "file.qubo").write_text(text)
        qubo = load_qubo(tmp_path / "file.qubo")
        assert qubo == Qubo.of(
            [1, 0, 2, 4, 0], [3, 1, 3, 4, 0], [4.5, -2, 0.5, 1, -1.0], variable_count=5
        )

    def test_whole_numbers_of_another_program_are_int64_and_zero_couplers_are_dropped(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "file.qubo").write_text("p qubo 0 3 1 2\n0 0 7\n0 1 0\n1 2 -3\n")
        qubo = load_qubo(tmp_path / "file.qubo")
        assert qubo.is_exact
        assert qubo.couplings.tolist() == [-3]

    def test_whole_numbers_beyond_64_bits_become_floats(self, tmp_path: Path) -> None:
        (tmp_path / "file.qubo").write_text(f"p qubo 0 1 1 0\n0 0 {10**30}\n")
        assert load_qubo(tmp_path / "file.qubo").linear.tolist() == [1e30]

    def test_a_comment_put_above_loses_nothing(self, tmp_path: Path) -> None:
        save_qubo(SMALL, tmp_path / "file.qubo")
        text = (tmp_path / "file.qubo").read_text()
        (tmp_path / "file.qubo").write_text("c my problem\n" + text)
        assert load_qubo(tmp_path / "file.qubo") == SMALL

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("", "must have a line 'p qubo 0 maxNodes nNodes nCouplers'; got none"),
            ("c only\n", "must have a line 'p qubo"),
            ("0 0 1\np qubo 0 1 1 0\n", "line 1 must be 'p qubo 0 .*; got '0 0 1'"),
            ("c\np qubo 0 1 1\n", "line 2 must be 'p qubo 0"),
            ("p ising 0 1 1 0\n", "line 1 must be 'p qubo 0"),
            ("p qubo chimera128 1 1 0\n", "line 1 must be 'p qubo 0"),
            ("p qubo 0 1 -1 0\n", "line 1 must be 'p qubo .* with three counts"),
            ("p qubo 0 1 1.0 0\n", "line 1 must be 'p qubo .* with three counts"),
            (f"p qubo 0 {2**31} 0 0\n", r"line 1 must have fewer than 2\*\*31 nodes"),
            (f"p qubo 0 {'9' * 5000} 0 0\n", "line 1 must be 'p qubo .* with three counts"),
            (f"p qubo 0 {2**31 - 1} 1 0\n0 0 1\n", "must mention its variables"),
            ("p qubo 0 2 1 0\n0 0 1\n1 1 1\n", "must have 1 lines 'i i value', .*; got 2"),
            ("p qubo 0 2 2 1\n0 0 1\n1 1 1\n", "must have 1 lines 'i j value', .*; got 0"),
            ("p qubo 0 1 1 0\nc\n0 0\n", "line 3 must be two variable numbers and a finite value"),
            (
                "p qubo 0 1 1 0\n\n0 0 1 1\n",
                "line 3 must be two variable numbers and a finite value",
            ),
            ("p qubo 0 1 2 0\n0 0\n0 0 1 1\n", "line 2 must be two variable numbers"),
            ("p qubo 0 1 1 0\n0 0 1_0\n", "line 2 must be two variable numbers"),
            ("p qubo 0 1 1 0\n0 0 0x1\n", "line 2 must be two variable numbers"),
            ("p qubo 0 1 1 0\n0 0.0 1\n", "line 2 must be two variable numbers"),
            ("p qubo 0 1 1 0\n0 0 1;\n", "line 2 must be two variable numbers"),
            (f"p qubo 0 1 1 0\n{2**64} 0 1\n", "line 2 must be two variable numbers"),
            ("p qubo 0 1 1 0\np qubo 0 1 1 0\n", "line 2 must be two variable numbers"),
            ("p qubo 0 1 1 0\n0 0 nan\n", "line 2 must be two .* a finite value; got '0 0 nan'"),
            ("p qubo 0 1 1 0\n0 0 1e999\n", "line 2 must have a finite value"),
            (f"p qubo 0 1 1 0\n0 0 {'9' * 5000}\n", "line 2 must have a finite value"),
            ("p qubo 0 2 0 1\nc\nc\n0 2 1\n", r"line 4 must have variable numbers in 0\.\.1"),
            ("p qubo 0 2 0 1\n-1 1 1\n", r"line 2 must have variable numbers in 0\.\.1"),
            ("p qubo 0 2 0 1\n1 0 1\n", "line 2 must have its smaller variable number first"),
            ("p qubo 0 2 0 2\n0 1 1\nc\n0 1 1\n", "line 4 must not repeat a pair"),
            ("p qubo 0 2 2 0\n1 1 1\n1 1 1\n", "line 3 must not repeat a pair"),
            ("p qubo 0 1 1 1\n0 0 1\n0 1 1\n", r"line 3 must have variable numbers in 0\.\.0"),
            (f"p qubo 0 1 2 0\n0 0 {2**62}\n0 0 {2**62}\n", "line 3 must not repeat a pair"),
            (f"p qubo 0 2 2 0\n0 0 {2**62}\n1 1 {2**62}\n", r"less than 2\*\*63"),
            ("p qubo 0 2 2 0\n0 0 1.7e308\n1 1 1.7e308\n", "finite sums"),
            ("c qubonn qubo 2\nc offset : 0\np qubo 0 0 0 0\n", "line 1 must end in version 1"),
            ("c qubonn qubo 1\np qubo 0 0 0 0\n", "must have a line 'c offset : ...'"),
            ("c qubonn qubo 1\nc offset : nan\np qubo 0 0 0 0\n", "line 2 must have a finite"),
            ("c qubonn qubo 1\nc offset : 1_0\np qubo 0 0 0 0\n", "line 2 must have a finite"),
            (f"c qubonn qubo 1\nc offset : {'9' * 5000}\np qubo 0 0 0 0\n", "line 2 must have a"),
        ],
    )
    def test_other_text_is_refused_with_the_line(
        self, tmp_path: Path, text: str, complaint: str
    ) -> None:
        (tmp_path / "file.qubo").write_text(text)
        with pytest.raises(FileFormatError, match=rf"file\.qubo.*{complaint}"):
            load_qubo(tmp_path / "file.qubo")

    @pytest.mark.parametrize(
        ("labels", "complaint"),
        [
            ("c label 1 0\nc label 0 1\n", "line 3 must be the label of variable 0, .* in order"),
            ("c label 0 0\nc label 0 1\n", "line 4 must be the label of variable 1"),
            ("c label 0 0\n", "labels must be a list of 2, one a variable; got 1"),
            ("c label 0 5\nc label 1 5\n", "variables 0 and 1 are both 5"),
            ("c label 0 [\nc label 1 5\n", "line 3 must be strict JSON"),
            ("c label 0\nc label 1 5\n", "line 3 must be strict JSON"),
            ("c label 0 true\nc label 1 5\n", "label 0 must be made of"),
        ],
    )
    def test_our_labels_must_be_one_a_variable(
        self, tmp_path: Path, labels: str, complaint: str
    ) -> None:
        start = "c qubonn qubo 1\nc offset : 0\n"
        (tmp_path / "file.qubo").write_text(f"{start}{labels}p qubo 0 2 2 0\n0 0 1\n1 1 1\n")
        with pytest.raises(FileFormatError, match=rf"file\.qubo.*{complaint}"):
            load_qubo(tmp_path / "file.qubo")

    def test_a_header_cannot_ask_for_much_memory(self, tmp_path: Path) -> None:
        (tmp_path / "file.qubo").write_text(f"p qubo 0 {2**31 - 1} 0 0\n")
        tracemalloc.start()
        with pytest.raises(FileFormatError, match="must mention its variables"):
            load_qubo(tmp_path / "file.qubo")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1 << 20

    def test_lines_are_counted_in_files_that_are_written_in_blocks(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(term_lines, "LINES_AT_ONCE", 7)
        qubo = Qubo.of(range(50), range(50), range(50), variable_count=50, offset=1)
        save_qubo(qubo, tmp_path / "file.qubo")
        assert load_qubo(tmp_path / "file.qubo") == qubo
        text = (tmp_path / "file.qubo").read_text().replace("\n47 47 47", "\n47 47 x")
        (tmp_path / "file.qubo").write_text(text)
        with pytest.raises(FileFormatError, match=r"line 51 must be two .* got '47 47 x'"):
            load_qubo(tmp_path / "file.qubo")
        (tmp_path / "file.qubo").write_text(text.replace("\n47 47 x", "\n47 47 nan"))
        with pytest.raises(FileFormatError, match=r"line 51 must be two .* and a finite value"):
            load_qubo(tmp_path / "file.qubo")

    @pytest.mark.parametrize("value", ["-7", "0.1", "1e-3", str(2**53 + 1), str(2**62 + 1)])
    def test_plain_lines_and_lines_between_comments_are_read_alike(
        self, tmp_path: Path, value: str
    ) -> None:
        text = f"p qubo 0 2 2 1\n0 0 3\n1 1 {value}\n0 1 -2\n"
        (tmp_path / "plain.qubo").write_text(text)
        (tmp_path / "other.qubo").write_text(text + "c the end")
        plain, other = (load_qubo(tmp_path / f"{name}.qubo") for name in ("plain", "other"))
        assert plain == other
        assert plain.linear[1].item() == (int(value) if plain.is_exact else float(value))
        assert plain.is_exact == value.lstrip("-").isdigit()
