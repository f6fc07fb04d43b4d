"""Which addresses a webhook may lead to.

Whoever may have requests sent from inside a network could use them to reach what is not meant for him. So an address
must be one of the public internet, unless the operator says that private ones may be called. It is looked at when a
webhook is made, for a clear answer, and by the process at every connection, since a name can lead elsewhere by then.

A name that is unknown and one that leads inside get the same answer: which names there are inside is nobody's business.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Awaitable, Callable
from urllib.parse import SplitResult, urlsplit

from nearcast.errors import GatewayError

__all__ = ["NOWHERE", "Nowhere", "check_target", "is_allowed", "split_url"]

LONGEST = 2048
NOWHERE = "no address is known for this host that may be called"
_PLAIN = re.compile(r"[!-~]+")
_NUMBER = re.compile(r"\d+|0[xX][0-9a-fA-F]*")
"""What ends an address in one of the ways that some read and others do not."""
_UNICAST = ipaddress.ip_network("2000::/3")
"""All that is given out of IPv6."""
_WRAPPED = [ipaddress.ip_network(text) for text in ("::/96", "64:ff9b::/96", "2001::/32", "2002::/16")]
"""What holds an address of IPv4, which may lead anywhere."""
_LOOPBACK, _BROADCAST = ipaddress.ip_address("::1"), ipaddress.ip_address("255.255.255.255")


class Nowhere(OSError):
    """There is no address that may be called."""

    def __init__(self) -> None:
        super().__init__(NOWHERE)


def split_url(url: str) -> SplitResult:
    """The parts of a URL that a webhook may have; else it raises, and says what is wrong."""
    if len(url) > LONGEST:
        raise _wrong(f"a URL has at most {LONGEST:,} characters")
    if not _PLAIN.fullmatch(url) or "\\" in url:
        raise _wrong("a URL has no spaces and only ASCII; write others as percent codes, and a host as xn--…")
    try:
        found, port = urlsplit(url), urlsplit(url).port
    except ValueError as error:
        raise _wrong(f"not a URL: {error}") from None
    if found.scheme not in ("http", "https") or not found.hostname:
        raise _wrong("a webhook goes to http://host/… or https://host/…")
    if _NUMBER.fullmatch(found.hostname.rstrip(".").rpartition(".")[2]) and not _is_address(found.hostname):
        raise _wrong("an address of IPv4 is four numbers from 0 to 255")
    if found.username is not None or found.password is not None:
        raise _wrong("leave the password out; what is sent is signed, which says who sends it")
    if found.fragment or port == 0:
        raise _wrong("leave out what is after #" if found.fragment else "0 is not a port")
    return found


def _is_address(host: str) -> bool:
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def _wrong(reason: str) -> GatewayError:
    return GatewayError(422, reason, "url")


def is_allowed(address: str, *, private: bool) -> bool:
    """Whether an address, as a resolver gives it, may be called. Those of the link never may: clouds keep keys there.

    What is no address raises `ValueError`.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if ip.is_multicast or ip.is_link_local or ip.is_unspecified or ip == _BROADCAST:
        return False
    if ip != _LOOPBACK and any(ip in network for network in _WRAPPED):
        return False
    if private:
        return True
    return ip.is_global and not ip.is_reserved and (ip.version == 4 or ip in _UNICAST)


async def check_target(url: str, find: Callable[[str], Awaitable[list[str]]], *, private: bool) -> None:
    """Raise if a webhook may not go there, as far as one can tell now. ``find`` gives the addresses of a host."""
    parts = split_url(url)
    host = parts.hostname or ""
    try:
        if not is_allowed(host, private=private):
            raise _wrong(NOWHERE)
    except ValueError:
        if private:
            return
        found = await find(host)
        if not found or not all(is_allowed(address, private=False) for address in found):
            raise _wrong(NOWHERE) from None
