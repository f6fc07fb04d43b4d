from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nearcast.match.registry import Publications, Subscriptions

KEYS = [(f"c{client}", id_) for client in range(40) for id_ in ("p", "q", "r")]


@given(st.lists(st.sampled_from(KEYS)))
def test_a_statement_has_a_row_while_it_is_there(entered_or_left: list[tuple[str, str]]) -> None:
    register, known = Subscriptions(), dict[tuple[str, str], int]()
    for key in entered_or_left:
        if key in known:
            assert register.leave(key) == known.pop(key)
        else:
            known[key] = register.enter(key, len(key[1]), int(key[0][1:]))
            assert register.enter(key, 0, 0) == known[key]
        assert register.rows == known
        assert len(set(known.values())) == len(known)
        assert all(register.owner[row] == int(owner[1:]) for (owner, _), row in known.items())


def test_a_row_that_is_given_back_is_used_again() -> None:
    register = Subscriptions()
    rows = [register.enter(("a", str(n)), n, 0) for n in range(100)]
    assert rows == list(range(100))
    for n in range(50):
        register.leave(("a", str(n)))
    again = [register.enter(("b", str(n)), n, 1) for n in range(51)]
    assert sorted(again) == [*range(50), 100]
    assert register.owner[: register.capacity].tolist().count(1) == 51


@given(st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(["", "x", "é"]))))
def test_a_client_has_a_list_of_publications(opened_or_closed: list[tuple[tuple[str, str], str]]) -> None:
    publications, contents = Publications(), dict[tuple[str, str], str]()
    for key, content in opened_or_closed:
        if key in contents and not content:
            publications.close(key)
            del contents[key]
        else:  # again with another content: the same publication, edited
            publications.open(key, 0, int(key[0][1:]), content)
            contents[key] = content
        for client in {int(owner[1:]) for owner, _ in KEYS}:
            listed = publications.of(client)
            assert sorted(listed) == sorted(
                row for (owner, _), row in publications.rows.items() if owner == f"c{client}"
            )
    rows = np.array([publications.rows[key] for key in contents], np.int64)
    assert publications.content_array(rows).to_pylist() == list(contents.values())
    assert publications.content_array(np.array([-1])).to_pylist() == [""]
    assert publications.of(10_000) == []
