"""Pages are filled from templates; text in them is escaped."""

import jinja2
import pytest
from markupsafe import Markup

from qubonn.drawing.pages import render


def test_text_is_escaped_and_markup_is_not() -> None:
    assert "<title>a &lt; b</title>" in render("page.html", title="a < b")
    assert "<title><b/></title>" in render("page.html", title=Markup("<b/>"))


def test_a_field_that_is_missing_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render("page.html")
