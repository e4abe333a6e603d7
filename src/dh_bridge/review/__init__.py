"""Compares proposals with a target: before a delivery (plan) and after it (verify), without writing.

``state.py`` reads the target and applies the proposals to a copy; ``plan.py`` lists the changes, ``near.py``
existing entities that are probably meant, ``verdicts.py`` the proposals of a delivery that are present. ``merging.py`` reads
before a write: it merges a proposal with the aspect that it would replace. ``completing.py`` does so for incomplete runs.
"""
