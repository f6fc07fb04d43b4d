"""What is written of the model reads back as it was."""

from __future__ import annotations

import pytest
from hypothesis import given

from nearcast.errors import ModelError
from nearcast.model.coding import decode, encode
from nearcast.model.statement import LayerFile, Removal, Statement
from nearcast.testing import statements


@given(statements())
def test_values_of_the_model_read_back_as_they_were(statement: Statement) -> None:
    if not isinstance(statement, (LayerFile, Removal)):
        again = decode(encode(statement))
        assert again == statement
        assert repr(again) == repr(statement)  # 1, 1.0 and TRUE are equal, but not the same


def test_what_is_no_value_of_the_model_is_refused() -> None:
    for text in ('{"is":"Nothing"}', '{"is":"Ref"}', "{}", "["):
        with pytest.raises(ModelError, match="not a value of the model"):
            decode(text)
    with pytest.raises(ModelError, match="object is not a value"):
        encode(object())
