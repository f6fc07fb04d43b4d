"""The OpenAPI 3.1 document, made from the routes and from what their bodies hold."""

from __future__ import annotations

import re
from http import HTTPStatus
from importlib import metadata
from typing import Any

import msgspec

from nearcast.gateway.bodies import Problem
from nearcast.gateway.routes import ROUTES, Way

__all__ = ["openapi"]

REFUSALS = (400, 401, 403, 404, 408, 409, 413, 422, 429, 503)
_REF = "#/components/schemas/{name}"


def openapi() -> dict[str, Any]:
    told = [kind for way in ROUTES for kind in (way.takes, way.gives, way.also and way.also[1])]
    kinds = [kind for kind in told if kind is not None]
    schemas, components = msgspec.json.schema_components([*kinds, Problem], ref_template=_REF)
    known = dict(zip(map(id, kinds), schemas, strict=False))
    paths: dict[str, Any] = {}
    for way in ROUTES:
        paths.setdefault(_path(way), {})[way.method.lower()] = _operation(way, known)
    paths["/v1/events"] = {"get": _events()}
    for path, does, statuses in (
        ("/v1/health", "Whether it works", (200, 503)),
        ("/v1/openapi.json", "This document", (200,)),
    ):
        responses = {str(status): {"description": HTTPStatus(status).phrase} for status in statuses}
        paths[path] = {"get": {"summary": does, "security": [], "responses": responses}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "nearcast",
            "version": metadata.version("nearcast"),
            "description": "Location-aware publish/subscribe. The WebSocket /v1/ws has events out, acks and moves in.",
        },
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "responses": {"Problem": _problem()},
        },
    }


def _path(way: Way) -> str:
    return way.path.replace(":path", "")


def _operation(way: Way, known: dict[int, Any]) -> dict[str, Any]:
    parameters = [_parameter(name, "path") for name in re.findall(r"{(\w+)", way.path)]
    parameters += [_parameter(name, "query") for name in (*way.query, "client")]
    done = {
        str(status): {"description": HTTPStatus(status).phrase, **_content(gives, known)}
        for status, gives in ((way.status, way.gives), *([way.also] if way.also else []))
    }
    operation: dict[str, Any] = {
        "summary": way.does,
        "operationId": re.sub(r"\W+", "_", f"{way.method.lower()}{_path(way).removeprefix('/v1')}").strip("_"),
        "parameters": parameters,
        "responses": {**done, **_refusals()},
    }
    if way.takes is not None:
        content = {media: {"schema": _schema(media, known[id(way.takes)])} for media in way.media}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _content(gives: Any, known: dict[int, Any]) -> dict[str, Any]:
    return {} if gives is None else {"content": {"application/json": {"schema": known[id(gives)]}}}


def _schema(media: str, schema: Any) -> Any:
    """What is not plain JSON is described elsewhere."""
    if media == "application/geo+json":
        return {"type": "object"}
    return schema if media == "application/json" else {"type": "string"}


def _parameter(name: str, where: str) -> dict[str, Any]:
    return {"name": name, "in": where, "required": where == "path", "schema": {"type": "string"}}


def _refusals() -> dict[str, Any]:
    return {str(status): {"$ref": "#/components/responses/Problem"} for status in REFUSALS}


def _problem() -> dict[str, Any]:
    content = {"application/problem+json": {"schema": {"$ref": _REF.format(name="Problem")}}}
    return {"description": "What went wrong, and with which field", "content": content}


def _events() -> dict[str, Any]:
    parameters = [_parameter(name, "query") for name in ("after", "cursor", "client")]
    header = {**_parameter("Last-Event-ID", "header"), "required": False}
    return {
        "summary": "Events as they happen, as CloudEvents; an id is a cursor to go on after",
        "operationId": "get_events",
        "parameters": [*parameters, header],
        "responses": {
            "200": {"description": "OK", "content": {"text/event-stream": {"schema": {"type": "string"}}}},
            **_refusals(),
        },
    }
