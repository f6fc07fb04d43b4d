"""Text ⇄ model: the subscription language.

``parse`` reads statements, ``normalize`` brings them to the canonical form, ``format`` writes them back, and
``oplog`` reads and writes logs of ops, whose statements are language text.
"""
