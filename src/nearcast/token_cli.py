"""`nearcast token`, `tokens` and `revoke`: who may come in, in a file that gateways and servers read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from nearcast.errors import LanguageError
from nearcast.gateway.grants import Role
from nearcast.model.moment import MICROS
from nearcast.shell import DATA, as_json, say

__all__ = ["COMMANDS"]

F = TypeVar("F", bound=Callable[..., Any])


def _file(command: F) -> F:
    """The options that say which file it is."""
    for option in (
        click.option("--tokens", type=click.Path(dir_okay=False, path_type=Path), help="The file; else of --data."),
        DATA,
    ):
        command = option(command)
    return command


@click.command()
@click.argument("client")
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    default=Role.CLIENT.value,
    show_default=True,
    help="What it may do.",
)
@click.option("--expires", metavar="DURATION", help="How long it is good for, such as 30d; for ever unless told.")
@_file
@as_json
def token(client: str, role: str, expires: str | None, data: Path, tokens: Path | None, as_json: bool) -> None:
    """Make a token for CLIENT and print it; only its hash is kept."""
    from nearcast.gateway.identity import add_token  # noqa: PLC0415

    made = add_token(tokens or data / "tokens.json", client, Role(role), _seconds(expires))
    say({"client": client, "role": role, "token": made}, made, as_json)


def _seconds(text: str | None) -> float | None:
    from nearcast.language.parse import parse_duration  # noqa: PLC0415

    if text is None:
        return None
    try:
        return parse_duration(text) / MICROS
    except LanguageError:
        raise click.BadParameter(f"{text!r} is not one; write 30d", param_hint="'--expires'") from None


@click.command()
@_file
@as_json
def tokens(data: Path, tokens: Path | None, as_json: bool) -> None:
    """List the tokens that there are, by their ids."""
    from nearcast.gateway.identity import TokenFile  # noqa: PLC0415

    for id_, entry in TokenFile(tokens or data / "tokens.json").entries().items():
        until = f"until {entry.expires}" if entry.expires else "for ever"
        known = {
            "id": id_,
            "client": entry.client,
            "role": entry.role,
            "issued": entry.issued,
            "expires": entry.expires,
        }
        say(known, f"{id_}  {entry.role:<8}  {entry.client}  {until}", as_json)


@click.command()
@click.argument("id", metavar="[ID]", required=False)
@click.option("--client", help="All tokens of a client.")
@_file
@as_json
def revoke(id: str | None, client: str | None, data: Path, tokens: Path | None, as_json: bool) -> None:  # noqa: A002
    """Take a token away, by its ID, or all of a client. Doors that are open are closed within seconds."""
    from nearcast.gateway.identity import revoke as take_away  # noqa: PLC0415

    if (id is None) == (client is None):
        raise click.UsageError("give an ID, or --client")
    gone = take_away(tokens or data / "tokens.json", id_=id or "", client=client or "")
    if not gone:
        raise click.ClickException(
            f"there is no token {f'of {client!r}' if client else id!r}; `nearcast tokens` lists them"
        )
    say({"revoked": gone}, f"{gone} revoked", as_json)


COMMANDS = [token, tokens, revoke]
