"""Music that follows a person from speaker to speaker, and from room to room (LACL, section 6).

Three machines have speakers: PC1 has B1, B2 and B3, PC2 has B4, PC3 has B5, B6 and B7. A person with a PDA walks
through rooms A and B and back at 1 m/s. Two subscriptions hand over to each other: ``a`` lives in room A, ``b`` in
room B. Each keeps the nearest speaker within 8 m, and hears only when that changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nearcast import Reference, decode_op

SECOND = 1_000_000
ROOMS = {"A": "BOX(0 0, 20 6)", "B": "BOX(21 0, 44 6)"}
SPEAKERS = {"pc1": {"B1": 4, "B2": 10, "B3": 16}, "pc2": {"B4": 25}, "pc3": {"B5": 30, "B6": 35, "B7": 40}}
WALK = [*range(45), *reversed(range(44))]

PLANE = "SPACE location (x real, y real, z real) METRIC planar"
FOLLOW = "Select nearof() Where &context=speaker and &location in rang:loc(8) Life-control #location in room {room}"


def log() -> Iterator[dict[str, Any]]:
    yield {"op": "space", "time": 0, "text": PLANE}
    for room, box in ROOMS.items():
        yield {"op": "place", "time": 0, "text": f"PLACE {room} LEVEL room AT {box}"}
    for machine, speakers in SPEAKERS.items():
        for speaker, x in speakers.items():
            text = f"PUBLISH AT POINT({x} 0) AS (context = speaker)"
            yield {"op": "publish", "time": 0, "client": machine, "id": speaker, "text": text}
    for room in ROOMS:
        yield {"op": "subscribe", "time": 0, "client": "pda", "id": room.lower(), "text": FOLLOW.format(room=room)}
    for time, x in enumerate(WALK):
        yield {"op": "move", "time": time, "client": "pda", "x": x, "y": 3}


def main() -> None:
    system = Reference()
    for line in log():
        for told in system.apply(decode_op(json.dumps(line))):
            seconds = told.time // SECOND
            print(f"t={seconds:>2} s  {told.subscription}  {told.kind} {told.publication} ({told.reason})")


if __name__ == "__main__":
    main()
