"""Who may connect to the server follows from tokens and grants."""

from __future__ import annotations

import json
import time
from pathlib import Path

import bcrypt
import pytest

from nearcast.gateway.access import Access, mqtt_name, mqtt_password, users_of
from nearcast.gateway.grants import Role
from nearcast.gateway.identity import add_token, read_tokens, revoke
from nearcast.log.users import User


def users(path: Path, now: float | None = None) -> dict[str, User]:
    made = users_of(read_tokens(path), "secret", time.time() if now is None else now)
    return {user.name: user for user in made}


def named(path: Path, client: str) -> tuple[User | None, User | None]:
    """By MQTT and by NATS."""
    digest = next(digest for digest, entry in read_tokens(path).items() if entry.client == client)
    found = users(path)
    return found.get(mqtt_name(digest)), found.get(f"nats/{client}")


def test_a_client_speaks_on_its_own_topics_and_hears_its_own(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    token = add_token(path, "ann.b")
    by_mqtt, by_nats = named(path, "ann.b")
    assert by_mqtt is not None
    assert by_nats is None, "the headers of messages are not for everyone"
    assert by_mqtt.publish == ("owntracks.ann//b.>",)
    assert by_mqtt.subscribe == ("owntracks.ann//b", "owntracks.ann//b.>", "$MQTT.sub.>", "$MQTT.deliver.pubrel.>")
    assert by_mqtt.kinds == ("MQTT",)
    assert by_mqtt.withheld == ()
    assert token not in by_mqtt.password + path.read_text(encoding="utf-8")


def test_an_operator_hears_all_by_nats(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    token = add_token(path, "boss.b", Role.OPERATOR)
    _, by_nats = named(path, "boss.b")
    assert by_nats is not None
    assert by_nats.publish == ()
    assert by_nats.subscribe == ("nearcast.out.*", "_INBOX_boss%2Eb.>")
    assert by_nats.kinds == ("STANDARD", "WEBSOCKET")
    assert bcrypt.checkpw(token.encode(), by_nats.password.encode())


def test_roles(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    for role in Role:
        add_token(path, role, role)
    device, _ = named(path, "device")
    listener, hears = named(path, "listener")
    operator, all_ = named(path, "operator")
    assert device is not None
    assert listener is not None
    assert operator is not None
    assert device.publish == ("owntracks.device.>",)
    assert device.withheld == ("owntracks.device.*.waypoint", "owntracks.device.*.waypoints")
    assert device.subscribe == ()
    assert named(path, "device")[1] is None, "it hears nothing"
    assert listener.publish == ()
    assert "owntracks.listener.>" in (listener.subscribe or ())
    assert hears is None
    assert operator.publish == ("owntracks.>",)
    assert all_ is not None
    assert all_.subscribe == ("nearcast.out.*", "_INBOX_operator.>")


def test_a_further_token_of_a_client_has_a_name_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    add_token(path, "ann", Role.OPERATOR)
    add_token(path, "ann", Role.OPERATOR)
    first, second = read_tokens(path)
    assert set(users(path)) == {mqtt_name(first), mqtt_name(second), "nats/ann", f"nats/ann/{second[:12]}"}
    revoke(path, id_=first)
    assert set(users(path)) == {mqtt_name(second), "nats/ann"}


def test_a_token_of_an_older_file_has_no_name_at_the_server_itself(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(json.dumps({"ab" * 32: {"client": "ann", "role": "client"}}), encoding="utf-8")
    assert set(users(path)) == {mqtt_name("ab" * 32)}


@pytest.mark.parametrize("client", ["a\nb", "a\x00b", "x" * 900])
def test_ids_that_are_hard_to_name(tmp_path: Path, client: str) -> None:
    path = tmp_path / "tokens.json"
    add_token(path, client)
    for user in users(path).values():
        assert user.name.isprintable()
        assert all(subject.isprintable() for subject in (*(user.publish or ()), *(user.subscribe or ())))


def test_a_token_that_has_ended_opens_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    add_token(path, "ann", seconds=60)
    assert users(path)
    assert not users(path, time.time() + 61)


def test_changes_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokens.json"
    add_token(path, "ann", seconds=60)
    access = Access(path, "secret")
    assert len(access.users) == 1
    assert not access.has_changed()
    add_token(path, "bob")
    assert access.has_changed()
    assert len(access.users) == 2
    path.with_name("aside").write_text("nonsense", encoding="utf-8")
    path.with_name("aside").replace(path)
    assert not access.has_changed(), "what cannot be read changes nothing"
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert access.has_changed(), "one ended by itself"
    assert len(access.users) == 1


def test_passwords_of_mqtt_differ_by_token_and_by_server() -> None:
    made = {mqtt_password(secret, digest) for secret in ("a", "b") for digest in ("c", "d")}
    assert len(made) == 4
