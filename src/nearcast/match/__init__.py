"""Ops → notifications, along the flow of data.

``admit`` refuses what cannot be applied. ``world`` is the present state, ``history`` its past (τ and π). ``verdict``
says what a subscription may match and asks its conditions as ``question``s; ``choice`` keeps some of those that hold;
``chain`` and ``binding`` turn "it holds" into "tell", and ``tell`` makes the notification. ``reference`` drives them:
it is the definition, short, obvious and slow, and everything faster or distributed must agree with it.
"""
