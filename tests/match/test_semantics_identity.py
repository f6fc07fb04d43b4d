"""Decisions 7 to 11: identity, kinds of notification, and what publishes at all."""

from __future__ import annotations

import pytest

from nearcast.errors import OpError, UnknownName
from nearcast.model import op as ops
from nearcast.model.notification import Cause, Kind, by_entity, by_fix, by_timer, notification_id
from tests.match.harness import System, heard, square

NEAR = "SELECT WHERE &location WITHIN 10 m OF #location"
SHOP = "PUBLISH AT POINT(0 0)"


# ---- 7: ids ------------------------------------------------------------------------------------------


def test_decision_7_ids_are_pinned(s: System) -> None:
    """A change of any of these breaks the deduplication of everyone who replays a log."""
    s.publish("shop", "ad", f"{SHOP} AS (price = 5)")
    s.subscribe("ann", "s", NEAR, 1)
    s.subscribe("ann", "dwell", f"{NEAR} DWELL 5 s", 1)
    s.layer("zones", 2, yard=square(0, 0))
    s.subscribe("bob", "zone", "SELECT WHERE &location IN LAYER zones", 3)
    s.move("ann", 3, 4, 4)
    s.publish("shop", "ad", f"{SHOP} AS (price = 6)", 12)
    s.retract("shop", "ad", 13)
    assert [(n.kind.value, n.subscription, n.id) for n in s.log] == [
        ("snapshot", "zone", "257b446f549c275455aaed59d12aa903"),
        ("enter", "s", "a4b0bc8064248f93d56c3c827008ff94"),
        ("enter", "dwell", "f63d77c82be0efbd28895df12cec4435"),
        ("leave", "dwell", "12c6f006fd0fa24e84645cd394e32ba7"),
        ("leave", "s", "16a531daac82607a8c896e46b4488568"),
        ("leave", "zone", "ecd1dbb3f39c5c505ffaef9f918d9069"),
    ]


def test_decision_7_the_hash_itself_is_pinned() -> None:
    def id_of(publisher: str | None, kind: Kind, cause: Cause) -> str:
        return notification_id(
            subscription="s", subscriber="ann", publication="ad", publisher=publisher, region=None, peer=None,
            kind=kind, cause=cause,
        )  # fmt: skip

    fix = id_of("shop", Kind.ENTER, by_fix("ann", 4_000_000))
    entity = id_of(None, Kind.LEAVE, by_entity("layer:z", -5, 2))
    timer = id_of("shöp", Kind.READING, by_timer(0))
    assert fix == "a4b0bc8064248f93d56c3c827008ff94"
    assert entity == "7c65292249e4ddd93cb566e027954da5"
    assert timer == "9a2adf863fd22b12a91435afdd8a4e0e"


def test_decision_7_every_part_of_an_id_counts() -> None:
    def id_of(**changed: object) -> str:
        parts: dict[str, object] = {
            "subscription": "a", "subscriber": "b", "publication": "c", "publisher": "d", "region": None, "peer": None,
            "kind": Kind.ENTER, "cause": by_fix("e", 7),
        }  # fmt: skip
        return notification_id(**{**parts, **changed})  # type: ignore[arg-type]

    variants = [
        id_of(), id_of(subscription="b"), id_of(subscriber="a"), id_of(publication="x"), id_of(publisher="x"),
        id_of(publisher=None), id_of(publisher=""), id_of(region="x"), id_of(region=""), id_of(peer="x"),
        id_of(kind=Kind.LEAVE), id_of(cause=by_fix("e", 8)), id_of(cause=by_fix("f", 7)), id_of(cause=by_fix("e", -7)),
        id_of(cause=by_timer(7)), id_of(cause=by_entity("e", 7, 0)), id_of(cause=by_entity("e", 7, 1)),
        id_of(subscription="b", subscriber="a"), id_of(region="x", peer="y"), id_of(region="y", peer="x"),
    ]  # fmt: skip
    assert len(set(variants)) == len(variants)
    assert all(len(id_) == 32 and int(id_, 16) >= 0 for id_ in variants)


def test_decision_7_a_replay_gives_the_same_ids() -> None:
    def run(before: int) -> list[str]:
        s = System()
        for i in range(before):  # other clients' ops shift every log position, and no id
            s.move(f"noise{i}", 500, 500, i)
        s.publish("shop", "ad", SHOP)
        s.subscribe("ann", "s", f"{NEAR} DWELL 1 s", 0)
        s.move("ann", 0, 0, 1)
        s.move("ann", 99, 0, 5)
        return [n.id for n in s.log]

    assert len(run(0)) == 2
    assert run(0) == run(5)


def test_decision_7_no_id_repeats_though_everything_happens_at_one_time(s: System) -> None:
    s.subscribe("ann", "s", "SELECT WHERE &price < 9", 1)
    for _ in range(3):
        s.publish("shop", "ad", "PUBLISH AS (price = 5)", 1)
        s.publish("shop", "ad", "PUBLISH AS (price = 50)", 1)
        s.publish("shop", "ad", "PUBLISH AS (price = 5)", 1)
        s.retract("shop", "ad", 1)
    assert len(s.log) == 12
    assert len({n.id for n in s.log}) == 12


def test_decision_7_no_id_repeats_after_a_tick_or_after_being_forgotten(s: System) -> None:
    s.publish("shop", "ad", SHOP)
    for t in (1, 1, 2):
        s.tick(t)
        s.move("ann", 0, 0, t)
        s.subscribe("ann", "s", NEAR, t)
        s.publish("shop", "ad", "PUBLISH AT POINT(900 0)", t)
        s.publish("shop", "ad", SHOP, t)
        s.forget("ann", t)
    s.move("ann", 0, 0, 1)
    assert s.stale == 2
    assert len(s.log) == len({n.id for n in s.log}) > 5


def test_decision_7_the_same_ids_of_different_owners_are_different_things(s: System) -> None:
    for owner in ("bus", "van"):
        s.publish(owner, "p")
        s.move(owner, 0, 0, 0)
        s.subscribe(owner, "s", NEAR, 1)
    assert [(n.subscriber, n.publisher) for n in s.log] == [("bus", "van"), ("van", "bus")]
    assert s.log[0].id != s.log[1].id
    assert s.unsubscribe("bus", "s", 2) == []
    assert heard(s.move("van", 99, 0, 3)) == [("leave", "bus/p")]


# ---- 8: kinds ----------------------------------------------------------------------------------------


def test_decision_8_a_snapshot_has_one_row_a_match_and_none_if_nothing_matches(s: System) -> None:
    s.publish("shop", "b", SHOP)
    s.publish("shop", "a", SHOP)
    s.publish("shop", "far", "PUBLISH AT POINT(900 0)")
    s.move("ann", 0, 0, 0)
    assert s.subscribe("ann", "s", NEAR, 1) == [
        ("snapshot", "s", "shop/a", "subscribed", 1.0),
        ("snapshot", "s", "shop/b", "subscribed", 1.0),
    ]
    assert s.subscribe("ann", "none", "SELECT WHERE &price < 1", 1) == []


def test_decision_8_a_first_fix_inside_is_an_enter(s: System) -> None:
    s.publish("shop", "ad", SHOP)
    assert s.subscribe("ann", "s", NEAR, 1) == []
    assert s.move("ann", 0, 0, 2) == [("enter", "s", "shop/ad", "moved", 2.0)]


def test_decision_8_updates_come_only_to_those_who_ask(s: System) -> None:
    s.publish("bus", "p")
    s.move("bus", 0, 0, 0)
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "quiet", NEAR, 0)
    s.subscribe("ann", "told", f"{NEAR} WITH UPDATES", 0)
    assert s.move("bus", 1, 0, 1) == [("update", "told", "bus/p", "moved", 1.0)]
    assert s.client("bus", 2, delay=5) == [("update", "told", "bus/p", "attributes", 2.0)]
    assert s.publish("bus", "p", "PUBLISH CONTENT 'late'", 3) == [("update", "told", "bus/p", "edited", 3.0)]
    assert s.last[0].content == '"late"'


def test_decision_8_no_update_for_the_subscribers_own_changes_or_where_nothing_matches(s: System) -> None:
    s.publish("bus", "p")
    s.move("bus", 0, 0, 0)
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", f"{NEAR} WITH UPDATES", 0)
    assert s.move("ann", 1, 0, 1) == []
    assert s.client("ann", 1, mood="fine") == []
    assert heard(s.move("bus", 500, 0, 2)) == [("leave", "bus/p")]
    assert s.move("bus", 600, 0, 3) == []
    assert heard(s.move("bus", 0, 0, 4)) == [("enter", "bus/p")]


def test_decision_8_an_update_is_of_what_the_publication_shows(s: System) -> None:
    """A shop that stays where it is does not report its owner's walk."""
    s.publish("shop", "ad", SHOP)
    s.publish("shop", "cart")
    s.move("shop", 1, 1, 0)
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", f"{NEAR} WITH UPDATES", 0)
    assert heard(s.move("shop", 2, 2, 1)) == [("update", "shop/cart")]
    assert heard(s.client("shop", 2, open=True)) == [("update", "shop/ad"), ("update", "shop/cart")]


def test_decision_8_an_update_of_a_chosen_source_has_its_own_reason(s: System) -> None:
    s.publish("bus", "p")
    s.move("bus", 5, 0, 0)
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", f"{NEAR.replace('SELECT', 'SELECT nearof()')} WITH UPDATES", 0)
    assert s.move("bus", 4, 0, 1) == [("update", "s", "bus/p", "moved", 1.0)]


def test_decision_8_an_edited_layer_gives_no_update(s: System) -> None:
    s.layer("zones", yard=square(0, 0))
    s.publish("bus", "p")
    s.move("bus", 0, 0, 0)
    s.subscribe("ann", "s", "SELECT WHERE &location IN LAYER zones WITH UPDATES", 1)
    assert s.layer("zones", 2, yard=square(0, 0, 5)) == []
    assert heard(s.move("bus", 1, 0, 3)) == [("update", "bus/p@yard")]


# ---- 9: reasons --------------------------------------------------------------------------------------


def test_decision_9_definitions_give_enters_and_leaves_not_snapshots(s: System) -> None:
    s.publish("bus", "p")
    s.move("bus", 0, 0, 0)
    s.subscribe("ann", "s", "SELECT WHERE &location IN LAYER zones", 0)
    assert s.layer("zones", 1, yard=square(0, 0)) == [("enter", "s", "bus/p@yard", "defined", 1.0)]
    assert s.patch("zones", 2, gate=square(0, 0)) == [("enter", "s", "bus/p@gate", "defined", 2.0)]
    assert s.patch("zones", 3, yard=square(50, 0)) == [("leave", "s", "bus/p@yard", "defined", 3.0)]
    assert s.patch("zones", 4, drop=("gate",)) == [("leave", "s", "bus/p@gate", "defined", 4.0)]
    s.patch("zones", 5, gate=square(0, 0))
    assert s.define("DROP LAYER zones", 6) == [("leave", "s", "bus/p@gate", "defined", 6.0)]


def test_decision_9_a_changed_filter_gives_enters_and_leaves_with_that_reason(s: System) -> None:
    s.publish("shop", "cheap", "PUBLISH AS (price = 1)")
    s.publish("shop", "dear", "PUBLISH AS (price = 100)")
    assert heard(s.subscribe("ann", "s", "SELECT WHERE &price < 10", 1)) == [("snapshot", "shop/cheap")]
    assert s.subscribe("ann", "s", "SELECT WHERE &price > 10", 2) == [
        ("leave", "s", "shop/cheap", "edited", 2.0),
        ("enter", "s", "shop/dear", "edited", 2.0),
    ]
    assert s.subscribe("ann", "s", "SELECT WHERE &price > 11", 3) == []


def test_decision_9_removing_a_subscription_tells_nobody_and_adding_it_again_is_a_snapshot(s: System) -> None:
    s.publish("shop", "ad")
    s.subscribe("ann", "s", "SELECT", 1)
    assert s.unsubscribe("ann", "s", 2) == []
    assert s.retract("shop", "ad", 3) == []
    s.publish("shop", "ad", t=4)
    assert s.subscribe("ann", "s", "SELECT", 5) == [("snapshot", "s", "shop/ad", "subscribed", 5.0)]


def test_decision_9_the_expiry_of_a_subscription_tells_nobody(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AS (price = 5)")
    s.subscribe("ann", "s", "SELECT WHERE &price < 9 EXPIRES 5 s", 1)
    assert s.publish("shop", "ad", "PUBLISH AS (price = 50)", 6) == []
    assert s.tick(10) == []
    assert s.subscribe("ann", "s", "SELECT", 11) == [("snapshot", "s", "shop/ad", "subscribed", 11.0)]


def test_decision_9_a_subscription_still_hears_just_before_it_expires(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AS (price = 5)")
    s.subscribe("ann", "s", "SELECT WHERE &price < 9 EXPIRES AT '1970-01-01T00:00:06Z'", 1)
    assert heard(s.publish("shop", "ad", "PUBLISH AS (price = 50)", 5.999999)) == [("leave", "shop/ad")]


def test_decision_9_an_expired_publication_leaves_at_its_exact_time(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH EXPIRES 5 s", 1)
    s.subscribe("ann", "s", "SELECT", 2)
    assert s.tick(5.999999) == []
    assert s.tick(60) == [("leave", "s", "shop/ad", "expired", 6.0)]
    with pytest.raises(OpError, match="no publication"):
        s.retract("shop", "ad", 61)


def test_decision_9_publishing_again_renews_the_expiry(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH EXPIRES 5 s", 0)
    s.subscribe("ann", "s", "SELECT", 0)
    assert s.publish("shop", "ad", "PUBLISH EXPIRES 5 s", 4) == []
    assert s.tick(60) == [("leave", "s", "shop/ad", "expired", 9.0)]


def test_decision_9_a_client_whose_lease_runs_out_retracts_and_loses_its_subscriptions(s: System) -> None:
    s.client("bus", 0, lease=10)
    s.publish("bus", "p", t=1)
    s.publish("shop", "ad", t=1)
    s.subscribe("bus", "own", "SELECT WHERE &price < 9", 1)
    s.subscribe("ann", "s", "SELECT WHERE &owner = bus", 1)
    s.move("bus", 0, 0, 4)
    assert s.tick(30) == [("leave", "s", "bus/p", "gone", 14.0)]
    assert s.publish("shop", "ad", "PUBLISH AS (price = 1)", 31) == []
    with pytest.raises(OpError, match="no subscription"):
        s.unsubscribe("bus", "own", 32)


def test_decision_9_every_own_op_renews_the_lease(s: System) -> None:
    s.client("bus", 0, lease=10)
    s.publish("bus", "p", t=0)
    s.subscribe("ann", "s", "SELECT", 0)
    s.move("bus", 0, 0, 9)
    s.emit("bus", "p", 1, 18)
    s.subscribe("bus", "own", "SELECT", 27)
    s.client("bus", 36, mood="fine")
    assert s.tick(45) == []
    assert s.tick(46) == [("leave", "s", "bus/p", "gone", 46.0)]


@pytest.mark.parametrize("late", ["unsubscribe", "retract", "emit", "forget", "move"])
def test_decision_9_a_client_that_speaks_after_its_lease_has_nothing_left(s: System, late: str) -> None:
    s.client("bus", 0, lease=10)
    s.publish("bus", "p", t=0)
    s.subscribe("bus", "own", "SELECT", 0)
    s.subscribe("ann", "s", "SELECT ON @ > 0", 0)
    s.subscribe("ann", "t", "SELECT", 0)
    op: dict[str, ops.Op] = {
        "unsubscribe": ops.Unsubscribe(99_000_000, "bus", "own"),
        "retract": ops.Retract(99_000_000, "bus", "p"),
        "emit": ops.Emit(99_000_000, "bus", "p", {"value": 5}),
        "forget": ops.Forget(99_000_000, "bus"),
    }
    rows = s.apply(op[late]) if late in op else s.move("bus", 0, 0, 99)
    assert rows == [("leave", "t", "bus/p", "gone", 10.0)]
    with pytest.raises(OpError):
        s.unsubscribe("bus", "own", 100)


def test_decision_9_a_forgotten_client_is_gone_at_once(s: System) -> None:
    s.client("bus", 0, line=7)
    s.publish("bus", "p", t=0)
    s.move("bus", 0, 0, 0)
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", "SELECT WHERE &line = 7", 1)
    assert s.forget("bus", 2) == [("leave", "s", "bus/p", "gone", 2.0)]
    assert s.publish("bus", "p", t=3) == []
    assert s.client("bus", 4, line=7) == [("enter", "s", "bus/p", "attributes", 4.0)]
    assert s.subscribe("ann", "near", NEAR, 5) == []


# ---- 10: ops -----------------------------------------------------------------------------------------


def test_decision_10_attributes_merge_and_none_removes_one(s: System) -> None:
    s.publish("bus", "p")
    s.client("bus", 0, line=7, full=False)
    s.subscribe("ann", "s", "SELECT WHERE &line = 7 AND &full = FALSE", 1)
    assert heard(s.client("bus", 2, full=True)) == [("leave", "bus/p")]
    assert s.client("bus", 3, full=False) == [("enter", "s", "bus/p", "attributes", 3.0)]
    assert heard(s.client("bus", 4, line=None)) == [("leave", "bus/p")]


def test_decision_10_each_definition_has_a_remove_form(s: System) -> None:
    for text in ("SPACE gas (price real)", "PLACE hq", "LAYER z (a AT POINT(0 0))", "RELATION r WHERE &x = #x"):
        s.define(text)
    for name in ("SPACE gas", "PLACE hq", "LAYER z", "RELATION r"):
        s.define(f"DROP {name}", 1)
        with pytest.raises(UnknownName):
            s.define(f"DROP {name}", 2)


def test_decision_10_relations_are_watched_by_name(s: System) -> None:
    s.define("RELATION close AMONG (ann, bob, cid) WHERE &location WITHIN 10 m OF #location PERMIT #role = officer")
    s.client("eve", 0, role="thief")
    s.client("sam", 0, role="officer")
    s.subscribe("eve", "e", "SELECT FROM RELATION close", 0)
    s.subscribe("sam", "s", "SELECT FROM RELATION close", 0)
    s.move("bob", 0, 0, 1)
    s.move("dan", 0, 0, 1)
    assert s.move("ann", 5, 0, 2) == [("enter", "s", "close:ann~bob", "moved", 2.0)]
    assert s.forget("bob", 3) == [("leave", "s", "close:ann~bob", "gone", 3.0)]
    s.move("bob", 0, 0, 4)
    assert s.client("sam", 5, role="clerk") == [("leave", "s", "close:ann~bob", "unmatched", 5.0)]
    s.client("sam", 6, role="officer")
    assert s.define("DROP RELATION close", 7) == [("leave", "s", "close:ann~bob", "defined", 7.0)]


def test_decision_10_a_relation_shows_nothing_of_a_publication_with_its_name(s: System) -> None:
    s.define("RELATION close WHERE &location WITHIN 10 m OF #location")
    s.publish("ann", "close", "PUBLISH TO #friend = TRUE CONTENT 'secret'")
    s.move("ann", 0, 0, 0)
    s.move("bob", 1, 0, 0)
    s.subscribe("sam", "s", "SELECT FROM RELATION close WITH UPDATES", 1)
    assert s.last[0].content == ""
    assert "publication" not in s.last[0].why["versions"]
    assert s.publish("ann", "close", "PUBLISH TO #friend = TRUE CONTENT 'other'", 2) == []


def test_decision_10_between_two_groups_the_lesser_id_is_the_publisher(s: System) -> None:
    s.define("RELATION guards BETWEEN (zoe) AND (amy, zoe) WHERE &location WITHIN #reach OF #location")
    s.client("amy", 0, reach=5)
    s.move("amy", 0, 0, 0)
    s.move("zoe", 0, 0, 0)
    assert s.subscribe("sam", "s", "SELECT FROM RELATION guards", 1) == [
        ("snapshot", "s", "guards:amy~zoe", "subscribed", 1.0)
    ]


# ---- 11: what is visible -----------------------------------------------------------------------------


def test_decision_11_a_fix_alone_publishes_nothing(s: System) -> None:
    s.move("bob", 0, 0, 0)
    s.move("ann", 0, 0, 0)
    assert s.subscribe("ann", "s", NEAR, 1) == []
    assert s.subscribe("ann", "all", "SELECT", 1) == []
    assert s.move("bob", 1, 0, 2) == []
    assert heard(s.publish("bob", "me", t=3)) == [("enter", "bob/me"), ("enter", "bob/me")]


def test_decision_11_a_client_never_matches_its_own_publications(s: System) -> None:
    s.move("ann", 0, 0, 0)
    s.publish("ann", "me")
    assert s.subscribe("ann", "s", "SELECT", 1) == []
    assert s.subscribe("ann", "n", "SELECT NEAREST 1", 1) == []


def test_decision_11_in_zone_rows_the_mover_is_the_publisher(s: System) -> None:
    s.layer("zones", yard=square(0, 0))
    s.publish("bus", "p")
    s.subscribe("ann", "s", "SELECT WHERE &location IN LAYER zones", 0)
    s.move("bus", 0, 0, 1)
    n = s.last[0]
    assert (n.publisher, n.publication, n.region, n.peer) == ("bus", "p", "yard", None)


def test_decision_11_watching_ones_own_way_through_a_layer_needs_no_publication(s: System) -> None:
    s.layer("zones", yard=square(0, 0), gate=square(0, 0, 0.5))
    s.subscribe("ann", "s", "SELECT WHERE #location IN LAYER zones", 0)
    assert heard(s.move("ann", 1, 1, 1)) == [("enter", "zones@yard")]
    n = s.last[0]
    assert (n.publisher, n.publication, n.region, n.peer) == (None, "zones", "yard", None)
    assert heard(s.move("ann", 0, 0, 2)) == [("enter", "zones@gate")]
