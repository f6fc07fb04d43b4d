"""The Subject Spaces paper, example by example: as model objects, and in the language.

Leung, Burcea, Jacobsen: Modeling Location-based Services with Subject Spaces (CASCON 2003). Where the paper
contradicts itself, a comment says how, and which reading we took.
"""

from __future__ import annotations

import pytest

from nearcast.language.oplog import statement_to_op
from nearcast.language.parse import parse
from nearcast.match.question import History
from nearcast.match.reference import Reference
from nearcast.model.condition import (
    ALWAYS,
    And,
    AnyOf,
    Compare,
    Constant,
    Duration,
    Entered,
    Inside,
    MeanStay,
    Not,
    Now,
    Ref,
    Relate,
    Relation,
    Sum,
    Within,
)
from nearcast.model.constraint import Interval
from nearcast.model.fix import Position
from nearcast.model.moment import MICROS, NEVER, parse_time
from nearcast.model.notification import Notification
from nearcast.model.op import Move, Op, Subscribe, Tick
from nearcast.model.region import Region, contains, distance, enclosed, is_valid, nearest, overlaps, region
from nearcast.model.shape import Box, Geometry, Point
from nearcast.model.space import (
    INTEGER,
    LOCATION,
    PERCENTAGE,
    REAL,
    TEXT,
    Containment,
    Dimension,
    Metric,
    SubjectSpace,
    relation,
)
from nearcast.model.statement import FromSpaces, Nearest, Publication, Statement, Subscription  # fmt: skip


def said(text: str, time: int = 0) -> Op:
    """The op that a statement of the language stands for."""
    op = statement_to_op(parse(text), time)
    assert op is not None
    return op


def at(clock: str) -> int:
    return parse_time(f"2003-10-06T{clock}Z")


def move(client: str, x: float, y: float, time: int) -> Move:
    return Move(time, client, Position(Point(x, y)))


def told(notifications: list[Notification]) -> list[str]:
    """Who hears what: ``ann: enter fuel (moved)``."""
    return [f"{n.subscriber}: {n.kind} {n.publication} ({n.reason})" for n in notifications]


def system(*statements: Statement | str) -> Reference:
    """A system in which these were said at time 0, and nobody has heard anything yet."""
    reference = Reference()
    for statement in statements:
        op = said(statement) if isinstance(statement, str) else statement_to_op(statement, 0)
        assert op is not None
        assert reference.apply(op) == []
    return reference


PLANE = SubjectSpace("location", LOCATION.dimensions, Metric.PLANAR)
ON_A_PLANE = "SPACE location (x real, y real, z real) METRIC planar"
HERE, THERE = Ref("#", "location"), Ref("&", "location")


# ---- 4.1 Subject space ---------------------------------------------------------------------------


def test_example_1_location_is_a_space_of_three_dimensions() -> None:
    location = SubjectSpace(
        "location", (Dimension("x", REAL), Dimension("y", REAL), Dimension("z", REAL)), Metric.EARTH
    )
    assert location == LOCATION
    assert parse("SPACE location (x real, y real, z real) METRIC earth") == location
    assert Reference().world.spaces == {"location": location}


# ---- 4.2 Relationship between subject spaces -----------------------------------------------------

PRODUCT = SubjectSpace("product", (Dimension("SKU", TEXT), Dimension("price", REAL), Dimension("discount", PERCENTAGE)))
COFFEE = SubjectSpace("coffee", (Dimension("flavor", TEXT), *PRODUCT.dimensions))
CAKE = SubjectSpace("cake", (Dimension("type", TEXT), Dimension("name", TEXT), *PRODUCT.dimensions))
USER_PROFILE = SubjectSpace(
    "user_profile", (Dimension("name", TEXT), Dimension("age", INTEGER), Dimension("profession", TEXT))
)

SPACES = {
    "SPACE product (SKU text, price real, discount percentage)": PRODUCT,
    "SPACE coffee (flavor text, SKU text, price real, discount percentage)": COFFEE,
    "SPACE cake (type text, name text, SKU text, price real, discount percentage)": CAKE,
    "SPACE user_profile (name text, age integer, profession text)": USER_PROFILE,
}


def test_example_2_spaces_are_related_by_the_dimensions_they_share() -> None:
    for text, space in SPACES.items():
        assert parse(text) == space
    assert relation(COFFEE, PRODUCT) is Containment.CONTAINS
    assert relation(CAKE, PRODUCT) is Containment.CONTAINS
    assert relation(USER_PROFILE, PRODUCT) is Containment.UNRELATED
    assert relation(CAKE, USER_PROFILE) is Containment.PARTIAL

    # The paper's three degrees leave out the converse of containment: product is none of 1, p and 0 to
    # coffee, since the intersection is all of product. We add a fourth answer.
    assert relation(PRODUCT, COFFEE) is Containment.CONTAINED


def test_example_2_a_dimension_is_shared_by_its_name_and_type() -> None:
    badge = SubjectSpace("badge", (Dimension("name", INTEGER),))
    assert relation(badge, USER_PROFILE) is Containment.UNRELATED


# ---- 4.3 Region ----------------------------------------------------------------------------------

USER = region("location", {"x": 50, "y": 20})
BUILDING = region("location", {"x": Interval(30, 100), "y": Interval(50, 130)})


class TestExample3:
    """A user is a point, a building a rectangle. They are on a map, so the location space is planar."""

    def test_as_regions(self) -> None:
        # z has no constraint, so it takes its whole domain: the building is as high as the sky.
        assert USER.geometry == Geometry(Point(50, 20))
        assert BUILDING.geometry == Geometry(Box(30, 50, 100, 130))
        assert not contains(BUILDING, USER, PLANE)
        assert contains(BUILDING, region("location", {"x": 50, "y": 60, "z": 1000}), PLANE)
        assert distance(BUILDING, USER, PLANE) == 30

    def test_a_region_is_valid_where_it_has_a_dimension(self) -> None:
        shop = SubjectSpace("shop", (Dimension("shop_type", TEXT), *PLANE.dimensions))
        assert is_valid(BUILDING, PLANE)
        assert is_valid(BUILDING, shop)
        assert not is_valid(BUILDING, PRODUCT)

    def test_in_the_language(self) -> None:
        building = parse("PUBLISH building BY city AS location (x IN [30, 100], y IN [50, 130])")
        assert building == Publication("building", "city", (BUILDING,))
        user = parse("SUBSCRIBE here BY user SELECT AS location (x = 50, y = 20) WHERE #location IN &location")
        assert user == Subscription("here", "user", regions=(USER,), filter=Inside(HERE, THERE))

        city = system(ON_A_PLANE, building, user)
        moved = said("SUBSCRIBE here BY user SELECT AS location (x = 50, y = 50) WHERE #location IN &location")
        assert told(city.apply(moved)) == ["user: enter building (edited)"]  # a boundary is closed


# ---- 4.3.1 Object regions and interest regions ---------------------------------------------------

I_COFFEE = region("coffee", {"flavor": "Irish Cream", "price": Interval(None, 2, high_closed=False)})
I_CAKE = region("cake", {"name": "black forest", "price": Interval(None, 20, high_closed=False)})


class TestExample4:
    def test_as_regions(self) -> None:
        assert is_valid(I_COFFEE, COFFEE)
        assert is_valid(I_CAKE, CAKE)
        # A region can be valid in several spaces: both have a price, and a cake has a name, as users have.
        assert is_valid(I_COFFEE, PRODUCT)
        assert is_valid(I_CAKE, USER_PROFILE)
        assert not is_valid(I_COFFEE, USER_PROFILE)

        def cup(price: float) -> Region:
            return region("coffee", {"flavor": "Irish Cream", "price": price})

        assert contains(I_COFFEE, cup(1.99), COFFEE)
        assert not contains(I_COFFEE, cup(2), COFFEE)

    def test_in_the_language(self) -> None:
        wish = parse(
            "SUBSCRIBE treat BY ann SELECT"
            " AS coffee (flavor = 'Irish Cream', price < 2), cake (name = 'black forest', price < 20)"
            " WHERE &coffee.* ENCLOSED BY #coffee.* OR &cake.* ENCLOSED BY #cake.*"
        )
        assert isinstance(wish, Subscription)
        assert wish.regions == (I_COFFEE, I_CAKE)

        shop = system(*SPACES, wish)
        dear = said("PUBLISH cup BY shop AS coffee (flavor = 'Irish Cream', price = 2)")
        cheap = said("PUBLISH cup BY shop AS coffee (flavor = 'Irish Cream', price = 1.99)")
        cake = said("PUBLISH slice BY shop AS cake (name = 'black forest', price = 19)")
        assert told(shop.apply(dear)) == []
        assert told(shop.apply(cheap)) == ["ann: enter cup (edited)"]
        assert told(shop.apply(cake)) == ["ann: enter slice (published)"]

    def test_a_property_of_a_space_is_that_of_the_region_declared_in_it(self) -> None:
        # The coffee is valid in the space of cakes too, by its price, but it is no cake.
        shop = system(*SPACES, "SUBSCRIBE all BY ann SELECT AS coffee (price = 2), cake (price = 20)")
        to = said("PUBLISH offer BY shop TO #cake.price = 20 AND #coffee.price = 2")
        assert told(shop.apply(to)) == ["ann: enter offer (published)"]


# ---- 4.3.2 Matching relations between regions ----------------------------------------------------

LINE = SubjectSpace("line", (Dimension("d", REAL),))
ENDS = {"r1": (2, 3), "r2": (1, 5), "r3": (4, 6), "r4": (7, 8)}


@pytest.mark.parametrize("closed", [True, False], ids=["closed, as the text says", "open, as the formulas say"])
class TestExample5:
    """The text says that constraints are closed intervals, the formulas print strict inequalities.

    The relations that the example lists hold in both readings. We keep both: an end is open or closed as written.
    """

    @staticmethod
    def regions(closed: bool) -> dict[str, Region]:
        return {name: region("line", {"d": Interval(*ends, closed, closed)}) for name, ends in ENDS.items()}

    def test_as_regions(self, closed: bool) -> None:
        r = self.regions(closed)
        assert contains(r["r2"], r["r1"], LINE)
        assert enclosed(r["r1"], r["r2"], LINE)
        assert overlaps(r["r2"], r["r1"], LINE)
        assert overlaps(r["r2"], r["r3"], LINE)
        assert nearest(r["r4"], r.values(), LINE) == [r["r3"]]

        related = {(a, b) for a in r for b in r if a != b and overlaps(r[a], r[b], LINE)}
        assert related == {("r1", "r2"), ("r2", "r1"), ("r2", "r3"), ("r3", "r2")}
        assert [(a, b) for a in r for b in r if a != b and contains(r[a], r[b], LINE)] == [("r2", "r1")]

    def test_distance_is_symmetric(self, closed: bool) -> None:
        def mindist(p: float, low: float, high: float) -> float:
            return max(0, low - p, p - high)

        def printed(a: str, b: str) -> float:
            """The paper's distance: from the ends of the first region only."""
            return min(mindist(end, *ENDS[b]) for end in ENDS[a])

        r = self.regions(closed)
        # As printed, the distance from r2, which surrounds r1, is 1, though they overlap; the other way it is 0.
        # The text asks for "the closest points between the two regions", so we take 0 both ways.
        assert (printed("r1", "r2"), printed("r2", "r1")) == (0, 1)
        assert distance(r["r1"], r["r2"], LINE) == distance(r["r2"], r["r1"], LINE) == 0
        for a, b in [("r1", "r3"), ("r1", "r4"), ("r2", "r4"), ("r3", "r4"), ("r2", "r3")]:
            assert distance(r[a], r[b], LINE) == distance(r[b], r[a], LINE) == printed(a, b)

    @pytest.mark.parametrize(
        ("mine", "condition", "matches"),
        [
            ("r2", "#line.* CONTAINS &line.*", ["r1"]),
            ("r1", "#line.* ENCLOSED BY &line.*", ["r2"]),
            ("r2", "#line.* OVERLAPS &line.*", ["r1", "r3"]),
            ("r4", "ALWAYS NEAREST 1 BY line", ["r3"]),
        ],
    )
    def test_in_the_language(self, closed: bool, mine: str, condition: str, matches: list[str]) -> None:
        def text(name: str) -> str:
            low, high = ENDS[name]
            return f"AS line (d IN [{low}, {high}])" if closed else f"AS line (d IN ({low}, {high}))"

        others = [f"PUBLISH {name} BY world {text(name)}" for name in ENDS if name != mine]
        world = system("SPACE line (d real)", *others)
        asked = said(f"SUBSCRIBE q BY me SELECT {text(mine)} WHERE {condition}")
        assert told(world.apply(asked)) == [f"me: snapshot {name} (subscribed)" for name in matches]

        (region_said,) = asked.subscription.regions if isinstance(asked, Subscribe) else ()
        assert region_said == self.regions(closed)[mine]


def test_example_5_nearest_takes_all_ties_in_the_model_and_the_least_id_in_a_subscription() -> None:
    # The paper's relation has ≤ in it, so several regions may be the nearest. A subscription asks for so many.
    middle, low, high = (region("line", {"d": d}) for d in (5, 4, 6))
    assert nearest(middle, [low, high], LINE) == [low, high]
    world = system("SPACE line (d real)", "PUBLISH b BY w AS line (d = 4)", "PUBLISH a BY w AS line (d = 6)")
    asked = Subscription("q", "me", regions=(middle,), nearest=Nearest(1, "line"))
    assert parse("SUBSCRIBE q BY me SELECT AS line (d = 5) NEAREST 1 BY line") == asked
    assert told(world.apply(Subscribe(0, asked))) == ["me: snapshot a (subscribed)"]


# ---- 4.3.4 Handling time -------------------------------------------------------------------------


class TestExample6:
    """τ and π through two stays, p to q and r to s.

    The figure is lost. The text adds r1 at t1 and also looks at t1, finding τ = p and π = 0; both are so if r1 is
    added where r2 is, at p = t1. The other looks are between the turns: q ≤ t2 < r ≤ t3 < s ≤ t4.

    "0 otherwise" is our "never", which is before every time: 0 is a time like any other, here 1970, and with it
    ``now - τ > 5 h`` would fail in the first five hours of time.
    """

    P, Q, R, S = (at(clock) for clock in ("10:00:00", "11:00:00", "12:00:00", "13:00:00"))

    def test_as_a_history(self) -> None:
        r1_m_r2 = History()
        seen = []
        for now, holds in [(self.P - 1, False), (self.P, True), (self.Q, False), (self.R, True), (self.S, False)]:
            r1_m_r2.observe(holds, now)
            r1_m_r2.observe(holds, now + 1)  # only a change counts
            seen.append((r1_m_r2.entered, r1_m_r2.left))
        p, q, r, s = self.P, self.Q, self.R, self.S
        assert seen == [(NEVER, NEVER), (p, NEVER), (p, q), (r, q), (r, s)]

    def test_in_the_language(self) -> None:
        """One subscription a look, true exactly while τ and π are what the paper says."""
        tau, pi = "ENTERED(#location IN &location)", "LEFT(#location IN &location)"
        p, q, r, s = (f"= TIME '2003-10-06T{clock}:00'" for clock in ("10:00", "11:00", "12:00", "13:00"))
        never = "< TIME '0001-01-01'"
        looks = {"t0": (never, never), "t1": (p, never), "t2": (p, q), "t3": (r, q), "t4": (r, s)}
        world = system(
            ON_A_PLANE,
            *(
                f"SUBSCRIBE {look} BY r2 SELECT WHERE {tau} {entered} AND {pi} {left}"
                for look, (entered, left) in looks.items()
            ),
        )

        def turned(op: Op) -> list[str]:
            return [f"{n.kind} {n.subscription}" for n in world.apply(op)]

        assert turned(move("r2", 5, 5, at("09:00:00"))) == []
        assert turned(said("PUBLISH r1 BY town AT BOX(0 0, 10 10)", self.P)) == ["enter t1"]
        assert turned(move("r2", 50, 5, self.Q)) == ["leave t1", "enter t2"]
        assert turned(move("r2", 50, 50, at("11:30:00"))) == []
        assert turned(move("r2", 5, 5, self.R)) == ["leave t2", "enter t3"]
        assert turned(move("r2", 50, 5, self.S)) == ["leave t3", "enter t4"]

    def test_a_thing_that_was_never_there_was_never_entered(self) -> None:
        world = system(
            ON_A_PLANE,
            "SUBSCRIBE new BY r2 SELECT WHERE NOW - ENTERED(#location IN &location) > 300 d",
        )
        world.apply(move("r2", 50, 5, at("10:00:00")))
        published = said("PUBLISH r1 BY town AT BOX(0 0, 10 10)", at("10:00:00"))
        assert told(world.apply(published)) == ["r2: enter r1 (published)"]


# ---- 4.4 to 4.6 Subscription, publication, and their match ---------------------------------------

CAR = SubjectSpace("car", (Dimension("plate_number", TEXT), Dimension("fuel", PERCENTAGE)))
PREF = SubjectSpace("pref", (Dimension("refuel_level", PERCENTAGE),))
GAS = SubjectSpace("gas", (Dimension("price", REAL),))
ROAD_SPACES = {
    "SPACE car (plate_number text, fuel percentage)": CAR,
    "SPACE pref (refuel_level percentage)": PREF,
    "SPACE gas (price real)": GAS,
}
WITHIN_1_KM = Within(THERE, 1000.0, HERE)
CARS_OVERLAP = Relate(Ref("&", "*", "car"), Relation.OVERLAPS, Ref("#", "*", "car"))
STATION = (-79.38, 43.65)
NEAR = (-79.37, 43.65)  # 807 m to the east
FAR = (-79.36, 43.65)  # 1613 m to the east


def refuel(fuel: int) -> Subscription:
    """Example 7. l_car is the car's own position.

    The paper's filter wants a region o_pref of the publication to match i_pref, but a gas station knows no
    refuel level, and example 8 gives it none. What the text asks for is "if the level of fuel in the car falls
    within the range specified in refuel_level", and example 9 reasons so. Both are the driver's: fuel in i_car,
    refuel_level in i_pref. The paper's m relates regions of one space; this compares two dimensions as sets.

    "And the gas price is cheap" is said in words only; the formula has no price, nor have we.
    """
    return Subscription(
        "refuel", "driver",
        regions=(
            region("car", {"plate_number": "ABC123", "fuel": fuel}),
            region("pref", {"refuel_level": Interval(None, 20, high_closed=False)}),
        ),
        filter=And((Relate(Ref("#", "fuel", "car"), Relation.ENCLOSED, Ref("#", "refuel_level", "pref")),
                    CARS_OVERLAP, WITHIN_1_KM)),
    )  # fmt: skip


def refuel_text(fuel: int) -> str:
    return (
        f"SUBSCRIBE refuel BY driver SELECT AS car (plate_number = 'ABC123', fuel = {fuel}%), pref (refuel_level < 20%)"
        " WHERE #location WITHIN 1 km OF &location AND &car.* OVERLAPS #car.*"
        " AND #car.fuel ENCLOSED BY #pref.refuel_level"
    )


ADVERT = Publication(
    "fuel", "station",
    regions=(
        Region("location", location=Geometry(Point(*STATION))),
        region("gas", {"price": 65}),
        region("car", {"fuel": Interval(None, 70, high_closed=False)}),
    ),
    filter=And((CARS_OVERLAP, WITHIN_1_KM)),
)  # fmt: skip
ADVERT_TEXT = (
    "PUBLISH fuel BY station AT POINT(-79.38 43.65) AS gas (price = 65), car (fuel < 70%)"
    " TO &location WITHIN 1 km OF #location AND #car.* OVERLAPS &car.*"
)


def test_example_7_a_driver_who_wants_to_refuel() -> None:
    for text, space in ROAD_SPACES.items():
        assert parse(text) == space
    assert parse(refuel_text(60)) == refuel(60)

    open_to_all = "PUBLISH fuel BY station AT POINT(-79.38 43.65) AS gas (price = 65), car (fuel < 70%)"
    road = system(*ROAD_SPACES, open_to_all, refuel(60))
    assert told(road.apply(move("driver", *NEAR, at("10:00:00")))) == []
    assert told(road.apply(Subscribe(at("10:05:00"), refuel(19)))) == ["driver: enter fuel (edited)"]
    assert told(road.apply(move("driver", *FAR, at("10:10:00")))) == ["driver: leave fuel (moved)"]


def test_example_8_a_station_that_advertises_to_cars_nearby() -> None:
    assert parse(ADVERT_TEXT) == ADVERT

    def anything(fuel: int) -> str:
        return f"SUBSCRIBE anything BY car_{fuel} SELECT AS car (fuel = {fuel}%)"

    road = system(*ROAD_SPACES, ADVERT_TEXT, anything(60), anything(70))
    assert told(road.apply(move("car_60", *FAR, at("10:00:00")))) == []
    assert told(road.apply(move("car_60", *NEAR, at("10:10:00")))) == ["car_60: enter fuel (moved)"]
    assert told(road.apply(move("car_70", *NEAR, at("10:10:00")))) == []
    # Who does not satisfy the publication's filter any more learns only that.
    assert told(road.apply(move("car_60", *FAR, at("10:20:00")))) == ["car_60: leave fuel (unmatched)"]


def test_example_9_both_filters_must_hold() -> None:
    # Another subscription of the same car, which asks for nothing, shows that the publication's half holds.
    anything = "SUBSCRIBE anything BY driver SELECT AS car (plate_number = 'ABC123', fuel = 60%)"
    road = system(*ROAD_SPACES, ADVERT, refuel(60), anything)
    near = road.apply(move("driver", *NEAR, at("10:00:00")))
    assert [n.subscription for n in near] == ["anything"]

    fuel_falls = road.apply(said(refuel_text(19), at("11:00:00")))
    assert [(n.subscription, n.kind) for n in fuel_falls] == [("refuel", "enter")]


# ---- 5.1 Location-aware advertising --------------------------------------------------------------

SHOP = SubjectSpace(
    "shop",
    (Dimension("shop_type", TEXT), Dimension("shop_name", TEXT), Dimension("ad", TEXT), *LOCATION.dimensions),
)
SHOP_TEXT = "SPACE shop (shop_type text, shop_name text, ad text, x real, y real, z real)"
AD = "ABC Coffee Shop brews good coffee!"


class TestCoffeeCaseStudy:
    """Coffee shops advertise within 1 km; a coffee-lover wants five hours between two cups.

    - The publication's filter asks for i_shop m_e o_shop, that is, for the interest {shop_type = coffee} to be
      inside the shop's region, which also fixes a name and an ad; no interest could be. It means the converse.
    - In the subscription's filter the same i_shop m_e o'_shop is "the time that the shopper entered into a coffee
      shop", so there it is about locations: the shopper's position in the shop's. The prime says that any coffee
      shop counts, not only the one of the advertisement.
    - Both filters ask for 1 km. Once would do; we keep both.
    - "0 otherwise": a shopper who has never been in a coffee shop is free to go; never is more than 5 h ago.
    """

    PUBLICATION = Publication(
        "abc", "abc",
        regions=(
            Region("location", location=Geometry(Box(0, 0, 20, 20))),
            region("shop", {"shop_type": "coffee", "shop_name": "ABC Coffee Shop", "ad": AD}),
        ),
        filter=And((WITHIN_1_KM, Relate(Ref("&", "*", "shop"), Relation.ENCLOSED, Ref("#", "*", "shop")))),
        content=f'"{AD}"',
    )  # fmt: skip
    PUBLICATION_TEXT = (
        f"PUBLISH abc BY abc AT BOX(0 0, 20 20)"
        f" AS shop (shop_type = coffee, shop_name = 'ABC Coffee Shop', ad = '{AD}')"
        f" TO &location WITHIN 1 km OF #location AND &shop.* ENCLOSED BY #shop.* CONTENT '{AD}'"
    )
    FIVE_HOURS = Compare(
        Sum((
            (1, Now()),
            (-1, Entered(Inside(HERE, AnyOf("shop", Compare(Ref("", "shop_type"), "=", Constant("coffee")))))),
        )),
        ">",
        Duration(5 * 3600 * MICROS),
    )  # fmt: skip
    SUBSCRIPTION = Subscription(
        "ads", "lover", FromSpaces(("shop",)),
        regions=(region("shop", {"shop_type": "coffee"}),),
        filter=And((WITHIN_1_KM, FIVE_HOURS)),
    )  # fmt: skip
    SUBSCRIPTION_TEXT = (
        "SUBSCRIBE ads BY lover SELECT FROM shop AS shop (shop_type = coffee)"
        " WHERE #location WITHIN 1 km OF &location"
        " AND NOW - ENTERED(#location IN ANY shop[shop_type = coffee]) > 5 hrs"
    )
    BEANS = (
        "PUBLISH beans BY beans AT BOX(500 0, 520 20) AS shop (shop_type = coffee)"
        " TO &location WITHIN 1 km OF #location AND &shop.* ENCLOSED BY #shop.*"
    )
    TEA = BEANS.replace("beans", "leaves").replace("coffee", "tea").replace("500", "300").replace("520", "320")

    def test_the_text_says_the_same(self) -> None:
        assert parse(SHOP_TEXT) == SHOP
        assert relation(SHOP, LOCATION) is Containment.CONTAINS
        assert parse(self.PUBLICATION_TEXT) == self.PUBLICATION
        assert parse(self.SUBSCRIPTION_TEXT) == self.SUBSCRIPTION

    def test_the_five_hour_rule(self) -> None:
        town = system(ON_A_PLANE, SHOP_TEXT, self.PUBLICATION, self.SUBSCRIPTION, self.TEA)

        def walk(x: float, clock: str) -> list[str]:
            return told(town.apply(move("lover", x, 10, at(clock))))

        def wait(clock: str) -> list[str]:
            return [f"{clock} {line}" for line in told(town.apply(Tick(at(clock))))]

        assert walk(-1001, "08:00:00") == []
        (heard,) = town.apply(move("lover", -1000, 10, at("08:10:00")))
        assert told([heard]) == ["lover: enter abc (moved)"]
        assert heard.content == f'"{AD}"'

        # A cup at ABC, from 9:00: the advertisement has done its work.
        assert walk(20, "09:00:00") == ["lover: leave abc (moved)"]
        assert walk(100, "09:20:00") == []

        # Another coffee shop opens, but it is not five hours yet. Tea does not count.
        assert told(town.apply(said(self.BEANS, at("10:00:00")))) == []
        assert walk(310, "11:00:00") == []

        # Five hours after entering ABC, and a microsecond: more than five hours.
        assert wait("14:00:00") == []
        assert wait("14:00:00.000001") == [
            "14:00:00.000001 lover: enter abc (time)",
            "14:00:00.000001 lover: enter beans (time)",
        ]

        # A cup at Beans silences all.
        assert walk(510, "15:00:00") == ["lover: leave abc (moved)", "lover: leave beans (moved)"]

    def test_a_shopper_who_did_not_opt_in_hears_nothing(self) -> None:
        town = system(ON_A_PLANE, SHOP_TEXT, self.PUBLICATION, "SUBSCRIBE all BY passer SELECT")
        assert told(town.apply(move("passer", 100, 10, at("08:00:00")))) == []


# ---- 5.2 Traffic coordination --------------------------------------------------------------------


class TestTrafficCaseStudy:
    """A jam is when the last cars took more than 2 min on average from A to B, that is, π - τ of being between.

    - The printed sum runs over n + 1 cars, or its lower bound was lost; we take the n that left last, as "÷ n" asks.
    - For a car that is between A and B, π is of its previous trip and π - τ is no travel time. It counts when it
      leaves.
    - The highway is the x axis of a plane: A is at 1000 m, B at 2000 m. Shapes are closed and so include A, and
      l < A is "before A, and not between A and B".
    """

    BEFORE, BETWEEN = Geometry(Box(0, -10, 1000, 10)), Geometry(Box(1000, -10, 2000, 10))
    JAM = Publication(
        "jam", "road",
        regions=(region("traffic", {"message": "Traffic jam ahead!"}),),
        filter=And((
            Inside(HERE, BEFORE),
            Compare(MeanStay(3, Inside(AnyOf("car", ALWAYS), BETWEEN)), ">", Duration(120 * MICROS)),
            Not(Inside(HERE, BETWEEN)),
        )),
        content='"Traffic jam ahead!"',
    )  # fmt: skip
    JAM_TEXT = (
        "PUBLISH jam BY road AS traffic (message = 'Traffic jam ahead!')"
        " TO MEAN STAY(3, ANY car IN BOX(1000 -10, 2000 10)) > 2 min"
        " AND #location IN BOX(0 -10, 1000 10) AND NOT #location IN BOX(1000 -10, 2000 10)"
        " CONTENT 'Traffic jam ahead!'"
    )
    SPACES = (ON_A_PLANE, "SPACE car (plate_number text)", "SPACE traffic (message text)")

    def highway(self, *drivers: str) -> Reference:
        return system(*self.SPACES, self.JAM, *(f"SUBSCRIBE ahead BY {d} SELECT FROM traffic" for d in drivers))

    @staticmethod
    def drive(road: Reference, plate: str, enters: int, leaves: int) -> list[str]:
        """A car passes A and then B, at seconds after noon. Everyone's clock goes along."""
        noon = at("12:00:00")
        heard = road.apply(said(f"PUBLISH self BY {plate} AS car (plate_number = '{plate}')", noon))
        for x, seconds in ((1000, enters), (2001, leaves)):
            time = noon + seconds * MICROS
            heard += road.apply(Tick(time)) + road.apply(move(plate, x, 0, time))
        return told(heard)

    def test_the_text_says_the_same(self) -> None:
        assert parse(self.JAM_TEXT) == self.JAM

    def test_cars_that_approach_a_jam_are_told(self) -> None:
        road = self.highway("near", "inside", "far")
        for driver, x in (("near", 999), ("inside", 1000), ("far", -1)):
            assert told(road.apply(move(driver, x, 0, at("11:59:00")))) == []

        assert self.drive(road, "a", 0, 60) == []
        assert self.drive(road, "b", 100, 200) == []  # two cars are no average of three
        assert self.drive(road, "c", 200, 330) == []  # (60 + 100 + 130) / 3 < 120
        assert self.drive(road, "d", 400, 600) == ["near: enter jam (moved)"]  # (100 + 130 + 200) / 3 > 120
        assert self.drive(road, "e", 600, 630) == ["near: leave jam (unmatched)"]  # (130 + 200 + 30) / 3 = 120

    def test_a_driver_is_told_on_the_way_and_no_more_once_past(self) -> None:
        road = self.highway("driver")
        for plate, enters, leaves in (("a", 0, 200), ("b", 200, 400), ("c", 400, 600)):
            assert self.drive(road, plate, enters, leaves) == []
        assert told(road.apply(move("driver", -1, 0, at("12:20:00")))) == []
        (heard,) = road.apply(move("driver", 0, 0, at("12:21:00")))
        assert told([heard]) == ["driver: enter jam (moved)"]
        assert heard.content == '"Traffic jam ahead!"'
        assert told(road.apply(move("driver", 500, 0, at("12:22:00")))) == []
        assert told(road.apply(move("driver", 1000, 0, at("12:23:00")))) == ["driver: leave jam (unmatched)"]

    def test_a_car_between_counts_only_once_it_has_left(self) -> None:
        road = self.highway("near")
        road.apply(move("near", 500, 0, at("11:59:00")))
        for plate, enters, leaves in (("a", 0, 100), ("b", 100, 200), ("c", 200, 300)):
            assert self.drive(road, plate, enters, leaves) == []
        road.apply(said("PUBLISH self BY d AS car (plate_number = 'd')", at("12:05:00")))
        assert told(road.apply(move("d", 1500, 0, at("12:05:00")))) == []
        assert told(road.apply(Tick(at("13:00:00")))) == []
        assert told(road.apply(move("d", 2500, 0, at("13:00:01")))) == ["near: enter jam (moved)"]
