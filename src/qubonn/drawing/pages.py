"""HTML pages from the templates beside this file; each page is one file that needs no other.

Name of a template, fields -> text.
"""

from functools import cache
from typing import Any


def render(template: str, **fields: Any) -> str:
    """Return a page; text is escaped unless the template marks it as ``safe``."""
    return str(_environment().get_template(template).render(**fields))


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("qubonn.drawing"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
