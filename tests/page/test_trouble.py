"""The map when things go wrong: it says so, waits as told, goes on where it was, and asks for a token that holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256

import httpx
from playwright.sync_api import Browser, Route, expect

from tests.page.city import MIDDLE, City
from tests.page.screen import DESKTOP, PATIENCE, enter, fresh, gateway, is_live, log, looking, row, show, until_there


def test_a_gateway_that_dies_costs_nothing(browser: Browser, city: City) -> None:
    ann, bus = fresh("ann"), fresh("bus")
    token = city.enrol(ann)
    city.publish(bus)
    city.subscribe(ann, "hall", f"SELECT WHERE &location IN DISC({MIDDLE[0]} {MIDDLE[1]}, 300 m)")
    with looking(browser, city, DESKTOP, noise="Failed to load resource") as page:
        enter(page, city, token)
        city.move(bus, *MIDDLE)
        expect(row(page, f"{bus} entered hall")).to_have_count(1)
        os.kill(city.pid_of("nearcast.gateway"), signal.SIGKILL)
        expect(page.locator("#state")).to_have_attribute("data-state", "wait")
        move_when_there(city, bus)
        expect(row(page, f"{bus} left hall")).to_have_count(1)
        is_live(page)
        city.move(bus, *MIDDLE)
        expect(log(page).get_by_role("listitem")).to_have_count(3)


def move_when_there(city: City, bus: str) -> None:
    until_there(city)
    city.move(bus, MIDDLE[0] + 1, MIDDLE[1])


def test_what_is_gone_is_said_and_the_present_follows(browser: Browser, city: City) -> None:
    ann, bus, cab = fresh("ann"), fresh("bus"), fresh("cab")
    token = city.enrol(ann)
    city.publish(bus, cab)
    city.subscribe(ann, "hall", f"SELECT WHERE &location IN DISC({MIDDLE[0]} {MIDDLE[1]}, 300 m)")
    with looking(browser, city, DESKTOP, noise="Failed to load resource") as page:
        enter(page, city, token)
        city.move(bus, *MIDDLE)
        expect(row(page, f"{bus} entered hall")).to_have_count(1)
        page.route("**/v1/events*", lambda route: route.abort())
        os.kill(city.pid_of("nearcast.gateway"), signal.SIGKILL)
        move_when_there(city, bus)
        city.move(cab, *MIDDLE)
        purge(city.nats)
        page.unroute("**/v1/events*")
        expect(row(page, "Some events are gone")).to_have_count(1)
        expect(row(page, f"{cab} is in hall")).to_have_count(1)
        is_live(page)


def purge(nats: str) -> None:
    """All that was told, as when it has been dropped to make room."""
    script = (
        "import asyncio, sys, nats\n"
        "async def main():\n"
        "    client = await nats.connect(sys.stdin.read())\n"
        "    await client.jetstream().purge_stream('nearcast-out')\n"
        "    await client.close()\n"
        "asyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", script], input=nats, text=True, check=True, timeout=30)


def test_a_token_that_does_not_hold(browser: Browser, city: City) -> None:
    ann = fresh("ann")
    token = city.enrol(ann)
    with looking(browser, city, DESKTOP, noise="401") as page:
        page.goto(f"{city.url}/map#token=n%C3%A9ant%20rien")
        expect(page.locator("#entry-problem")).to_contain_text("This is not a token")
        page.goto(f"{city.url}/map#token=nonsense")
        expect(page.locator("#entry-problem")).to_have_text("This token is not known.")
        assert page.evaluate("sessionStorage.length") == 0
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Open").click()
        is_live(page)
        assert sorted(page.evaluate("Object.values(sessionStorage)")) == ["", token]
        assert page.evaluate("localStorage.length + document.cookie.length") == 0
        page.reload()
        is_live(page)
        (city.data / "tokens.json").write_text(without(city, token))
        expect(page.locator("#entry-problem")).to_contain_text("token")
        expect(page.get_by_label("Token")).to_be_focused()
        assert page.evaluate("sessionStorage.length") == 0
        page.get_by_label("Token").fill(city.token)
        page.get_by_text("For operators").click()
        page.get_by_label("See as the client").fill(ann)
        page.get_by_role("button", name="Open").click()
        expect(page.locator("#whoami")).to_have_text(f"{ann} (operator)")
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator("#entry")).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0
        expect(page.locator("#entry-as")).to_have_value("")


def without(city: City, token: str) -> str:
    """The file of tokens, one of them taken away."""
    known = json.loads((city.data / "tokens.json").read_text())
    del known[sha256(token.encode()).hexdigest()]
    return json.dumps(known)


def test_a_page_that_cannot_begin_says_so_and_tries_again(browser: Browser, city: City) -> None:
    token = city.enrol(fresh("ann"))
    with looking(browser, city, DESKTOP, noise="Failed to load resource") as page:
        page.route("**/map/settings.json", lambda route: route.fulfill(status=502, body="<p>away</p>"), times=1)
        page.route("**/map/settings.json", lambda route: route.abort(), times=1)
        page.goto(f"{city.url}/map#token={token}")
        expect(page.locator("#state-text")).to_have_text("The gateway does not answer; again in 1 s")
        assert page.url == f"{city.url}/map", "the token is not left in the address"
        expect(page.locator("#state-text")).to_have_text("The gateway does not answer; again in 2 s")
        is_live(page)


def test_a_gateway_that_is_away_is_waited_for_while_one_signs_in(browser: Browser, city: City) -> None:
    """What it waits for is said in the dialog, since nothing else can be seen."""
    token = city.enrol(fresh("ann"))
    away = {"status": 503, "headers": {"Retry-After": "1"}, "json": {"detail": "no broker answers"}}
    with looking(browser, city, DESKTOP, noise="503") as page:
        page.goto(f"{city.url}/map")
        page.route("**/v1/client", lambda route: route.fulfill(**away))
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Open").click()
        expect(page.locator("#entry-state")).to_contain_text("Waiting: no broker answers; again in")
        page.unroute("**/v1/client")
        is_live(page)
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator("#entry")).to_be_visible()
        expect(page.locator("#entry-state")).to_be_hidden()


def test_a_fault_of_the_gateway_does_not_cost_the_token(browser: Browser, city: City) -> None:
    token = city.enrol(fresh("ann"))
    fault = {"status": 500, "json": {"detail": "something is broken"}}
    with looking(browser, city, DESKTOP, noise="500") as page:
        page.route("**/v1/client", lambda route: route.fulfill(**fault), times=1)
        page.goto(f"{city.url}/map#token={token}")
        expect(page.locator("#entry-problem")).to_have_text("something is broken")
        assert sorted(page.evaluate("Object.values(sessionStorage)")) == ["", token]
        page.get_by_role("button", name="Open").click()
        is_live(page)


def test_too_much_is_waited_for_as_told(browser: Browser, city: City) -> None:
    """Of a gateway that has enough of questions, the page asks again when it says, and gets its answer."""
    ann = fresh("ann")
    token = city.enrol(ann)
    with gateway(city, "--rate", "60") as slow, looking(browser, slow, DESKTOP, noise="429") as page:
        enter(page, slow, token)
        show(page, "Ask")
        page.get_by_role("combobox", name="Question").select_option("Who is near me?")
        with asking_much(slow, token):
            page.get_by_role("button", name="Ask now").click()
            expect(page.locator("#state-text")).to_contain_text("Waiting: more than 60 ops a second")
        is_live(page)
        expect(page.locator("#ask-count")).to_have_text("Nobody and nothing.")


@contextmanager
def asking_much(city: City, token: str) -> Iterator[None]:
    """As much as one may, with the same token from elsewhere; it is so when this begins, and until it ends."""
    is_too_much, is_over = threading.Event(), threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=city.url, headers={"Authorization": f"Bearer {token}"}, timeout=30) as http:
            while not is_over.is_set():
                if http.post("/v1/query", json={"text": "SELECT"}).status_code == 429:
                    is_too_much.set()

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        try:
            assert is_too_much.wait(60)
            yield
        finally:
            is_over.set()
            asked.result()


def test_only_the_last_question_is_answered(browser: Browser, city: City) -> None:
    """The answer to an earlier one, if it comes late, does not take its place."""
    ann, bus = fresh("ann"), fresh("bus")
    token = city.enrol(ann)
    city.publish(bus)
    city.move(bus, *MIDDLE)
    with looking(browser, city, DESKTOP) as page:
        enter(page, city, token)
        show(page, "Ask")
        question = page.get_by_role("combobox", name="Question")
        question.select_option("A statement of your own")
        held: list[Route] = []
        page.route("**/v1/query", lambda route: held.append(route))  # noqa: PLW0108 (it is given an attribute)
        ask = page.get_by_role("button", name="Ask now")
        for text in ("SELECT NEAREST 1", f"SELECT AT POINT({MIDDLE[0]} {MIDDLE[1]}) NEAREST 1"):
            page.get_by_role("textbox", name="Statement").fill(text)
            with page.expect_request("**/v1/query"):
                ask.click()
        for _ in range(PATIENCE // 20):
            if len(held) == 2:
                break
            page.wait_for_timeout(20)
        first, last = held
        last.continue_()
        expect(page.locator("#ask-count")).to_have_text("1 answer")
        first.fulfill(json={"notifications": []})
        page.wait_for_timeout(300)
        expect(page.locator("#ask-count")).to_have_text("1 answer")
