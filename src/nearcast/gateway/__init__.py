"""The gateway: HTTP, server-sent events and WebSocket in front of the log.

    identity   who is asking
    formats    positions as they come: GeoJSON, OwnTracks, plain JSON, lines of ops
    commit     many ops at once into one packet of the log
    limits     how much of it each client may ask for
    ask        questions to the broker
    layers     GeoJSON too large for a message
    resolving  names of hosts, so that none is waited for by others
    outbox     the stream of notifications, a client's part of it, and its cursor
    delivery   who is connected, and what each has yet to hear
    events     notifications as CloudEvents
    doors      what each route does
    streams    server-sent events and WebSocket
    page       the live map
    app        routes, and what goes wrong, as HTTP says it

It keeps nothing that matters: any gateway serves any client.
"""
