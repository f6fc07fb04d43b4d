"""The live map in a real browser, with a real broker behind it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Browser, Locator, Page, expect

from tests.page.city import MIDDLE, City
from tests.page.screen import (
    DESKTOP,
    PHONE,
    SNEAKY,
    changes,
    enter,
    fresh,
    is_live,
    log,
    looking,
    middle,
    picture,
    pixel,
    row,
    show,
    until_drawn,
)

SETTLED = "() => !document.querySelector('.leaflet-pan-anim')"
LIVE_TEXT = """() => {
    globalThis.readOut = [];
    const note = (changes) => globalThis.readOut.push(...changes.map(({ target }) => target.textContent));
    for (const one of document.querySelectorAll('[role=status], [role=alert], [role=log], [aria-live]')) {
        new MutationObserver(note).observe(one, { childList: true, characterData: true, subtree: true });
    }
}"""


# ---- with a mouse --------------------------------------------------------------------------------------


def test_movement_a_zone_an_enter_and_why(browser: Browser, city: City) -> None:
    ann, bus = fresh("ann"), fresh("bus")
    token = city.enrol(ann)
    city.corners(bus)
    city.publish(bus)
    city.move(bus, -97.755, 30.26)
    with looking(browser, city, DESKTOP) as page:
        enter(page, city, token)
        show(page, "Who")
        expect(page.locator("#who-list")).to_contain_text(bus)

        still = picture(page)
        city.move(bus, -97.75, 30.262)
        changes(page, still)
        frames = {picture(page) for _ in range(8)}
        assert len(frames) > 2, "it glides, and does not jump"

        show(page, "Zones")
        page.get_by_role("button", name="Draw a zone").click()
        x, y = middle(page)
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 60, y, steps=4)
        page.mouse.up()
        expect(page.locator("#zone-text")).to_contain_text(re.compile(r"DISC\(-97\.74\d* 30\.2[67]\d*, \d+(\.\d)? m\)"))
        page.get_by_label("Name").fill("Town hall")
        page.get_by_role("button", name="Subscribe").click()
        expect(page.locator("#zone-list")).to_contain_text("SELECT WHERE &location IN DISC(")
        assert [one["id"] for one in city.say("GET", "subscriptions", ann)["subscriptions"]] == ["Town hall"]
        expect(page.locator(".zone-name")).to_have_text("Town hall")

        city.move(bus, *MIDDLE)
        expect(page.locator("#unread")).to_have_text("1")
        show(page, "Events")
        told = row(page, f"{bus} entered Town hall")
        told.get_by_role("button").click()
        why = page.get_by_role("dialog", name=f"{bus} entered Town hall")
        expect(why).to_contain_text(f"{bus} moved")
        expect(why.get_by_role("row", name="&location IN DISC")).to_contain_text(
            re.compile(r"✓ holds✓ holds\d+ m inside")
        )
        why.get_by_role("button", name="Close").click()

        city.move(bus, -97.73, 30.28)
        row(page, f"{bus} left Town hall").get_by_role("button").click()
        why = page.get_by_role("dialog", name=f"{bus} left Town hall")
        expect(why).to_contain_text(re.compile(r"✗ fails[\d.]+ k?m outside"))
        page.keyboard.press("Escape")

        show(page, "Zones")
        page.get_by_role("button", name="Remove Town hall").click()
        expect(page.locator("#zone-empty")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#zone-list")).to_contain_text("Town hall")


def test_someone_is_clicked_and_followed(browser: Browser, city: City) -> None:
    ann, bus = fresh("ann"), fresh("bus")
    token = city.enrol(ann)
    city.subscribe(ann, "near", f"SELECT WHERE &location WITHIN 1 km OF POINT({MIDDLE[0]} {MIDDLE[1]})")
    city.corners(bus)
    city.publish(bus)
    city.move(bus, *MIDDLE)
    with looking(browser, city, DESKTOP) as page:
        enter(page, city, token)
        expect(row(page, f"{bus} is in near")).to_have_count(0)
        page.mouse.click(*middle(page))
        about = page.get_by_role("dialog", name=bus)
        expect(about).to_contain_text("near matches, and was told")
        expect(about).to_contain_text("30.27000, -97.74000")
        about.get_by_role("button", name="Follow on the map").click()
        city.move(bus, -97.73, 30.275)
        show(page, "Ask")
        page.get_by_role("combobox", name="Question").select_option("A statement of your own")
        page.get_by_role("combobox", name="Question").select_option("What is nearest?")
        expect(page.locator("#ask-text")).to_contain_text(
            re.compile(r"AT POINT\(-97\.7(3|29)\d* 30\.27[45]\d*\) NEAREST 3")
        )


def test_who_was_not_heard_of_for_long_is_pale(browser: Browser, city: City) -> None:
    ann, bus = fresh("ann"), fresh("bus")
    token = city.enrol(ann)
    city.corners(bus)
    city.publish(bus)
    yesterday = datetime.now(UTC) - timedelta(days=1)
    city.move(bus, *MIDDLE, time=yesterday.isoformat())
    with looking(browser, city, {**DESKTOP, "timezone_id": "Asia/Kolkata", "locale": "en-GB"}) as page:
        enter(page, city, token)
        until_drawn(page, lambda: 60 < pixel(page)[3] < 120)
        show(page, "Who")
        listed = page.locator("#who-list li", has_text=re.compile(rf"^{bus}[^-]*$"))
        expect(listed).to_contain_text("24 h ago")
        expect(listed).to_have_class("stale")
        exactly = re.compile(rf"day.* {yesterday.year}.* \d\d:\d\d:\d\d GMT\+05:30")
        expect(listed.locator("small")).to_have_attribute("title", exactly)
        listed.get_by_role("button").click()
        about = page.get_by_role("dialog", name=bus)
        expect(about).to_contain_text("(24 h ago)")
        expect(about.locator("time")).to_have_attribute("title", exactly)
        page.keyboard.press("Escape")
        city.move(bus, *MIDDLE)
        expect(listed).not_to_have_class("stale")
        until_drawn(page, lambda: pixel(page)[3] > 240)


def test_where_a_device_is_and_how_exactly(browser: Browser, city: City) -> None:
    ann, bus = fresh("ann"), fresh("bus")
    token = city.enrol(ann)
    city.corners(bus)
    device = {"latitude": MIDDLE[1], "longitude": MIDDLE[0], "accuracy": 300}
    with looking(browser, city, {**DESKTOP, "geolocation": device, "permissions": ["geolocation"]}) as page:
        enter(page, city, token)
        show(page, "Ask")
        page.get_by_role("combobox", name="Question").select_option("Who is near me?")
        assert pixel(page, -25)[3] == 0
        before = picture(page)
        page.get_by_role("button", name="I am where this device is").click()
        changes(page, before)
        assert pixel(page)[3] > 240
        assert 0 < pixel(page, -25)[3] < 60, "a circle around it is as wide as it is unsure"
        assert city.say("GET", "client", ann)["accuracy"] == 300


def test_what_others_wrote_is_text(browser: Browser, city: City) -> None:
    ann, layer = fresh("ann"), fresh("layer ")
    token = city.enrol(ann)
    nasty = fresh(SNEAKY)
    feature = {"type": "Feature", "id": nasty, "properties": {"radius": 200}}
    feature["geometry"] = {"type": "Point", "coordinates": list(MIDDLE)}
    city.say("PUT", f"layers/{layer}", json={"type": "FeatureCollection", "features": [feature]})
    city.corners(ann)
    city.publish(nasty, text=f'PUBLISH CONTENT {{"x": "{SNEAKY.replace(chr(34), chr(39))}"}}')
    city.subscribe(ann, nasty, f"SELECT WHERE &location IN LAYER '{layer}'")
    with looking(browser, city, DESKTOP, noise="'TrustedHTML' assignment") as page:
        enter(page, city, token)
        page.mouse.move(*middle(page))
        expect(page.locator(".tip")).to_have_text(nasty)
        city.move(nasty, *MIDDLE)
        row(page, f"{nasty} entered {nasty}").get_by_role("button").click()
        expect(page.get_by_role("dialog", name=nasty)).to_contain_text("holds")
        page.keyboard.press("Escape")
        for tab in ("Who", "Zones", "Ask"):
            show(page, tab)
            expect(page.get_by_role("tabpanel")).to_contain_text(nasty if tab != "Ask" else "Question")
        assert page.title() == "nearcast map"
        assert page.locator("img[src='x']").count() == 0
        assert (
            page.evaluate("try_it => { try { document.body.innerHTML += try_it } catch { return 'refused' } }", SNEAKY)
            == "refused"
        )
    city.say("DELETE", f"layers/{layer}")


def test_questions(browser: Browser, city: City) -> None:
    ann, hall = fresh("ann"), fresh("hall")
    people = [fresh("guest") for _ in range(3)]
    token = city.enrol(ann)
    city.corners(ann)
    city.say("PUT", f"places/{hall}", content=f"PLACE '{hall}' LEVEL building AT DISC({MIDDLE[0]} {MIDDLE[1]}, 300 m)")
    city.publish(*people)
    for number, name in enumerate(people):
        city.move(name, MIDDLE[0] + number * 0.002, MIDDLE[1])
    with looking(browser, city, DESKTOP, noise="status of 422") as page:
        enter(page, city, token)
        show(page, "Ask")

        def ask(question: str, *names: str, **fields: str) -> None:
            page.get_by_role("combobox", name="Question").select_option(question)
            for label, value in fields.items():
                page.locator(f"#ask-fields [name={label}]").fill(value)
            page.get_by_role("button", name="Ask now").click()
            expect(page.locator("#ask-list li b")).to_have_text(list(names))

        page.get_by_role("combobox", name="Question").select_option("Who is in a place?")
        page.locator("#ask-fields [name=place]").select_option(hall)
        page.get_by_role("button", name="Ask now").click()
        expect(page.locator("#ask-list li b")).to_have_text(people[:2])
        ask("What is nearest?", people[0], k="1")
        page.get_by_role("combobox", name="Question").select_option("Who is near me?")
        page.get_by_role("button", name="I am in the middle of the map").click()
        ask("Who is near me?", *people[:2], metres="250")
        ask("What is in this zone?", *sorted([f"{ann}-corner0", f"{ann}-corner1", *people]))
        ask("Where is …?", people[2], who=people[2])
        ask("Who is like this?", people[1], where=f"&owner = '{people[1]}'")
        ask("A statement of your own", people[0], text=f"SELECT WHERE &owner = '{people[0]}'")
        page.get_by_role("textbox", name="Statement").fill("SELECT WERE &x = 1")
        page.get_by_role("button", name="Ask now").click()
        expect(page.locator("#ask-problem")).to_contain_text("did you mean 'WHERE'?")
        page.get_by_role("textbox", name="Statement").fill("SELECT FROM LAYER 'nowhere'")
        page.get_by_role("button", name="Ask now").click()
        expect(page.locator("#ask-problem")).to_have_text("There is no layer 'nowhere' yet.")
        page.get_by_role("button", name="Keep me told").click()
        expect(page.locator("#zone-notice")).to_contain_text(
            "Subscribed: my question. There is no layer 'nowhere' yet."
        )
        show(page, "Ask")
        page.get_by_role("combobox", name="Question").select_option("Who is near me?")
        page.get_by_role("button", name="Keep me told").click()
        expect(page.locator("#zone-list")).to_contain_text("within 500 m of me")
    city.say("DELETE", f"places/{hall}")


def test_floors_and_places(browser: Browser, city: City) -> None:
    ann, hq, bo, cy = fresh("ann"), fresh("hq"), fresh("bo"), fresh("cy")
    token = city.enrol(ann)
    west, south = MIDDLE
    for floor in (1, 2):
        text = f"PLACE '{hq}/{floor}' LEVEL floor AT BOX({west} {south}, {west + 0.001} {south + 0.001}) FLOOR {floor}"
        city.say("PUT", f"places/{hq}/{floor}", content=text)
    city.publish(bo, cy)
    city.move(bo, west + 0.0005, south + 0.0005, floor=1)
    city.say("POST", "positions", cy, json={"place": f"{hq}/2"})
    with looking(browser, city, DESKTOP) as page:
        enter(page, city, token)
        page.get_by_role("radio", name="2").check(force=True)
        first = picture(page)
        page.get_by_role("radio", name="1").check(force=True)
        changes(page, first)
        show(page, "Who")
        expect(page.locator("#who-list")).to_contain_text(f"{hq}/2, floor 2")
        show(page, "Zones")
        page.get_by_role("button", name="Draw a zone").click()
        expect(page.locator("#zone-text")).to_contain_text("FLOOR 1")
        page.get_by_label("Layers").click()
        expect(page.locator("#layer-list")).to_contain_text("Places")
    for floor in (1, 2):
        city.say("DELETE", f"places/{hq}/{floor}")


def test_the_past(browser: Browser, city: City) -> None:
    ann, bus = fresh("ann"), fresh("bus")
    token = city.enrol(ann)
    city.corners(bus)
    city.publish(bus)
    city.subscribe(ann, "hall", f"SELECT WHERE &location IN DISC({MIDDLE[0]} {MIDDLE[1]}, 300 m)")
    for turn in range(6):
        city.move(bus, MIDDLE[0] + (0 if turn % 2 == 0 else 0.01), MIDDLE[1])
    with looking(browser, city, DESKTOP) as page:
        enter(page, city, token)
        expect(log(page).get_by_role("listitem")).to_have_count(6)
        show(page, "Past")
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page.locator("#past-count")).to_have_text("6 events")
        expect(page.locator("#state-text")).to_contain_text("The past")
        expect(page.locator("#past-list li")).to_have_count(0)
        for count in (1, 2, 3):
            page.get_by_role("button", name="To the event after").click()
            expect(page.locator("#past-list li")).to_have_count(count)
        early = picture(page)
        page.get_by_label("Time").focus()
        page.keyboard.press("End")
        expect(page.locator("#past-list li")).to_have_count(6)
        changes(page, early)
        page.keyboard.press("Home")
        expect(page.locator("#past-list li")).to_have_count(0)
        page.get_by_label("Speed").select_option("1")
        page.evaluate(LIVE_TEXT)
        page.get_by_role("button", name="Play").click()
        expect(page.get_by_role("button", name="Pause")).not_to_have_attribute("aria-pressed", re.compile(""))
        expect(page.locator("#past-list li")).to_have_count(6)
        expect(page.get_by_role("button", name="Play")).to_be_visible()
        assert page.evaluate("globalThis.readOut") == [], "nothing is read out on and on while it plays"
        page.locator("#past-list li").first.get_by_role("button").click()
        expect(page.get_by_role("dialog")).to_contain_text("Caused by")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Back to now").click()
        is_live(page)


# ---- with a finger -------------------------------------------------------------------------------------


def test_on_a_phone(browser: Browser, city: City) -> None:
    ann, bus = fresh("ann"), fresh("bus")
    token = city.enrol(ann)
    city.corners(bus)
    city.publish(bus)
    city.move(bus, -97.755, 30.26)
    with looking(browser, city, PHONE) as page:
        page.goto(f"{city.url}/map")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Open").tap()
        is_live(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
        page.get_by_role("tab", name="Zones").tap()
        page.get_by_role("button", name="Draw a zone").tap()
        page.get_by_text("Polygon", exact=True).tap()
        x, y = middle(page)
        for right, down in ((-60, -60), (60, -60), (60, 60), (-60, 60)):
            page.touchscreen.tap(x + right, y + down)
        expect(page.locator("#corner-count")).to_have_text("4 corners")
        page.get_by_role("button", name="Subscribe").tap()
        expect(page.locator("#zone-list")).to_contain_text("POLYGON((")
        page.get_by_role("tab", name="Events").tap()
        city.move(bus, *MIDDLE)
        row(page, f"{bus} entered Zone 1").get_by_role("button").tap()
        why = page.get_by_role("dialog", name=f"{bus} entered Zone 1")
        expect(why).to_contain_text("inside")
        why.get_by_role("button", name="Close").tap()
        high = page.locator("#map").evaluate("one => one.clientHeight")
        page.get_by_role("button", name="Fold or unfold").tap()
        page.wait_for_function("before => document.querySelector('#map').clientHeight > before + 100", arg=high)
        small = page.evaluate(
            """() => [...document.querySelectorAll('button, select, summary')]
                .filter((one) => one.checkVisibility() && !one.classList.contains('sheet-handle'))
                .filter((one) => one.getBoundingClientRect().height < 32).map((one) => one.outerHTML)"""
        )
        assert small == [], "fingers are wide"


# ---- with the keyboard alone ---------------------------------------------------------------------------


def tab_to(page: Page, target: Locator, most: int = 60) -> None:
    """Tab until it has the focus, which can be seen."""
    for _ in range(most):
        if target.evaluate("one => one === document.activeElement"):
            assert target.evaluate("one => getComputedStyle(one).outlineStyle") != "none", "the focus can be seen"
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{target} cannot be reached")


def test_with_the_keyboard_alone(browser: Browser, city: City) -> None:
    ann, bus = fresh("ann"), fresh("bus")
    token = city.enrol(ann)
    city.corners(bus)
    city.publish(bus)
    city.move(bus, -97.755, 30.26)
    with looking(browser, city, DESKTOP) as page:
        page.goto(f"{city.url}/map")
        tab_to(page, page.get_by_label("Token"))
        page.keyboard.type(token)
        page.keyboard.press("Enter")
        is_live(page)

        tab_to(page, page.get_by_role("tab", name="Events"))
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Zones")).to_be_focused()
        tab_to(page, page.get_by_role("button", name="Draw a zone"))
        page.keyboard.press("Enter")
        expect(page.get_by_label("Name")).to_be_focused()
        page.keyboard.type("Round")
        tab_to(page, page.get_by_label("Radius in metres"))
        page.keyboard.press("Control+a")
        page.keyboard.type("450")
        page.keyboard.press("Enter")
        expect(page.locator("#zone-list")).to_contain_text(", 450 m)")

        corners_by_keys(page)
        city.move(bus, *MIDDLE)
        tab_back(page, page.get_by_role("tab", name="Zones"))
        page.keyboard.press("Home")
        told = row(page, f"{bus} entered Round").get_by_role("button")
        expect(told).to_be_visible()
        tab_to(page, told)
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog", name=f"{bus} entered Round")).to_contain_text("inside")
        page.keyboard.press("Escape")
        expect(told).to_be_focused()


def corners_by_keys(page: Page) -> None:
    """A polygon, corner by corner, in the middle of a map that is moved."""
    expect(page.get_by_role("button", name="Draw a zone")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("Corners")
    tab_to(page, page.get_by_role("radio", name="Circle"))
    page.keyboard.press("ArrowRight")
    tab_to(page, page.locator("#map"))
    for count, key in enumerate(("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown", "ArrowDown"), 1):
        page.keyboard.press(key)
        page.wait_for_function(SETTLED)
        page.keyboard.press("Enter")
        expect(page.locator("#corner-count")).to_have_text(f"{count} corner{'s' if count > 1 else ''}")
    page.keyboard.press("Backspace")
    expect(page.locator("#corner-count")).to_have_text("4 corners")
    tab_back(page, page.get_by_role("button", name="Subscribe"))
    page.keyboard.press("Enter")
    expect(page.locator("#zone-list")).to_contain_text("POLYGON((")


def tab_back(page: Page, target: Locator, most: int = 80) -> None:
    for _ in range(most):
        if target.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Shift+Tab")
    raise AssertionError(f"{target} cannot be reached")
