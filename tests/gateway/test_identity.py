"""Tokens, and how much each client may ask."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest

from nearcast.errors import GatewayError, LogError, ModelError
from nearcast.gateway import identity
from nearcast.gateway.grants import Action, Role
from nearcast.gateway.identity import Identity, TokenFile, add_token, revoke
from nearcast.gateway.limits import Rates


def test_a_token_is_known_by_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "tokens.json"
    ann, boss = add_token(path, "ann"), add_token(path, "boss", Role.OPERATOR)
    known = TokenFile(path)
    assert known.identify(ann) == Identity("ann")
    assert known.identify(boss) == Identity("boss", Role.OPERATOR)
    for wrong in ("", "x", ann[:-1], ann + "x", sha256(ann.encode()).hexdigest(), "\ud800"):
        assert known.identify(wrong) is None
    text = path.read_text(encoding="utf-8")
    assert ann not in text
    noted = json.loads(text)[sha256(ann.encode()).hexdigest()]
    assert noted["client"] == "ann"
    assert "expires" not in noted
    assert path.stat().st_mode & 0o077 == 0


def test_a_token_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokens.json"
    brief = add_token(path, "ann", Role.DEVICE, seconds=60)
    known = TokenFile(path)
    who = known.identify(brief)
    assert who == Identity("ann", Role.DEVICE)
    assert known.holds(who)
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert known.identify(brief) is None
    assert not known.holds(who)


def test_tokens_are_revoked_by_id_or_by_client(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    tokens = [add_token(path, name) for name in ("ann", "ann", "bob")]
    known = TokenFile(path)
    first, *_ = known.entries()
    assert known.revoke(first)
    assert not known.revoke(first)
    assert not known.revoke(first[:4]), "an id is not a beginning of one"
    assert not known.revoke("")
    assert [known.identify(token) is None for token in tokens] == [True, False, False]
    assert revoke(path, client="ann") == 1
    assert [entry.client for entry in TokenFile(path).entries().values()] == ["bob"]


def test_many_processes_add_tokens_at_once(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: add_token(path, f"c{number}"), range(40)))
    known = TokenFile(path)
    assert [known.identify(token) for token in made] == [Identity(f"c{number}") for number in range(40)]


def test_a_file_that_changes_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "LOOK_AGAIN", 0.0)
    path = tmp_path / "tokens.json"
    add_token(path, "ann")
    known = TokenFile(path)
    bob = add_token(path, "bob")
    assert known.identify(bob) == Identity("bob")
    path.write_text("nonsense", encoding="utf-8")
    os.utime(path, (1, 1))
    assert known.identify(bob) == Identity("bob"), "what was known stays"
    path.write_text("{}", encoding="utf-8")
    assert known.identify(bob) is None


@pytest.mark.parametrize("text", ["[]", "{", '{"x": {"client": 3}}', '{"x": {"client": "a", "role": "king"}}'])
def test_not_a_file_of_tokens(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match="is not a file of tokens"):
        TokenFile(path)
    with pytest.raises(ModelError, match="cannot be read"):
        TokenFile(tmp_path / "none.json")


def test_a_client_needs_an_id_that_makes_a_subject(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="a client needs an id"):
        add_token(tmp_path / "tokens.json", "")


def test_a_client_acts_for_itself() -> None:
    assert Identity("ann").acting_for(None) == Identity("ann").acting_for("ann") == "ann"
    assert Identity("boss", Role.OPERATOR).acting_for("ann") == "ann"
    with pytest.raises(GatewayError, match="cannot act for another"):
        Identity("ann").acting_for("bob")
    assert Identity("boss", Role.OPERATOR).acting_for("\U0001f68c" * 85)
    with pytest.raises(GatewayError, match="a client needs an id that takes 1 to 1024 bytes") as raised:
        Identity("boss", Role.OPERATOR).acting_for("x" * 1025)
    assert raised.value.status == 422
    with pytest.raises(GatewayError, match="a client's token may not define spaces"):
        Identity("ann").must(Action.DEFINE)


def test_a_bucket_fills_again() -> None:
    now = [0.0]
    rates = Rates(10, burst=2, clock=lambda: now[0])
    rates.take("ann", 20)
    with pytest.raises(GatewayError) as raised:
        rates.take("ann", 5)
    assert (raised.value.status, raised.value.retry_after) == (429, 1)
    rates.take("bob", 5)
    now[0] = 0.5
    rates.take("ann", 5)
    with pytest.raises(GatewayError, match="20 is the most") as raised:
        rates.take("ann", 21)
    assert raised.value.status == 413


def test_full_buckets_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearcast.gateway.limits.KNOWN", 3)
    now = [0.0]
    rates = Rates(1, burst=1, clock=lambda: now[0])
    for name in "abc":
        rates.take(name, 1)
    now[0] = 5.0
    rates.take("d", 1)
    assert list(rates._buckets) == ["d"]
