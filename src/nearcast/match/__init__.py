"""Ops → notifications.

``reference`` is the definition: short, obvious and slow. Everything faster or distributed must agree with it.
"""
