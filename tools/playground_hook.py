"""Add the built playground to the site: a hook of MkDocs, see mkdocs.yml."""

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

PAGE = Path(__file__).parent.parent / "src" / "qubonn" / "playground" / "playground.html"


def on_files(files: Any, config: Any) -> Any:
    """Serve the page as playground/page.html."""
    files.append(File.generated(config, "playground/page.html", abs_src_path=str(PAGE)))
    return files
