"""What was known of a phone is known again, and nothing that is new takes its place."""

from __future__ import annotations

import pytest

from nearcast.gateway.link import Link
from nearcast.gateway.outbox import key_of
from nearcast.log.server import NatsServer
from nearcast.log.subjects import PHONES
from nearcast.phones.register import DEVICES, Device, Mark, Phone, Register
from tests.log.hasty import hasty

HOME, WORK = Mark("home", 1, "phone"), Mark("work", 2, "tablet")


def ann(since: int = 7) -> Phone:
    return Phone("ann", since, {"phone": Device("an")}, {"Home": HOME}, unsettled=3)


@pytest.mark.parametrize("is_hasty", [False, True])
async def test_all_are_known_again(server: NatsServer, monkeypatch: pytest.MonkeyPatch, is_hasty: bool) -> None:
    """Also if the client library says too soon that there are no more."""
    async with Link(server.url) as link:
        register = await Register(link).load()
        assert register.phones == {}
        for number in range(50):
            await register.save(Phone(f"bob{number}", number, {}, {}))
        await register.save(ann())
        await (await link.log.bucket(PHONES)).delete(key_of("bob7"))
        if is_hasty:
            hasty(monkeypatch, PHONES)
        known = {client: phone for client, phone in register.phones.items() if client != "bob7"}
        assert (await register.load()).phones == known
        assert (await Register(link).load()).phones == known


async def test_what_is_new_is_added_to_what_was_not_known_to_be_there(server: NatsServer) -> None:
    async with Link(server.url) as link:
        await (await Register(link).load()).save(ann())
        new = Phone("ann", 99, {"tablet": Device()}, {"Work": WORK})
        register = Register(link)
        await register.save(new)
        assert (new.since, new.unsettled) == (7, 3)
        assert new.devices == {"phone": Device("an"), "tablet": Device()}
        assert new.waypoints == {"Home": HOME, "Work": WORK}
        assert (await Register(link).load()).phones == {"ann": new} == register.phones
        new.waypoints = {}
        await register.save(new)
        assert (await Register(link).load()).phones == {"ann": new}, "what is known can lose something"


def test_of_too_many_devices_the_new_one_stays() -> None:
    known = Phone("ann", 0, {f"d{number}": Device() for number in range(DEVICES)})
    new = Phone("ann", 9, {"d0": Device("x", is_here=False), "last": Device()})
    new.join(known)
    assert len(new.devices) == DEVICES
    assert new.devices["last"] == Device()


async def test_what_cannot_be_read_is_written_anew(server: NatsServer) -> None:
    async with Link(server.url) as link:
        await (await link.log.bucket(PHONES)).put("ann", b"nonsense")
        register = await Register(link).load()
        assert register.phones == {}
        await register.save(ann())
        assert (await Register(link).load()).phones == register.phones
