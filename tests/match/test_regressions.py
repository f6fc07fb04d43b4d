"""What random tests found, as plain cases."""

from __future__ import annotations

import pytest

from nearcast.errors import LanguageError
from nearcast.language.format import statement_text
from nearcast.language.parse import parse


@pytest.mark.parametrize(
    "text",
    [
        "SELECT WHERE #location IN ANY LAYER roads[limit < #speed]",
        "SELECT WHERE #location IN ANY LAYER roads[`limit` + 10 < #speed]",
        "SELECT WHERE #location IN ANY LAYER roads[kinds CONTAINS #kind]",
        "SELECT WHERE &`*` < 2",
    ],
)
def test_a_name_that_is_no_text_is_not_written_as_text(text: str) -> None:
    statement = parse(text)
    assert parse(statement_text(statement)) == statement


def test_brackets_refuse_a_location_that_could_not_be_written_back() -> None:
    with pytest.raises(LanguageError, match="properties only"):
        parse("SELECT WHERE #location IN ANY LAYER roads[location ENCLOSED BY DISC(0 0, 5 m)]")
