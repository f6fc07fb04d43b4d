"""``nearcast webhook``: one's own webhooks, from a shell."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from nearcast.shell import as_json, connected, do, say

if TYPE_CHECKING:
    from nearcast.client import Client

__all__ = ["webhook"]


@click.group()
def webhook() -> None:
    """Have events sent to a URL, and see how that goes."""


@webhook.command()
@click.argument("name")
@click.argument("target", metavar="URL")
@click.option("--batch", type=click.IntRange(1, 100), help="Up to so many events in a request, as a list.")
@click.option("--after", metavar="CURSOR", help="Begin after an event's cursor, or 0; else with what comes now.")
@connected
@as_json
def add(name: str, target: str, batch: int | None, after: str | None, as_json: bool, **where: Any) -> None:
    """Add the webhook NAME, or change where it leads, and print the secret of a new one, once."""
    made = do(doing=lambda me: me.add_webhook(name, target, batch=batch, after=after), **where)
    say(made, made.get("secret", f"changed {name}"), as_json)


@webhook.command("list")
@connected
@as_json
def list_(as_json: bool, **where: Any) -> None:
    """All of one's webhooks, and how each is."""
    found = do(doing=lambda me: me.webhooks(), **where)
    if as_json:
        click.echo(json.dumps(found))
        return
    for hook in found:
        dead = f", {hook['dead']} dead" if hook.get("dead") else ""
        reason = f" ({hook['reason']})" if hook.get("reason") else ""
        click.echo(f"{hook['id']}  {hook['state']}{dead}  {hook['url']}{reason}")


def _verb(name: str, does: str, said: str, doing: Any) -> None:
    """A verb that takes the name of a webhook and nothing else."""

    @webhook.command(name, help=does)
    @click.argument("name")
    @connected
    @as_json
    def verb(name: str, as_json: bool, **where: Any) -> None:
        answer = do(doing=lambda me: doing(me, name), **where)
        say(answer, said.format(name=name, answer=answer), as_json)


async def _rotated(me: Client, name: str) -> dict[str, str]:
    return {"id": name, "secret": await me.rotate_webhook(name)}


_verb("pause", "Deliver no more to NAME, for now.", "paused {name}", lambda me, name: me.pause_webhook(name))
_verb("resume", "Deliver to NAME again.", "resumed {name}", lambda me, name: me.resume_webhook(name))
_verb("rotate", "Print a new secret for NAME, once.", "{answer[secret]}", _rotated)
_verb("retry", "Try the dead letters of NAME again.", "retrying {name}", lambda me, name: me.retry_dead_letters(name))
_verb("remove", "Remove NAME.", "removed {name}", lambda me, name: me.remove_webhook(name))


@webhook.command()
@click.argument("name")
@connected
@as_json
def test(name: str, as_json: bool, **where: Any) -> None:
    """Send something to NAME to try its endpoint with. Exits 1 unless it was delivered."""
    answer = do(doing=lambda me: me.test_webhook(name), **where)
    say(answer, " ".join(filter(None, (answer["outcome"], answer.get("reason")))), as_json)
    sys.exit(0 if answer["outcome"] == "delivered" else 1)


@webhook.command()
@click.argument("name")
@connected
@as_json
def dead(name: str, as_json: bool, **where: Any) -> None:
    """What could not be delivered to NAME, and why."""

    async def listing(me: Client) -> None:
        async for letter in me.dead_letters(name):
            event = letter["event"]
            text = (
                f"{letter['time']}  {event['type']} {event['id']}: {letter['reason']} ({letter['attempts']} attempts)"
            )
            click.echo(json.dumps(letter) if as_json else text)

    do(doing=listing, **where)
