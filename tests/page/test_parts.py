"""Parts of the page by themselves: what they ask of a gateway, and what they make of its answers."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser

from nearcast.language.parse import parse
from nearcast.model.place import Place
from nearcast.model.shape import Polygon
from tests.page.city import City
from tests.page.screen import DESKTOP, looking


def found(browser: Browser, city: City, script: str, *, noise: str = "") -> Any:
    """What a script finds on a page on which nobody has signed in, so that nothing but it asks."""
    with looking(browser, city, DESKTOP, noise=noise) as page:
        page.goto(f"{city.url}/map")
        page.locator("#entry").wait_for()
        return page.evaluate(script)


def test_a_pause_leaves_nothing_behind(browser: Browser, city: City) -> None:
    """A page may be open for weeks, and pauses every second."""
    left = found(
        browser,
        city,
        """async () => {
            const { sleep } = await import('/map/dom.js');
            const over = new AbortController();
            const { signal } = over;
            let listeners = 0;
            for (const [name, by] of [['addEventListener', 1], ['removeEventListener', -1]]) {
                const known = signal[name];
                signal[name] = (...all) => ((listeners += by), known.apply(signal, all));
            }
            const began = performance.now();
            await sleep(0.01, signal);
            const after = listeners;
            setTimeout(() => over.abort(), 10);
            await sleep(60, signal);
            return [after, listeners, performance.now() - began < 30_000];
        }""",
    )
    assert left == [0, 0, True]


def test_what_is_asked_now_and_then_does_not_pile_up(browser: Browser, city: City) -> None:
    """Of a gateway that does not answer, nothing is asked twice at once; of one that does again, it is asked on."""
    with looking(browser, city, DESKTOP) as page:
        page.clock.install()
        page.goto(f"{city.url}/map")
        page.locator("#entry").wait_for()
        page.evaluate(
            """async () => {
                const { Regions } = await import('/map/regions.js');
                globalThis.asked = [];
                const get = (door) => new Promise((_, no) => globalThis.asked.push({ door, no }));
                new Regions({ get, signal: new AbortController().signal }, null, {}).watch();
            }"""
        )
        page.clock.run_for(150_000)
        doors = "globalThis.asked.map(({ door }) => door).sort()"
        assert page.evaluate(doors) == ["layers", "places", "staying", "staying"]
        page.evaluate("for (const { no } of globalThis.asked.splice(0)) no(new Error('it is away'))")
        page.clock.run_for(70_000)
        assert page.evaluate(doors) == ["layers", "places", "staying", "staying"]


def test_an_answer_that_breaks_off_is_asked_for_again(browser: Browser, city: City) -> None:
    said = found(
        browser,
        city,
        """async () => {
            const { Api } = await import('/map/api.js');
            const broken = () => new ReadableStream({ start: (into) => into.error(new TypeError('network error')) });
            const bodies = [broken(), '{"half": ', '{"is": "whole"}'];
            globalThis.fetch = async () => new Response(bodies.shift());
            const waits = [];
            const api = new Api('token', { onWait: (waiting) => waits.push(waiting?.why ?? null) });
            return [await api.get('client'), waits];
        }""",
    )
    assert said == [{"is": "whole"}, [*["the gateway's answer does not come through"] * 2, None]]


def test_a_stream_goes_on_after_a_fault_of_the_gateway(browser: Browser, city: City) -> None:
    """It ends only when what it asks is refused."""
    heard = found(
        browser,
        city,
        """async () => {
            const { Api } = await import('/map/api.js');
            const { Stream } = await import('/map/stream.js');
            const answers = [
                () => new Response('oh', { status: 500 }),
                () => new Response('id: 1\\ndata: {"id": "one"}\\n\\n'),
                () => new Response('{"detail": "no such cursor"}', { status: 422 }),
            ];
            globalThis.fetch = async () => answers.shift()();
            const heard = [];
            await new Stream(new Api('token'), '', {
                onEvent: ({ id }) => heard.push(id),
                onState: ({ state, why }) => heard.push(why ?? state),
            }).run();
            return heard;
        }""",
    )
    assert heard == ["away", "live", "one", "away", "no such cursor"]


def test_the_past_and_the_present_agree_on_who_is_in_what(browser: Browser, city: City) -> None:
    """Of two publications of one client, and of two whom one met, one may go."""
    green = found(
        browser,
        city,
        """async () => {
            const { Past } = await import('/map/past.js');
            const { Movers } = await import('/map/movers.js');
            let second = 0;
            const told = (kind, publisher, data) => {
                const time = Date.UTC(2026, 0, 1, 0, 0, ++second);
                const why = { fixes: { '&': { x: 0, y: 0, time: time * 1000 } } };
                return { id: String(second), type: `nearcast.${kind}`, time: new Date(time).toISOString(),
                    data: { kind, publisher, subscription: 'hall', why, ...data } };
            };
            const events = [
                told('enter', 'shop', { publication: 'pizza' }),
                told('enter', 'shop', { publication: 'coffee' }),
                told('enter', 'bo', { publication: 'me', peer: 'cy' }),
                told('enter', 'bo', { publication: 'me', peer: 'di' }),
                told('enter', 'ed', { publication: 'me', peer: 'di' }),
                told('leave', 'shop', { publication: 'pizza' }),
                told('leave', 'bo', { publication: 'me', peer: 'cy' }),
                told('leave', 'bo', { publication: 'me', peer: 'di' }),
            ];
            const nothing = () => {};
            const past = new Past({ signal: new AbortController().signal, get: async () => ({ events, next: null }) }, {
                onOpen: nothing, onClose: nothing, onTime: nothing, onMark: nothing, onPick: nothing, placeOf: nothing,
            });
            await past.load();
            const { pairs } = new Movers();
            return events.map((event) => {
                document.querySelector('#past-next').click();
                pairs.heard(event);
                const then = past.drawn().filter(({ isInside }) => isInside).map(({ name }) => name);
                return [then, ['shop', 'bo', 'cy', 'di', 'ed'].filter((name) => pairs.has(name))];
            });
        }""",
    )
    assert green == [
        [["shop"], ["shop"]],
        [["shop"], ["shop"]],
        [["shop", "bo"], ["shop", "bo", "cy"]],
        [["shop", "bo"], ["shop", "bo", "cy", "di"]],
        [["shop", "bo", "ed"], ["shop", "bo", "cy", "di", "ed"]],
        [["shop", "bo", "ed"], ["shop", "bo", "cy", "di", "ed"]],
        [["shop", "bo", "ed"], ["shop", "bo", "di", "ed"]],
        [["shop", "ed"], ["shop", "di", "ed"]],
    ]


def test_layers_are_drawn_in_the_colours_that_are_listed(browser: Browser, city: City) -> None:
    """Whichever comes first; and one that has become too many to draw is drawn no more."""
    with looking(browser, city, DESKTOP) as page:
        page.goto(f"{city.url}/map")
        page.locator("#entry").wait_for()
        page.evaluate(
            """async () => {
                const { Regions } = await import('/map/regions.js');
                const { makeMap } = await import('/map/ground.js');
                const { signal } = new AbortController();
                globalThis.counts = { 'layers/a': 1, 'layers/b': 1, 'layers/c': 1 };
                const answers = {
                    layers: () => ({ layers: ['a', 'b', 'c'].map(
                        (name) => ({ name, regions: counts[`layers/${name}`] })) }),
                    places: () => ({ features: [] }),
                    staying: () => ({ features: [] }),
                };
                let release;
                const late = new Promise((done) => (release = done));
                const features = (door) => [{ type: 'Feature', id: door, properties: { door, radius: 10 },
                    geometry: { type: 'Point', coordinates: [0, 0] } }];
                const get = async (door) => {
                    if (answers[door]) return answers[door]();
                    if (door === 'layers/a') await late;
                    if (door === 'layers/c') setTimeout(release, 50);
                    return { features: features(door) };
                };
                const map = makeMap('earth', {}, signal);
                const regions = new Regions({ get, signal }, map, {});
                globalThis.load = async () => {
                    await regions.load();
                    const plain = (colour) => Object.assign(new Option().style, { background: colour }).background;
                    const drawn = {};
                    map.eachLayer(({ feature, options }) => feature && (drawn[feature.id] = plain(options.color)));
                    const swatches = document.querySelectorAll('#layer-list .swatch');
                    return [Array.from(swatches, (one) => one.style.background),
                        Object.keys(counts).map((door) => drawn[door] ?? '')];
                };
            }"""
        )
        listed, drawn = page.evaluate("globalThis.load()")
        assert listed == drawn
        assert len({*listed}) == 3
        fewer, drawn = page.evaluate("(globalThis.counts['layers/a'] = 100_000, globalThis.load())")
        assert fewer == drawn == ["", *listed[1:]]


def test_a_ring_is_cut_at_180_degrees(browser: Browser, city: City) -> None:
    """The parts cover the same, whichever way around it was drawn and in whichever copy of the world; read back, they
    are beside each other."""
    made = found(
        browser,
        city,
        """async () => {
            const { cut, joined } = await import('/map/earth.js');
            const { polygon, shapesIn } = await import('/map/statement.js');
            const ring = [[170, 0], [190, 0], [190, 10], [180, 20], [170, 10]];
            const rings = [ring, [...ring].reverse(), ring.map(([x, y]) => [x - 360, y]), [[0, 0], [180, 0], [180, 1]]];
            return rings.map((one) => {
                const text = polygon(cut(one));
                return [text, joined(shapesIn(text)[0].parts).flat(2).map(([x]) => x)];
            });
        }""",
    )
    east, west = "((170 0, 180 0, 180 20, 170 10, 170 0))", "((-180 0, -170 0, -170 10, -180 20, -180 0))"
    for text, xs in [made[0], made[2]]:
        assert text == f"MULTIPOLYGON({east}, {west})"
        assert (min(xs), max(xs)) == (170, 190)
    assert made[3][0] == "POLYGON((0 0, 180 0, 180 1, 0 0))"
    assert [area(text) for text, _ in made] == [300, 300, 300, 90]


def area(text: str) -> float:
    place = parse(f"PLACE p AT {text}")
    assert isinstance(place, Place)
    assert place.geometry is not None
    assert isinstance(place.geometry.shape, Polygon)
    return float(place.geometry.shape.planar.area)
