import csv
import io
import json
import re
import xml.dom.minidom
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from experiments.tiny import dice, record, row, some_records
from qubonn.cli import main
from qubonn.experiments import PREPARATION, Store, Study
from qubonn.paper.results import report_of
from qubonn.paper.studies import study_of

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>../../|*_`[x](y)'
VERSIONS = json.dumps({"numpy": "<i>2</i>", "qubonn": "0.1.0"})


def fill(folder: Path, study: Study, name: str, runs: int = 3) -> None:
    tuned = {"hottest": 5.0, "coldest": 0.1, "anneal_count": 1, "lowest_energy": 0.0}
    with Store.open(folder / f"{name}.sqlite", study) as store:
        for place, setting in enumerate(study.settings):
            if study.needs_preparation:
                store.add(row(setting, PREPARATION, tuned, versions=VERSIONS))
            for number, found in enumerate(some_records(runs, seed=place)):
                store.add(row(setting, number, found, versions=VERSIONS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores")
    for study in (
        study_of("architectures", "native"),
        study_of("margins", "paper"),
        study_of("dropout", "native"),
    ):
        fill(folder, study, study.label)
    return folder


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    assert report(folder, "-o", folder / "report.html").exit_code == 0
    return (folder / "report.html").read_text(encoding="utf-8")


def report(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


class Tags(HTMLParser):
    """Every tag with its attributes, and whether all are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_nothing_else(page: str) -> None:
    tags = Tags(page)
    assert tags.open == []
    assert {tag for tag, _ in tags.tags}.isdisjoint({"script", "link", "img", "iframe", "object"})
    for _, attributes in tags.tags:
        assert not any(name.startswith("on") or name == "src" for name in attributes)
        links = [attributes.get("href"), attributes.get("xlink:href")]
        assert all(link is None or link.startswith("#") for link in links)
    assert "url(http" not in page
    assert "@import" not in page


def test_the_page_has_every_table_and_figure(page: str) -> None:
    tags = Tags(page).tags
    assert sum(tag == "svg" for tag, _ in tags) == 3 + 3 + 5 + 1
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for name in ("table1", "architectures", "margins", "dropout", "how", "margins-paper-s"):
        assert name in ids
    assert page.count(">paper</td>") == 18 + 16 + 32
    assert "0.734" in page
    assert "Holm" in page


def test_links_inside_figures_lead_somewhere(page: str) -> None:
    ids = set(re.findall(r'id="([^"]+)"', page))
    used = set(re.findall(r"url\(#([^)]+)\)", page)) | set(re.findall(r'href="#([^"]+)"', page))
    assert used <= ids


def test_figures_have_no_colour_of_their_own_in_the_page(page: str) -> None:
    drawings = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    colours = {colour for drawing in drawings for colour in re.findall(r"#[0-9a-f]{6}\b", drawing)}
    assert colours == set()
    assert all("var(--first)" in drawing for drawing in drawings)


def test_a_hostile_store_cannot_put_anything_into_the_page(tmp_path: Path) -> None:
    fill(tmp_path, dice(name=HOSTILE, settings=({HOSTILE: HOSTILE}, {HOSTILE: 5})), "evil")
    study = study_of("architectures", "native")
    fill(tmp_path, study, study.label)
    made = report(tmp_path, "-o", tmp_path / "out" / "report.html", "--csv", tmp_path / "csv")
    assert made.exit_code == 0, made.output
    text = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    tags = Tags(text)
    assert {tag for tag, _ in tags.tags}.isdisjoint({"script", "img", "i"})
    assert "&lt;script&gt;" in text
    made = report(tmp_path, "--markdown", "-o", tmp_path / "out" / "report.md")
    assert made.exit_code == 0, made.output
    plain = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "<script" not in plain.replace("\\<", "")
    written = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.svg")]
    assert len(written) == 3 + 3
    assert all(re.fullmatch(r"out/report/[\w-]+\.svg", path) for path in written)


def test_markdown_has_the_same_tables_and_whole_figures(folder: Path, tmp_path: Path) -> None:
    made = report(folder, "--markdown", "-o", tmp_path / "r.md", "--files", tmp_path / "figures")
    assert made.exit_code == 0, made.output
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert text.count("| paper |") == 18 + 16 + 32 + 3  # and heads of three tables
    pictures = re.findall(r"!\[[^\]]*\]\((figures/[\w-]+\.svg)\)", text)
    assert len(pictures) == 3 + 9
    for picture in pictures:
        xml.dom.minidom.parse(str(tmp_path / picture))
    widths = {line.count("|") for line in text.splitlines() if line.startswith("| ")}
    assert min(widths) > 3


def test_a_template_is_filled_from_the_store(folder: Path, tmp_path: Path) -> None:
    template = tmp_path / "template.md"
    template.write_text(
        "# Mine\n\nMean {{margins-paper network=10 margin_strength=0.02 test_mean}}, all "
        "{{margins-paper network=10 margin_strength=0.02 all_accuracy}}.\n\n"
        "<!-- table: margins -->\n\n<!-- figure: dropout-native-boxes -->\n\n"
        "<!-- text: judging -->\n"
    )
    made = report(folder, "--markdown", "--template", template, "-o", tmp_path / "r.md")
    assert made.exit_code == 0, made.output
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    runs = some_records(3, seed=10)
    mean = sum(run["test_accuracy"] for run in runs) / 3
    assert text.startswith(f"# Mine\n\nMean {mean:.3f}, all 0.510.\n")
    assert "<!--" not in text
    assert "| 10 | 0.02 | paper | 200 |" in text


def test_the_text_around_our_own_numbers_asks_only_for_what_there_is(tmp_path: Path) -> None:
    stores = []
    for name in ("architectures", "margins", "dropout"):
        for engine in ("paper", "native"):
            study = study_of(name, engine)
            fill(tmp_path, study, study.label, runs=2)
            stores.append(Store.read(tmp_path / f"{study.label}.sqlite"))
    template = Path(__file__).parents[2] / "docs" / "reproduction" / "discussion.md"
    text = report_of(stores).markdown("reproduction", template.read_text(encoding="utf-8"))
    for store in stores:
        store.close()
    assert "<!--" not in text
    assert "{{" not in text


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("<!-- table: bagels -->", "there is no table 'bagels' in this store; there are agreement"),
        ("<!-- figure: margins -->", "there is no figure 'margins'"),
        ("<!-- text: bagels -->", "texts are how, judging, versions and marks"),
        ("{{margins-paper network=10 test_mean}}", "8 settings of this store fit"),
        ("{{margins-paper network=10 margin_strength=0.02 bagels}}", "and a measure"),
    ],
)
def test_a_template_that_asks_for_what_is_not_there_is_refused(
    folder: Path, tmp_path: Path, place: str, message: str
) -> None:
    template = tmp_path / "template.md"
    template.write_text(place)
    made = report(folder, "--markdown", "--template", template, "-o", tmp_path / "r.md")
    assert made.exit_code == 2
    assert message in made.output
    assert not (tmp_path / "r.md").exists()


def test_csv_has_every_run_and_every_comparison(folder: Path, tmp_path: Path) -> None:
    store = folder / "dropout-native.sqlite"
    made = report(store, "-o", tmp_path / "r.html", "--csv", tmp_path / "csv")
    assert made.exit_code == 0
    text = (tmp_path / "csv" / "dropout-native.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 96
    expected, line = some_records(3, seed=1)[0], rows[3]
    assert (line["network"], line["learning_rate"], line["dropped"]) == ("10", "0.01", "0")
    for name in ("test_accuracy", "draw_accuracy_seed_4"):
        assert float(line[name]) == expected[name]
    assert rows[0]["dropped"] == ""
    compared = (tmp_path / "csv" / "comparisons.csv").read_text()
    assert len(list(csv.DictReader(io.StringIO(compared)))) == 192


def test_reading_a_store_leaves_it_as_it_was(folder: Path, tmp_path: Path) -> None:
    store = folder / "dropout-native.sqlite"
    before = store.read_bytes()
    assert report(store, "-o", tmp_path / "r.html").exit_code == 0
    assert store.read_bytes() == before


def test_a_study_without_runs_and_a_folder_without_stores(tmp_path: Path) -> None:
    made = report(tmp_path, "-o", tmp_path / "r.html")
    assert made.exit_code == 2
    assert "must hold stores made by qubonn reproduce; there are none" in made.output
    Store.open(tmp_path / "x.sqlite", study_of("margins", "native")).close()
    assert report(tmp_path, "-o", tmp_path / "r.html").exit_code == 0
    with Store.open(tmp_path / "x.sqlite", study_of("margins", "native")) as store:
        store.add(row(store.settings()[0], 0, record(), versions="no versions"))
    assert report(tmp_path, "-o", tmp_path / "r.html").exit_code == 0


def test_options_of_markdown_need_markdown(folder: Path, tmp_path: Path) -> None:
    made = report(folder, "--files", tmp_path, "-o", tmp_path / "r.html")
    assert made.exit_code == 2
    assert "need --markdown" in made.output
