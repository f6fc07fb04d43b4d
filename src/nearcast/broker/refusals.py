"""What was refused of the latest packets, for whoever wrote one and waits to hear."""

from __future__ import annotations

from nearcast.broker.applying import Refusal

__all__ = ["Refusals"]

REMEMBERED = 10_000
"""Packets of which it is known what was refused."""
MOST = 64 * 2**20
"""Bytes that this may take; of more, the latest packets are known."""


class Refusals:
    """``note`` each packet in turn."""

    def __init__(self, packets: int = REMEMBERED, most: int = MOST) -> None:
        self._packets, self._most = packets, most
        self._by_packet: dict[int, list[Refusal]] = {}
        self._size = 0
        self._since, self._last = 1, 0
        """The packets of which it is known."""

    def begin(self, sequence: int) -> None:
        """Of nothing before this packet is known what became of it."""
        self._by_packet.clear()
        self._size = 0
        self._since, self._last = sequence, sequence - 1

    def note(self, sequence: int, refused: list[Refusal]) -> None:
        self._last = sequence
        self._since = max(self._since, sequence - self._packets + 1)
        if refused:
            self._by_packet[sequence] = refused
            self._size += _size(refused)
        while self._by_packet:
            oldest = next(iter(self._by_packet))
            if self._size > self._most and oldest < sequence:
                self._since = max(self._since, oldest + 1)
            if oldest >= self._since:
                break
            self._size -= _size(self._by_packet.pop(oldest))

    def of(self, sequence: int) -> list[Refusal] | None:
        """The ops of a packet that were refused; None if that is not known any more, or not yet."""
        if not self._since <= sequence <= self._last:
            return None
        return self._by_packet.get(sequence, [])


def _size(refused: list[Refusal]) -> int:
    return sum(refusal.size for refusal in refused)
