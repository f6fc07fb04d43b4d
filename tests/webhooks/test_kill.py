"""Processes die in the middle of it: nothing is lost, what was on its way comes again with the same key, in order."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

from nearcast.bench.endpoints import Asked, Endpoint
from nearcast.gateway.call import Settings
from nearcast.log.server import NatsServer
from tests.gateway.running import Teller, gateway, teller
from tests.webhooks.running import QUICK, came, delivering, event_of, ids, ids_of, status, until, until_true

KILLS = int(os.environ.get("KILLS", "2"))
HOOKS = 12
PAUSE = 0.4
"""Seconds between two kills."""


in_hand: set[int] = set()
"""The requests that endpoints have yet to answer."""


async def take_a_little_while(asked: Asked) -> bytes:
    in_hand.add(id(asked))
    try:
        await asyncio.sleep(random.uniform(0, 0.01))
    finally:
        in_hand.discard(id(asked))
    return status(204)


@asynccontextmanager
async def hooks(url: str, batches: Sequence[int | None]) -> AsyncIterator[dict[str, Endpoint]]:
    """A webhook of a client each, by the client's name."""
    async with AsyncExitStack() as stack, gateway(url, Settings(private=True)) as door:
        found = {}
        for number, batch in enumerate(batches):
            name = f"client{number}"
            endpoint = found[name] = await stack.enter_async_context(Endpoint(take_a_little_while))
            http, wanted = await door.client(name), {"url": endpoint.url}
            answer = await http.put("/v1/webhooks/hook", json=wanted if batch is None else {**wanted, "batch": batch})
            answer.raise_for_status()
        yield found


async def tell(told: Teller, names: Sequence[str], wanted: dict[str, list[str]], stop: asyncio.Event) -> None:
    """All the while, and whatever happens to the server."""
    while not stop.is_set():
        for name in names:
            await told.tell(name)
            wanted[name].append(told.last)
        await asyncio.sleep(0.02)


def check(endpoint: Endpoint, wanted: list[str], kills: int, batch: int | None) -> int:
    """All came, in order; what came twice came with the same key, and no more often than processes died."""
    seen, keys = dict[str, str](), list[str]()
    for asked in endpoint.asked:
        key = asked.headers["webhook-id"]
        keys.append(key)
        assert seen.setdefault(key, asked.body.decode()) == asked.body.decode(), "the same key, another body"
    assert list(dict.fromkeys(ids(endpoint))) == wanted
    by_id: dict[str, set[str]] = {}
    for asked in endpoint.asked:
        for id_ in ids_of(asked):
            by_id.setdefault(id_, set()).add(asked.headers["webhook-id"])
    assert all(len(keys) == 1 for keys in by_id.values()), "an event came again with another key"
    repeated = sum(count - 1 for count in Counter(keys).values())
    assert repeated <= kills
    assert len(ids(endpoint)) - len(wanted) <= kills * (batch or 1), "what came again had the same key"
    first_seen = list(dict.fromkeys(keys))
    for before, after in pairwise(keys):
        assert first_seen.index(after) - first_seen.index(before) in (0, 1), "what comes again is what came last"
    return repeated


async def test_kill_9_under_load(server: NatsServer) -> None:
    """One process is killed and started again, over and over."""
    batches = [None] * (HOOKS - 3) + [5, 20, 100]
    async with hooks(server.url, batches) as endpoints, teller(server.url) as told:
        wanted: dict[str, list[str]] = {name: [] for name in endpoints}
        stop = asyncio.Event()
        telling = asyncio.ensure_future(tell(told, list(endpoints), wanted, stop))
        for kill in range(KILLS + 1):
            with delivering(server.url, *QUICK) as process:
                before = {name: len(endpoint.asked) for name, endpoint in endpoints.items()}
                await until(lambda: all(len(e.asked) > before[n] + 5 for n, e in endpoints.items()), "nothing comes")  # noqa: B023
                await asyncio.sleep(random.uniform(0, PAUSE))
                if kill < KILLS:
                    await until(lambda: in_hand, "nothing is on its way")
                    process.kill()
                    process.wait()
                    continue
                stop.set()
                await telling
                await all_came(endpoints, wanted)
        repeated = [
            check(endpoint, wanted[name], KILLS, batch)
            for (name, endpoint), batch in zip(endpoints.items(), batches, strict=True)
        ]
        print(f"{KILLS} kills, {sum(map(len, wanted.values()))} events, {sum(repeated)} requests twice")  # noqa: T201
        assert sum(repeated) > 0, "nothing was on its way when it was killed, so nothing was tried here"


async def test_another_process_takes_over(server: NatsServer) -> None:
    """Of two only one delivers. When it is killed, or only stands still for a while, the other goes on."""
    async with hooks(server.url, [None] * 5) as endpoints, teller(server.url) as told, AsyncExitStack() as stack:
        wanted: dict[str, list[str]] = {name: [] for name in endpoints}
        stop = asyncio.Event()
        first = stack.enter_context(delivering(server.url, *QUICK, "--name", "first"))
        telling = asyncio.ensure_future(tell(told, list(endpoints), wanted, stop))
        await _comes(endpoints)
        second = stack.enter_context(delivering(server.url, *QUICK, "--name", "second"))
        await asyncio.sleep(1.2)
        assert _most_repeated(endpoints) == 1, "two deliver"
        first.send_signal(signal.SIGSTOP)
        await asyncio.sleep(1.2)
        await _comes(endpoints)
        first.send_signal(signal.SIGCONT)
        await asyncio.sleep(1)
        third = stack.enter_context(delivering(server.url, *QUICK, "--name", "third"))
        second.kill()
        await asyncio.sleep(1.2)
        await _comes(endpoints)
        assert third.poll() is None
        stop.set()
        await telling
        await all_came(endpoints, wanted)
        for name, endpoint in endpoints.items():
            assert list(dict.fromkeys(ids(endpoint))) == wanted[name]
            assert len(endpoint.asked) - len(wanted[name]) <= 2, "what was on its way comes again, and nothing else"


async def all_came(endpoints: dict[str, Endpoint], wanted: dict[str, list[str]]) -> None:
    """However far behind they are by then."""
    await until(lambda: all(_is_last(e, wanted[n]) for n, e in endpoints.items()), "some are missing", 120)


def _is_last(endpoint: Endpoint, wanted: list[str]) -> bool:
    return bool(endpoint.asked) and ids_of(endpoint.asked[-1])[-1] == wanted[-1]


async def _comes(endpoints: dict[str, Endpoint]) -> None:
    before = {name: len(endpoint.asked) for name, endpoint in endpoints.items()}
    await until(lambda: all(len(e.asked) > before[n] + 5 for n, e in endpoints.items()), "nothing comes")


def _most_repeated(endpoints: dict[str, Endpoint]) -> int:
    return max(max(Counter(ids(endpoint)).values()) for endpoint in endpoints.values())


async def test_the_server_dies(tmp_path: Path) -> None:
    """What was acknowledged is there when it is back, and is delivered; cursors may be a little behind."""
    folder = tmp_path / "nats"
    first = NatsServer(folder)
    first.start()
    port, url = urlsplit(first.url).port or 0, first.url
    again = NatsServer(folder, port=port)
    try:
        async with hooks(url, [None] * 4) as endpoints:
            wanted: dict[str, list[str]] = {name: [] for name in endpoints}
            with delivering(url, *QUICK) as process:
                async with teller(url) as told:
                    for name in endpoints:
                        for _ in range(50):
                            await told.tell(name)
                            wanted[name].append(told.last)
                await until(lambda: all(len(e.asked) > 5 for e in endpoints.values()))
                await asyncio.to_thread(first.kill)
                await asyncio.sleep(1)
                await asyncio.to_thread(_started, again)
                async with teller(url) as told:
                    told._count = iter(range(1000, 2000))  # type: ignore[assignment]
                    for name in endpoints:
                        await told.tell(name)
                        wanted[name].append(told.last)
                await all_came(endpoints, wanted)
                assert process.poll() is None
            for name, endpoint in endpoints.items():
                assert set(ids(endpoint)) >= set(wanted[name])
    finally:
        first.stop()
        again.stop()


def _started(server: NatsServer) -> None:
    server.start()


async def test_attempts_are_counted_over_a_kill(server: NatsServer) -> None:
    """One that is killed often does not try for ever."""

    async def refuse(_asked: Asked) -> bytes:
        return status(503)

    async with gateway(server.url, Settings(private=True)) as door, teller(server.url) as told, Endpoint(refuse) as bad:
        http = await door.client("ann")
        (await http.put("/v1/webhooks/hook", json={"url": bad.url})).raise_for_status()
        await told.tell("ann")
        for attempt in (1, 2, 3):
            with delivering(server.url, *QUICK, "--attempts", "3", "--first-wait", "60") as process:
                await until(lambda: len(bad.asked) >= attempt)  # noqa: B023
                if attempt < 3:

                    async def noted(attempt: int = attempt) -> bool:
                        seen = (await http.get("/v1/webhooks/hook")).json()
                        return bool(seen.get("attempts", 0) == attempt)

                    await until_true(noted)
                    process.kill()
                    continue

                async def dead() -> list[object]:
                    found: list[object] = (await http.get("/v1/webhooks/hook/dead")).json()["letters"]
                    return found

                assert len(await until_true(dead)) == 1
        assert len(bad.asked) == 3
        assert len({asked.headers["webhook-id"] for asked in bad.asked}) == 1
        assert event_of(bad.asked[0])["id"] == told.last


def test_it_ends_in_one_line_if_there_is_no_server() -> None:
    words = ["-m", "nearcast.webhooks", "--nats", "nats://127.0.0.1:1"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: no NATS server answers at nats://127.0.0.1:1")
    assert len(done.stderr.splitlines()) == 1


async def test_it_ends_well(server: NatsServer) -> None:
    """What is on its way is waited for, and does not come again."""
    holding = asyncio.Event()

    async def answer(_asked: Asked) -> bytes:
        await holding.wait()
        return status(204)

    async with hooks(server.url, [None]) as endpoints, teller(server.url) as told:
        [endpoint] = endpoints.values()
        endpoint.answer = answer
        with ExitStack() as stack:
            process = stack.enter_context(delivering(server.url, *QUICK, "--timeout", "10"))
            await told.tell("client0")
            await told.tell("client0")
            await until(lambda: len(endpoint.asked) == 1)
            process.terminate()
            await asyncio.sleep(0.3)
            assert process.poll() is None
            holding.set()
            assert await asyncio.to_thread(process.wait, 10) == 0
            assert len(endpoint.asked) == 1
            stack.enter_context(delivering(server.url, *QUICK))
            await came(endpoint, 2)
            assert ids(endpoint) == ["id-1", "id-2"]
