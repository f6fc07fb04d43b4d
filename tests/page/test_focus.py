"""Whoever is somewhere with the keyboard stays there, whatever others change meanwhile."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.page.city import MIDDLE, City
from tests.page.screen import DESKTOP, PHONE, enter, fresh, looking, middle, row, show

HALL = f"SELECT WHERE &location IN DISC({MIDDLE[0]} {MIDDLE[1]}, 300 m)"


def test_layers_and_floors_that_change(browser: Browser, city: City) -> None:
    ann, shop, bo = fresh("ann"), fresh("shop"), fresh("bo")
    token = city.enrol(ann)
    city.publish(shop, text="PUBLISH AT POINT(-97.70 30.27)")
    city.publish(bo)
    city.move(bo, *MIDDLE, floor=1)
    with looking(browser, city, DESKTOP) as page:
        enter(page, city, token)
        page.get_by_role("radio", name="All").focus()
        city.move(bo, *MIDDLE, floor=3)
        expect(page.get_by_role("radio", name="3")).to_have_count(1)
        expect(page.get_by_role("radio", name="All")).to_be_focused()
        expect(page.locator("#floors label")).to_have_text(["All", "3", "1"])

        page.get_by_label("Layers").click()
        stays = page.get_by_role("checkbox", name="What stays")
        stays.uncheck()
        city.say("PUT", "publications/other", shop, content="PUBLISH AT POINT(-97.70 30.28)")
        expect(page.locator(".layer", has_text="What stays")).to_contain_text("2 things")
        expect(stays).to_be_focused()
        expect(stays).not_to_be_checked()
    city.say("DELETE", "client", shop)


def test_subscriptions_that_change(browser: Browser, city: City) -> None:
    ann, bus = fresh("ann"), fresh("bus")
    token = city.enrol(ann)
    city.publish(bus)
    city.move(bus, *MIDDLE)
    city.subscribe(ann, "hall", HALL)
    with looking(browser, city, DESKTOP) as page:
        enter(page, city, token)
        show(page, "Zones")
        remove = page.get_by_role("button", name="Remove hall")
        remove.focus()
        city.subscribe(ann, "a yard", HALL.replace("300", "200"))
        expect(page.locator("#zone-list li b")).to_have_text(["hall", "a yard"])
        expect(remove).to_be_focused()

        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Undo")).to_be_focused()
        expect(page.locator("#zone-list li b")).to_have_text(["a yard"])
        page.keyboard.press("Enter")
        expect(remove).to_be_focused()
        expect(page.locator("#zone-list li", has_text="hall").locator("code")).to_have_text(HALL)


def test_escape_ends_a_drawing_wherever_one_is(browser: Browser, city: City) -> None:
    ann, bus = fresh("ann"), fresh("bus")
    token = city.enrol(ann)
    city.corners(bus)
    city.publish(bus)
    city.subscribe(ann, "hall", HALL)
    city.move(bus, *MIDDLE)
    with looking(browser, city, DESKTOP) as page:
        enter(page, city, token)
        for focus in ("#zone-radius", "#map", "#tab-zones", "#zoom-in"):
            show(page, "Zones")
            page.get_by_role("button", name="Draw a zone").click()
            page.locator(focus).focus()
            page.keyboard.press("Escape")
            expect(page.locator("#zone-form")).to_be_hidden()
            expect(page.locator("#map")).not_to_have_class("drawing")

        page.get_by_role("button", name="Draw a zone").click()
        page.get_by_label("Layers").click()
        page.get_by_role("tab", name="Events").click()
        row(page, f"{bus} entered hall").get_by_role("button").click()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.locator("#cross")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#cross")).to_be_hidden()


def test_a_click_on_what_stays_does_not_interrupt_a_drawing(browser: Browser, city: City) -> None:
    ann, shop = fresh("ann"), fresh("shop")
    token = city.enrol(ann)
    city.corners(ann)
    city.publish(shop, text=f"PUBLISH AT POINT({MIDDLE[0]} {MIDDLE[1]})")
    with looking(browser, city, DESKTOP) as page:
        enter(page, city, token)
        show(page, "Zones")
        page.get_by_role("button", name="Draw a zone").click()
        page.get_by_text("Polygon", exact=True).click()
        page.mouse.click(*middle(page))
        expect(page.locator("#corner-count")).to_have_text("1 corner")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("button", name="Cancel").click()
        page.mouse.click(*middle(page))
        expect(page.get_by_role("dialog", name=shop)).to_be_visible()
    city.say("DELETE", "client", shop)


def test_a_phone_does_not_zoom_in_on_fields(browser: Browser, city: City) -> None:
    token = city.enrol(fresh("ann"))
    with looking(browser, city, PHONE) as page:
        enter(page, city, token)
        small = page.evaluate(
            """() => [...document.querySelectorAll('input, select, textarea')]
                .filter((one) => !['radio', 'checkbox', 'range'].includes(one.type))
                .filter((one) => Number.parseFloat(getComputedStyle(one).fontSize) < 16).map((one) => one.outerHTML)"""
        )
        assert small == []
