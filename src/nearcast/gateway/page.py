"""The live map: a page of the package and its files, and what a browser lets that page do.

The page asks the same doors as everyone, with the token of whoever looks at it. The files themselves are nobody's
secret, so they need no token.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from importlib.resources.abc import Traversable
from urllib.parse import urlsplit

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from nearcast.errors import ModelError

__all__ = ["check_tiles", "page_routes"]

INDEX = "index.html"
SETTINGS = "settings.json"
KINDS = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}
"""What is served, by the ends of names. Other files are not."""
PARTS = ("{z}", "{x}", "{y}")
SUBDOMAINS = "abc"
"""What ``{s}`` in an address of tiles stands for."""
_encoder = msgspec.json.Encoder()


@dataclass(frozen=True)
class _File:
    body: bytes
    kind: str
    packed: bytes
    tag: str


def page_routes(tiles: str | None, credit: str) -> list[Route]:
    """The page at ``/map``, its files below. All of it is read once."""
    settings = {"tiles": tiles, "credit": credit, "subdomains": SUBDOMAINS}
    files = dict(_files(resources.files("nearcast") / "page"))
    files[SETTINGS] = _file(SETTINGS, _encoder.encode(settings))
    headers = _headers(tiles)
    return [
        Route("/map", _serving(files, headers), methods=["GET"]),
        Route("/map/{name:path}", _serving(files, headers), methods=["GET"]),
    ]


def check_tiles(template: str) -> str:
    """An address of tiles, or an error that says what is wrong with it."""
    named = re.findall(r"{\w*}", template)
    if any(part not in named for part in PARTS):
        raise ModelError(
            f"an address of tiles has {', '.join(PARTS)} in it, such as https://host/{{z}}/{{x}}/{{y}}.png"
        )
    if unknown := set(named) - {*PARTS, "{s}", "{r}"}:
        raise ModelError(f"nothing is known to put in place of {min(unknown)} in the address of tiles")
    if template.startswith("/") and not template.startswith("//"):
        return template
    origin = _origin(template)
    if not re.fullmatch(r"https?://[\w.{}-]+(:\d+)?|https?://\[[\da-fA-F:]+\](:\d+)?", origin, re.ASCII):
        raise ModelError("an address of tiles begins with https:// or http:// and a host, or with / if they are here")
    return template


def _origin(template: str) -> str:
    found = urlsplit(template)
    return f"{found.scheme}://{found.netloc}"


def _origins(tiles: str | None) -> list[str]:
    """Where tiles come from, if not from here."""
    if tiles is None or tiles.startswith("/"):
        return []
    origin = _origin(tiles)
    return [origin.replace("{s}", name) for name in SUBDOMAINS] if "{s}" in origin else [origin]


# ---- files ---------------------------------------------------------------------------------------------


def _files(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, _File]]:
    for entry in folder.iterdir():
        name = prefix + entry.name
        if entry.is_dir():
            yield from _files(entry, f"{name}/")
        elif _ending(name) in KINDS:
            yield name, _file(name, entry.read_bytes())


def _file(name: str, body: bytes) -> _File:
    return _File(body, KINDS[_ending(name)], gzip.compress(body, 9, mtime=0), f'"{sha256(body).hexdigest()[:32]}"')


def _ending(name: str) -> str:
    return name.rpartition(".")[2]


# ---- what a browser is told ----------------------------------------------------------------------------


def _headers(tiles: str | None) -> dict[str, str]:
    """Scripts and styles of our own only, nothing inline; requests go nowhere but here; and nothing that others wrote
    can become HTML, since no policy that would let it is allowed but the page's own, which lets nothing."""
    policy = {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:", *_origins(tiles)],
        "connect-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
        "require-trusted-types-for": ["'script'"],
        "trusted-types": ["default"],
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {' '.join(allowed)}" for name, allowed in policy.items()),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(self), microphone=()",
        "Referrer-Policy": "strict-origin-when-cross-origin",  # servers of tiles ask for it
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-cache",
        "Vary": "Accept-Encoding",
    }


def _serving(files: dict[str, _File], headers: dict[str, str]) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        name = request.path_params.get("name", INDEX)
        if name in ("", INDEX) and "name" in request.path_params:  # names in the page are relative to /map
            return RedirectResponse("../map", 308)
        file = files.get(name)
        if file is None:
            raise HTTPException(404)
        return _answer(file, request, headers)

    return serve


def _answer(file: _File, request: Request, headers: dict[str, str]) -> Response:
    said = {**headers, "ETag": file.tag}
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=said)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, headers={**said, "Content-Encoding": "gzip"}, media_type=file.kind)
    return Response(file.body, headers=said, media_type=file.kind)
