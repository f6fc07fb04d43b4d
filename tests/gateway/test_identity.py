"""Tokens, and how much each client may ask."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from nearcast.errors import GatewayError, LogError, ModelError
from nearcast.gateway import identity
from nearcast.gateway.identity import Identity, Role, TokenFile, add_token
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
    assert json.loads(text)[sha256(ann.encode()).hexdigest()] == {"client": "ann", "role": "client"}
    assert path.stat().st_mode & 0o077 == 0


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
    with pytest.raises(GatewayError, match="only an operator"):
        Identity("ann").must_operate()


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
