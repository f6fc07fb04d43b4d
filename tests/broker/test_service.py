from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from nearcast.language.oplog import encode_notification
from nearcast.log.server import NatsServer
from nearcast.testing import Log, logs, run
from tests.broker.heard import Heard, append, everything, expected, packets_of, running, tells_up_to, told


@given(log=st.one_of(logs(max_ops=25), logs(common=True, max_ops=25)), cuts=st.lists(st.integers(1, 80), max_size=20))
@settings(max_examples=8, phases=[Phase.generate])
def test_the_broker_tells_what_the_definition_tells(
    log: Log, cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with NatsServer(tmp_path_factory.mktemp("nats")) as server:
        heard = asyncio.run(_through_a_broker(server.url, log, cuts))
    notifications = run(log)
    assert told(heard) == expected(notifications)
    for one, n in zip(heard, notifications, strict=True):
        said, wanted = json.loads(one.payload), json.loads(encode_notification(n))
        assert said.pop("why") in ({}, wanted.pop("why"))
        assert said == wanted


async def _through_a_broker(url: str, log: Log, cuts: list[int]) -> list[Heard]:
    last = await append(url, packets_of(log, cuts))
    async with running(url) as broker:
        await tells_up_to(broker, last)
    return await everything(url)
