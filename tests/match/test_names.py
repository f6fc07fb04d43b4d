from __future__ import annotations

import random
from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from nearcast.match import names as module
from nearcast.match.names import Names, word_rows
from nearcast.model.notification import word_pair

TEXTS = st.one_of(st.text(max_size=8), st.sampled_from(["", "a", "a\x00", "aa", "B", "é", "\U0001f680", "\uffff"]))
BULK = 100
"""More new texts than are entered one by one."""


def many(seed: int) -> list[str]:
    """Texts that come together, some of them twice."""
    dice = random.Random(seed)
    return ["".join(dice.choices("aAé\U0001f680", k=dice.randrange(6))) for _ in range(BULK * 2)]


def is_ordered(names: Names) -> bool:
    """Whether the column compares as the texts do, code point by code point."""
    texts = list(names)
    by_column = sorted(range(len(texts)), key=lambda code: int(names.order[code]))
    return [texts[code] for code in by_column] == sorted(texts)


@given(st.lists(st.one_of(TEXTS.map(lambda text: [text]), st.integers(0, 9).map(many)), max_size=12))
def test_codes_are_small_and_for_ever(entered: list[list[str]]) -> None:
    names, known = Names(), dict[str, int]()
    for texts in entered:
        codes = names.codes(texts).tolist() if len(texts) > 1 else [names.code(text) for text in texts]
        for text, code in zip(texts, codes, strict=True):
            assert known.setdefault(text, code) == code
    assert sorted(known.values()) == list(range(len(names)))
    assert [names.text(code) for code in range(len(names))] == list(names) == list(known)
    assert all(names.find(text) == code for text, code in known.items())
    assert names.find("one that is not there") == -1
    assert is_ordered(names)


@given(st.lists(TEXTS, unique=True, max_size=30))
def test_columns_say_what_the_texts_are(texts: list[str]) -> None:
    names = Names()
    for text in texts:
        names.code(text)
    assert names.array.to_pylist() == texts
    assert [tuple(map(int, words)) for words in names.words[: len(texts)]] == [word_pair(text) for text in texts]
    assert word_rows(texts).tolist() == names.words[: len(texts)].tolist()
    taken = names.array.take(pa.array(range(len(texts) - 1, -1, -1), pa.int64()))
    assert taken.to_pylist() == texts[::-1]


def entered(texts: Sequence[str]) -> Names:
    names = Names()
    for text in texts:
        names.code(text)
    return names


def test_names_that_all_come_between_the_same_two() -> None:
    """Each halves the room that is left, until all are spread anew."""
    assert is_ordered(entered(["a", "b", *("a" + "a" * n for n in range(200))]))
    assert is_ordered(entered(["a", "b", *("a" + "z" * n for n in range(200))]))


def test_names_that_come_in_order() -> None:
    texts = [f"{n:05}" for n in range(3000)]
    assert is_ordered(entered(texts))
    assert is_ordered(entered(texts[::-1]))
    random.Random(3).shuffle(texts)
    assert is_ordered(entered(texts))


def test_many_at_once_among_those_that_are_there() -> None:
    dice = random.Random(5)
    texts = [f"client {dice.randrange(10**6)}" for _ in range(5000)]
    names = entered(texts[:500])
    before = [names.find(text) for text in texts[:500]]
    codes = names.codes(texts)
    assert codes.tolist()[:500] == before
    assert [names.text(int(code)) for code in codes] == texts
    assert names.codes([]).tolist() == []
    assert is_ordered(names)


def test_a_text_is_hashed_as_a_notification_hashes_it() -> None:
    assert module.encoded("é\ud800") == b"\xc3\xa9\xed\xa0\x80"
