"""The earth is round: the whole of it on one map, and a map that goes over 180°."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, Route, expect

from tests.page.city import MIDDLE, City
from tests.page.screen import DESKTOP, enter, fresh, looking, middle, pixel, row, show

IS_STILL = """async () => {
    for (let frame = 0; frame < 3; frame++) await new Promise((done) => requestAnimationFrame(done));
    return !document.querySelector('.leaflet-pan-anim');
}"""
IS_SHOWN = """() => [...document.querySelectorAll('path.zone')].some((path) => {
    const [is, map] = [path, document.querySelector('#map')].map((one) => one.getBoundingClientRect());
    return is.width > 100 && map.left < is.left && is.right < map.right;
})"""
SCALE = "document.querySelector('#scale').outerHTML"


def zoom_out(page: Page, times: int) -> None:
    """So many steps, each after the one before has come to rest."""
    for _ in range(times):
        before = page.evaluate(SCALE)
        page.get_by_role("button", name="Zoom out").click()
        page.wait_for_function(f"before => {SCALE} !== before", arg=before)


def ask_what_the_map_shows(page: Page) -> str:
    show(page, "Ask")
    page.get_by_role("combobox", name="Question").select_option("What is in this zone?")
    text = page.locator("#ask-text").inner_text()
    page.get_by_role("button", name="Ask now").click()
    return text


def as_if_many(page: Page) -> None:
    """Have the page ask only about what it shows, as it does once there are many clients."""

    def asked(route: Route) -> None:
        route.continue_(url=route.request.url.replace("limit=500", "limit=1"))

    page.route(re.compile(r"/v1/clients\?limit=500"), asked)


def test_the_whole_world(browser: Browser, city: City) -> None:
    ann, east, west = fresh("ann"), fresh("east"), fresh("west")
    token = city.enrol(ann)
    city.publish(east, west)
    city.move(east, 150, 60)
    city.move(west, -150, -60)
    with looking(browser, city, DESKTOP) as page:
        enter(page, city, token)
        zoom_out(page, 1)
        text = ask_what_the_map_shows(page)
        found = re.fullmatch(r"SELECT WHERE &location IN BOX\(-180 (-8\d\.\d+), 180 (8\d\.\d+)\)", text)
        assert found, text
        expect(page.locator("#ask-list li b")).to_have_text([east, west])


def test_over_180_degrees(browser: Browser, city: City) -> None:
    """Clients on both sides are asked about, listed, drawn and found, by a page that asks only about what it shows."""
    ann, nadi, taveuni = fresh("ann"), fresh("nadi"), fresh("taveuni")
    token = city.enrol(ann)
    city.publish(nadi, taveuni)
    city.move(nadi, 179.95, -17)
    city.move(taveuni, -179.95, -17)

    with looking(browser, city, DESKTOP) as page:
        as_if_many(page)
        enter(page, city, token)
        zoom_out(page, 6)
        show(page, "Who")
        expect(page.locator("#who-list li b")).to_have_text([nadi, taveuni])

        text = ask_what_the_map_shows(page)
        edges = re.fullmatch(r"SELECT WHERE &location IN BOX\((\S+) \S+, (\S+) \S+\)", text)
        assert edges
        west, east = map(float, edges.groups())
        assert 179 < west < 180
        assert -180 < east < -179
        expect(page.locator("#ask-list li b")).to_have_text([nadi, taveuni])

        x, y = middle(page)
        width = page.locator("#map").evaluate("one => one.clientWidth")
        apart = 0.1 * width / (east + 360 - west)
        is_east = (west + east + 360) / 2 > 180
        page.mouse.click(x - apart if is_east else x + apart, y)
        expect(page.get_by_role("dialog", name=nadi if is_east else taveuni)).to_be_visible()
        page.keyboard.press("Escape")

        far = 300 if is_east else -300
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + far, y, steps=10)
        assert pixel(page, far)[3] > 200, "it is drawn while the map is dragged to the other side"
        page.mouse.up()


def test_the_way_over_180_degrees_is_the_short_one(browser: Browser, city: City) -> None:
    with looking(browser, city, DESKTOP) as page:
        page.goto(f"{city.url}/map")
        between = page.evaluate(
            """async () => {
                const { Movers } = await import('/map/movers.js');
                const movers = new Movers();
                movers.sawOne('ferry', { lon: 179.9, lat: 0, time: 1 }, 0);
                movers.sawOne('ferry', { lon: -179.9, lat: 0, time: 2 }, 1000);
                const ferry = movers.all.get('ferry');
                return [ferry.shownAt(1100)[0], ferry.heading];
            }"""
        )
        assert -180.1 < between[0] < -179.9
        assert between[1] == 0, "it heads east"


def test_whoever_is_followed_and_stands_still_is_not_asked_about_without_pause(browser: Browser, city: City) -> None:
    ann, bus, cab = fresh("ann"), fresh("bus"), fresh("cab")
    token = city.enrol(ann)
    city.publish(bus, cab)
    city.move(bus, *MIDDLE)
    city.move(cab, *MIDDLE)
    with looking(browser, city, DESKTOP) as page:
        as_if_many(page)
        enter(page, city, token)
        show(page, "Who")
        page.locator("#who-list li", has_text=bus).get_by_role("button").click()
        page.get_by_role("button", name="Follow on the map").click()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/v1/clients" in request.url else None)
        with page.expect_request("**/v1/clients*"):
            pass
        asked.clear()
        page.wait_for_timeout(3000)
        assert len(asked) <= 6


def test_a_polygon_over_180_degrees(browser: Browser, city: City) -> None:
    """It means what is shown, also if the map is dragged to the other side while it is drawn."""
    ann, nadi, taveuni, far = fresh("ann"), fresh("nadi"), fresh("taveuni"), fresh("far")
    token = city.enrol(ann)
    city.publish(nadi, taveuni, far)
    city.move(nadi, 179.9999, -17)
    with looking(browser, city, DESKTOP) as page:
        enter(page, city, token)
        show(page, "Zones")
        page.get_by_role("button", name="Draw a zone").click()
        page.get_by_label("Name").fill("Strait")
        page.get_by_text("Polygon", exact=True).click()
        x, y = middle(page)
        page.mouse.click(x - 60, y - 60)
        page.mouse.click(x - 60, y + 60)
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 150, y, steps=10)
        page.mouse.up()
        expect(page.locator("path.corner").first).to_be_in_viewport()
        page.wait_for_function(IS_STILL)
        corner = page.locator("path.corner").first.bounding_box()
        assert corner is not None
        page.mouse.click(corner["x"] + 180, y + 60)
        page.mouse.click(corner["x"] + 180, y - 60)
        text = page.locator("#zone-text").inner_text()
        found = re.fullmatch(r"SELECT WHERE &location IN MULTIPOLYGON\(\(\((.*)\)\), \(\((.*)\)\)\)", text)
        assert found, text
        east, west = ([float(pair.split()[0]) for pair in part.split(",")] for part in found.groups())
        assert 179.99 < min(east) < max(east) == 180
        assert -180 == min(west) < max(west) < -179.99
        page.get_by_role("button", name="Subscribe").click()
        expect(page.locator(".zone-name")).to_have_text(["Strait", "Strait"])
        page.wait_for_function(IS_SHOWN)
        show(page, "Events")
        expect(row(page, f"{nadi} is in Strait")).to_have_count(1)
        city.move(far, 0, -17)
        city.move(taveuni, -179.9999, -17)
        expect(row(page, f"{taveuni} entered Strait")).to_have_count(1)
        expect(row(page, far)).to_have_count(0)
