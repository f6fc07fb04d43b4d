"""What was told before the page was opened, who is in what since long, and what is read out."""

from __future__ import annotations

import re
import time

from playwright.sync_api import Browser, Page, Request, Response, Route, expect

from tests.page.city import MIDDLE, City
from tests.page.screen import DESKTOP, enter, fresh, log, looking, row, show, spoken

HALL = f"SELECT WHERE &location IN DISC({MIDDLE[0]} {MIDDLE[1]}, 300 m)"
AWAY = (MIDDLE[0] + 0.01, MIDDLE[1])
QUESTIONS = 20
"""Those that the page asks at once, at most."""


def with_param(page: Page, door: str, name: str, value: str) -> None:
    """Have the page ask a door with another value."""

    def asked(route: Route) -> None:
        route.continue_(url=re.sub(rf"\b{name}=[^&]*", f"{name}={value}", route.request.url))

    page.route(re.compile(rf"/v1/{door}\?.*\b{name}="), asked)


def test_everything_of_the_last_minutes_is_listed(browser: Browser, city: City) -> None:
    """Pages of two instead of a thousand: however many there are, nothing between the first and now is left out."""
    ann, bus = fresh("ann"), fresh("bus")
    token = city.enrol(ann)
    city.publish(bus)
    city.subscribe(ann, "hall", HALL)
    for turn in range(15):
        city.move(bus, *(MIDDLE if turn % 2 == 0 else AWAY))
    with looking(browser, city, DESKTOP) as page:
        with_param(page, "notifications", "limit", "2")
        enter(page, city, token)
        expect(log(page).get_by_role("listitem")).to_have_count(15)
        city.move(bus, *AWAY)
        expect(log(page).get_by_role("listitem")).to_have_count(16)
        expect(log(page).get_by_role("listitem").first).to_contain_text(f"{bus} left hall")


def test_whoever_is_in_something_since_long_is_green(browser: Browser, city: City) -> None:
    """Also in the last of many subscriptions, about which the page does not ask all at once."""
    ann, bus, cab = fresh("ann"), fresh("bus"), fresh("cab")
    token = city.enrol(ann)
    city.publish(bus, cab)
    for number in range(QUESTIONS * 2):
        city.subscribe(ann, f"empty {number}", f"SELECT WHERE &location IN DISC({number} 0, 10 m)")
    city.subscribe(ann, "hall", HALL)
    city.move(bus, *MIDDLE)
    city.move(cab, *AWAY)
    asking: set[Request] = set()
    together: list[int] = []

    def begins(request: Request) -> None:
        if request.url.endswith("/v1/query"):
            asking.add(request)
            together.append(len(asking))

    def ends(response: Response) -> None:
        asking.discard(response.request)

    with looking(browser, city, DESKTOP) as page:
        with_param(page, "notifications", "since", "2100-01-01T00:00:00Z")
        page.on("request", begins)
        page.on("response", ends)
        enter(page, city, token)
        expect(log(page).get_by_role("listitem")).to_have_count(0)
        show(page, "Who")
        expect(page.locator("#who-list li", has_text=bus)).to_have_class(re.compile("inside"), timeout=120_000)
        expect(page.locator("#who-list li", has_text=cab)).not_to_have_class(re.compile("inside"))
        assert len(together) == QUESTIONS * 2 + 1
        assert max(together) <= QUESTIONS, "a broker has others to answer, too"


def test_whoever_has_been_in_something_for_long_enough_is_green(browser: Browser, city: City) -> None:
    """And not whoever has not, of whom nothing would be told if they went."""
    ann, bus, cab = fresh("ann"), fresh("bus"), fresh("cab")
    token = city.enrol(ann)
    city.publish(bus, cab)
    city.subscribe(ann, "short", f"{HALL} DWELL 10 ms")
    city.subscribe(ann, "long", f"{HALL.replace('300', '900')} DWELL 1 h")
    city.move(bus, *MIDDLE)
    city.move(cab, MIDDLE[0] + 0.005, MIDDLE[1])
    while not city.say("GET", "explain/short", ann)["explanations"][0]["told"]:
        time.sleep(0.05)
    with looking(browser, city, DESKTOP) as page:
        with_param(page, "notifications", "since", "2100-01-01T00:00:00Z")
        with page.expect_response("**/v1/explain/long"):
            enter(page, city, token)
        expect(log(page).get_by_role("listitem")).to_have_count(0)
        show(page, "Who")
        expect(page.locator("#who-list li", has_text=bus)).to_have_class(re.compile("inside"))
        expect(page.locator("#who-list li", has_text=cab)).not_to_have_class(re.compile("inside"))
    city.say("DELETE", "client", ann)


def test_what_is_new_is_read_out_whatever_tab_is_open(browser: Browser, city: City) -> None:
    ann, bus = fresh("ann"), fresh("bus")
    crowd = [fresh("guest") for _ in range(12)]
    token = city.enrol(ann)
    city.publish(bus, *crowd)
    city.subscribe(ann, "hall", HALL)
    city.move(bus, *MIDDLE)
    city.move(bus, *AWAY)
    with looking(browser, city, DESKTOP) as page:
        enter(page, city, token)
        expect(row(page, f"{bus} left hall")).to_have_count(1)
        expect(spoken(page)).to_have_attribute("role", "status")
        show(page, "Zones")
        city.move(bus, *MIDDLE)
        expect(spoken(page)).to_have_text(f"{bus} entered hall.")
        city.move_all(crowd, *MIDDLE)
        expect(spoken(page)).to_have_text(f"{crowd[0]} entered hall. {crowd[1]} entered hall. 10 more.")
        expect(page.locator("[aria-live]:has(li), [role=log]")).to_have_count(0)


def test_many_new_subscriptions_are_asked_for_together(browser: Browser, city: City) -> None:
    """While one question is under way, others wait, and one more answers them all."""
    ann, bus = fresh("ann"), fresh("bus")
    token = city.enrol(ann)
    city.publish(bus)
    city.move(bus, *MIDDLE)
    with looking(browser, city, DESKTOP) as page:
        enter(page, city, token)
        asked: list[Route] = []

        def hold_the_first(route: Route) -> None:
            asked.append(route)
            if len(asked) > 1:
                route.continue_()

        page.route("**/v1/subscriptions", hold_the_first)
        for number in range(5):
            city.subscribe(ann, f"hall {number}", HALL)
            expect(row(page, f"{bus} is in hall {number}")).to_have_count(1)
        assert len(asked) == 1
        asked[0].fulfill(json={"subscriptions": []})
        expect(page.locator("#zone-list li")).to_have_count(5)
        assert len(asked) == 2


def test_a_subscription_that_ends_elsewhere(browser: Browser, city: City) -> None:
    """Nothing is told of that, so the page looks now and then; and whoever was in it is green no more."""
    ann, bus = fresh("ann"), fresh("bus")
    token = city.enrol(ann)
    city.publish(bus)
    city.subscribe(ann, "hall", HALL)
    city.move(bus, *MIDDLE)
    with looking(browser, city, DESKTOP) as page:
        page.clock.install()
        enter(page, city, token)
        show(page, "Who")
        listed = page.locator("#who-list li", has_text=bus)
        expect(listed).to_have_class(re.compile("inside"))
        expect(page.locator(".zone-name")).to_have_count(1)
        city.say("DELETE", "subscriptions/hall", ann)
        page.clock.fast_forward(61_000)
        expect(page.locator(".zone-name")).to_have_count(0)
        expect(listed).not_to_have_class(re.compile("inside"))
        expect(page.locator("#zone-empty")).to_have_text("You have none.")
