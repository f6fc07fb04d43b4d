"""What is said: spaces, regions, places, clients, statements, ops and notifications.

Pure values: frozen, typed, comparable. Nothing here knows an engine, a clock or a socket.
"""
