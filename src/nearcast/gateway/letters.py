"""Dead letters: events that a webhook gave up, each with the reason, in a stream of their own that is bounded."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from nats.js import JetStreamContext, api
from nats.js import errors as stream_errors

from nearcast.gateway.outbox import PAGE_BYTES, read_page
from nearcast.log.client import Log
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.subjects import LETTER_SUBJECTS, LETTERS, letter_subject

__all__ = ["KEPT", "Letter", "Letters", "Listed"]

KEPT = 1000
"""Letters of one webhook; the oldest goes when there are more."""
BYTES = 256 * 2**20
"""Of all letters."""
AGE = 30 * 24 * 3600.0
"""Seconds for which one is kept."""
_NO_SUCH = 10043
"""Error of a server: there is no message of that sequence."""
_encoder = msgspec.json.Encoder()


class Letter(msgspec.Struct):
    """An event that was not delivered."""

    key: str
    """Its idempotency key, which a later attempt has again."""
    time: str
    """When it was given up."""
    attempts: int
    since: str
    """When the first of them was."""
    reason: str
    event: msgspec.Raw


class Listed(NamedTuple):
    """Letters with their places in the stream, and whether there are no more."""

    letters: list[tuple[int, Letter]]
    is_last: bool


_letter = msgspec.json.Decoder(Letter)


class Letters:
    """The dead letters of all webhooks, each under the number of its webhook."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def create(self) -> None:
        """Make the stream, if there is none."""
        with explained(self._log.url, LETTERS):
            try:
                await self._streams().stream_info(LETTERS)
            except stream_errors.NotFoundError:
                await self._streams().add_stream(
                    api.StreamConfig(
                        LETTERS,
                        subjects=[LETTER_SUBJECTS],
                        storage=api.StorageType.FILE,
                        discard=api.DiscardPolicy.OLD,
                        max_msgs_per_subject=KEPT,
                        max_bytes=BYTES,
                        max_age=AGE,
                        allow_direct=True,
                    )
                )

    async def add(self, number: str, letter: Letter) -> None:
        """On disk when it returns. The same letter of the same attempts is not added twice within two minutes."""
        with explained(self._log.url, LETTERS):
            await self._streams().publish(
                letter_subject(number),
                _encoder.encode(letter),
                headers={"Nats-Msg-Id": f"{letter.key} {letter.since} {letter.attempts}"},
            )

    async def read(self, number: str, after: int, most: int) -> Listed:
        page = await read_page(self._log, LETTERS, letter_subject(number), after, most, size=PAGE_BYTES)
        found = [(told.sequence, _letter.decode(told.payload)) for told in page.told]
        return Listed(found, page.is_last)

    async def remove(self, sequence: int) -> None:
        """One that was delivered after all."""
        with explained(self._log.url, LETTERS):
            try:
                await self._streams().delete_msg(LETTERS, sequence)
            except stream_errors.APIError as error:
                if error.err_code != _NO_SUCH:
                    raise

    async def last(self, number: str) -> int:
        """The place of the last one; 0 if there is none."""
        with explained(self._log.url, LETTERS):
            try:
                found = await self._streams().get_last_msg(LETTERS, letter_subject(number))
            except stream_errors.NotFoundError:
                return 0
        return found.seq or 0

    async def count(self, number: str) -> int:
        return (await self.counts(letter_subject(number))).get(number, 0)

    async def counts(self, subjects: str = LETTER_SUBJECTS) -> dict[str, int]:
        """How many letters there are, by the number of their webhook."""
        with explained(self._log.url, LETTERS):
            found = (await self._streams().stream_info(LETTERS, subjects)).state.subjects or {}
        return {subject.rpartition(".")[2]: count for subject, count in found.items()}

    async def purge(self, number: str) -> None:
        """Without those of a webhook that was removed."""
        with explained(self._log.url, LETTERS):
            await self._streams().purge_stream(LETTERS, subject=letter_subject(number))

    def _streams(self) -> JetStreamContext:
        return self._log.client.jetstream(timeout=PATIENCE)
