"""Signatures, waits and addresses, without a server."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from email.utils import format_datetime, formatdate
from functools import partial

import pytest

from nearcast.errors import GatewayError
from nearcast.gateway.hooks import HookCursor, Secret, new_hook
from nearcast.gateway.resolving import AT_ONCE, Found, Lookups, Resolver
from nearcast.gateway.targets import check_target, is_allowed
from nearcast.webhooks.policy import Kind, Outcome, Policy, outcome_of
from nearcast.webhooks.signing import key_of, signed
from tests.webhooks.running import verify

NOW = 1_700_000_000.0


# ---- signing -------------------------------------------------------------------------------------------


def test_the_example_that_others_test_with() -> None:
    """Of the libraries that the specification's authors publish."""
    secret = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = signed("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330.9, b'{"test": 2432232314}', [secret])
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_secrets_end() -> None:
    new, old, older = (new_hook("a", "http://x/", 0, "ann", None).secrets[0] for _ in range(3))
    headers = signed("k", NOW, b"body", [new, Secret(old.value, NOW + 1), Secret(older.value, NOW - 1)])
    assert [verify(headers, b"body", one.value, NOW) for one in (new, old, older)] == [True, True, False]
    assert not verify(headers, b"body", new.value, NOW + 301)


def test_a_secret_does_not_show_itself() -> None:
    hook = new_hook("a", "http://x/", 0, "ann", None)
    value = hook.secrets[0].value
    assert value not in repr(hook)
    assert value not in str(hook.secrets)


def test_a_key_holds_nothing_that_could_be_taken_for_something_else() -> None:
    assert key_of("n", ["40c4"]) == "n_40c4"
    odd = [key_of("n", [id_]) for id_ in ("a.b", "a\r\nb", "", "\ud800", "x" * 300)]
    several = [key_of("n", ids) for ids in (["a", "b"], ["b", "a"], ["ab"])]
    for key in (*odd, *several):
        assert key.replace("_", "").isalnum()
    assert len({*odd, *several}) == len(odd) + len(several)
    assert key_of("n", ["a", "b"]) == several[0]


# ---- policy --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind"),
    [(200, Kind.DELIVERED), (299, Kind.DELIVERED), (301, Kind.REFUSED), (400, Kind.REFUSED), (401, Kind.REFUSED),
     (404, Kind.REFUSED), (408, Kind.AWAY), (410, Kind.GONE), (425, Kind.AWAY), (429, Kind.AWAY), (500, Kind.AWAY),
     (503, Kind.AWAY), (600, Kind.AWAY)],
)  # fmt: skip
def test_what_a_status_means(status: int, kind: Kind) -> None:
    assert outcome_of(status, None, NOW).kind is kind


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("120", 120), (" 5 ", 5), ("-5", None), ("soon", None), ("", None), ("9" * 50, 999_999_999), ("²", None),
     (formatdate(NOW + 90, usegmt=True), 90), (formatdate(NOW - 90, usegmt=True), 0),
     (format_datetime(datetime(9999, 1, 1, tzinfo=UTC)), pytest.approx(2.5e11, rel=0.1))],
)  # fmt: skip
def test_retry_after(header: str, seconds: float | None) -> None:
    assert outcome_of(503, header, NOW).retry_after == seconds


def test_waits_grow_and_differ_and_end() -> None:
    policy, away = Policy(attempts=12, first=1, longest=300, age=3600), Outcome(Kind.AWAY)
    waits = [policy.wait(HookCursor(0, attempts=n, since=NOW), away, NOW, 0.5) for n in range(1, 13)]
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, None]
    trouble = HookCursor(0, attempts=3, since=NOW)
    assert [policy.wait(trouble, away, NOW, dice) for dice in (0.0, 1.0)] == [2, 6]
    assert policy.wait(trouble, away, NOW + 3599, 0.5) is None


def test_what_is_refused_is_given_up_sooner() -> None:
    policy, refused = Policy(attempts=12, refusals=5), Outcome(Kind.REFUSED)
    assert policy.wait(HookCursor(0, attempts=8, refusals=4, since=NOW), refused, NOW, 0.5) is not None
    assert policy.wait(HookCursor(0, attempts=5, refusals=5, since=NOW), refused, NOW, 0.5) is None


def test_an_endpoint_may_ask_for_time_but_not_for_ever() -> None:
    policy, trouble = Policy(age=3600), HookCursor(0, attempts=1, since=NOW)
    assert policy.wait(trouble, Outcome(Kind.AWAY, retry_after=60), NOW, 0.5) == 60
    assert policy.wait(trouble, Outcome(Kind.AWAY, retry_after=10**9), NOW, 0.5) == 3600
    assert policy.wait(trouble, Outcome(Kind.AWAY, retry_after=10**9), NOW + 1, 0.5) is None
    assert policy.wait(HookCursor(0, attempts=5, since=NOW), Outcome(Kind.AWAY, retry_after=1), NOW, 0.5) == 16


# ---- addresses -----------------------------------------------------------------------------------------

INSIDE = ["127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.5.4", "192.168.1.1", "100.64.0.1", "198.18.0.1", "192.0.2.1",
          "240.0.0.1", "::1", "fc00::1", "fd12::1", "2001:db8::1", "fec0::1", "::ffff:127.0.0.1",
          "::ffff:10.0.0.1"]  # fmt: skip
NEVER = ["169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "0.0.0.0", "::", "224.0.0.1", "ff02::1",
         "255.255.255.255", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1", "2002:7f00:1::",
         "::7f00:1", "2001:0:7f00:1::"]  # fmt: skip
OUTSIDE = ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8"]


@pytest.mark.parametrize("address", INSIDE)
def test_private_addresses_only_if_they_are_allowed(address: str) -> None:
    assert not is_allowed(address, private=False)
    assert is_allowed(address, private=True)


@pytest.mark.parametrize("address", NEVER)
def test_addresses_that_never_may_be_called(address: str) -> None:
    assert not is_allowed(address, private=False)
    assert not is_allowed(address, private=True)


@pytest.mark.parametrize("address", OUTSIDE)
def test_addresses_that_always_may(address: str) -> None:
    assert is_allowed(address, private=False)


@pytest.mark.parametrize(
    "url",
    ["http://localhost/", "http://127.0.0.1:80/", "http://[::1]/", "http://[::ffff:7f00:1]/", "http://10.1.2.3/",
     "http://169.254.169.254/latest/meta-data/", "http://nobody-has-this-name.invalid/", "http://localhost./"],
)  # fmt: skip
async def test_what_leads_inside_or_nowhere_gets_the_same_answer(url: str) -> None:
    resolver = Resolver(private=False)
    lookups = Lookups(resolver)
    with closing(resolver), pytest.raises(GatewayError) as raised:
        await check_target(url, partial(lookups.addresses, "ann"), private=False)
    assert (raised.value.status, raised.value.reason) == (422, "no address is known for this host that may be called")


async def test_of_several_addresses_each_has_to_be_outside() -> None:
    async def both(_host: str) -> list[str]:
        return ["8.8.8.8", "127.0.0.1"]

    with pytest.raises(GatewayError, match="no address is known"):
        await check_target("http://both.example/", both, private=False)
    await check_target("http://both.example/", both, private=True)


async def nothing(_host: str) -> list[str]:
    return []


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f.1", "127.1", "0177.0.0.1", "0x7f000001", "1.2.3.4.5", "127.0.0.1."]
)
@pytest.mark.parametrize("private", [False, True])
async def test_addresses_are_written_in_one_way(host: str, private: bool) -> None:
    with pytest.raises(GatewayError, match="four numbers from 0 to 255"):
        await check_target(f"http://{host}/", nothing, private=private)


# ---- names ---------------------------------------------------------------------------------------------


async def test_a_name_that_leads_elsewhere_later_is_not_followed() -> None:
    now = [0.0]
    found = [Found(2, "8.8.8.8")]
    resolver = Resolver(private=False, lookup=lambda _: list(found), clock=lambda: now[0])
    assert await resolver.resolve("rebinds.example") == [Found(2, "8.8.8.8")]
    found[:] = [Found(2, "127.0.0.1"), Found(2, "169.254.169.254")]
    now[0] = 61.0
    with pytest.raises(OSError, match="no address is known"):
        await resolver.resolve("rebinds.example")
    found.append(Found(2, "1.1.1.1"))
    now[0] = 200.0
    assert await resolver.resolve("rebinds.example") == [Found(2, "1.1.1.1")]
    resolver.close()


async def test_name_servers_that_are_silent_keep_only_their_own_waiting() -> None:
    """Also one that was found before, and then was not for once."""
    now, silence, asked, is_missed = [0.0], threading.Event(), [], False

    def lookup(host: str) -> list[Found]:
        asked.append(host)
        if host.startswith("silent"):
            silence.wait(10)
        if host == "unknown" or is_missed:
            raise OSError("not found")
        return [Found(2, "8.8.8.8")]

    resolver = Resolver(private=False, lookup=lookup, clock=lambda: now[0])
    await resolver.resolve("well")
    is_missed = True
    now[0] = 70.0
    with pytest.raises(OSError, match="no address is known"):
        await resolver.resolve("well")
    is_missed = False
    waiting = [asyncio.ensure_future(resolver.resolve(f"silent{n % 50}")) for n in range(200)]
    await asyncio.sleep(0.1)
    now[0] = 100.0
    began = time.monotonic()
    assert await resolver.resolve("well") == [Found(2, "8.8.8.8")]
    assert time.monotonic() < began + 1
    silence.set()
    await asyncio.gather(*waiting)
    assert len(asked) == 3 + 50, "each name is looked up once, whoever waits for it"
    for _ in range(3):
        with pytest.raises(OSError, match="no address is known"):
            await resolver.resolve("unknown")
    assert asked.count("unknown") == 1
    resolver.close()


async def test_of_a_client_few_names_are_looked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that it gave up count until the system's resolver has, too."""
    silence, asked = threading.Event(), []

    def lookup(host: str) -> list[Found]:
        asked.append(host)
        if host.startswith("silent"):
            silence.wait(10)
        return [Found(2, "8.8.8.8")]

    with closing(Resolver(private=False, lookup=lookup)) as resolver:
        lookups = Lookups(resolver)
        monkeypatch.setattr("nearcast.gateway.resolving.LOOKING", 0.1)
        for _ in range(2):
            given_up = await asyncio.gather(*(lookups.addresses("eve", f"silent{n}") for n in range(50)))
            assert given_up == [[]] * 50
        assert len(asked) == AT_ONCE
        monkeypatch.setattr("nearcast.gateway.resolving.LOOKING", 10.0)
        assert await lookups.addresses("ann", "well") == ["8.8.8.8"]
        waiting = asyncio.ensure_future(lookups.addresses("eve", "another"))
        await asyncio.sleep(0.1)
        assert "another" not in asked
        silence.set()
        assert await waiting == ["8.8.8.8"]
