"""Phones, by MQTT: OwnTracks apps, and whoever else speaks it, say where they are and hear what they enter and leave.

``door`` lets them in and passes them on to the NATS server, which speaks MQTT itself. ``reading`` takes what they say
from there into the log, as ``messages`` understands it; ``telling`` brings back what they are told. What is known of
each phone is in ``register``. ``frames`` and ``session`` are MQTT; ``service`` is all of it together.
"""
