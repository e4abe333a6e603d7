"""See before you write, and look again afterwards: what proposals change at a place, without writing to it.

``state.py`` reads what is there and applies the proposals to a copy; ``plan.py`` tells what would change, ``near.py`` which
entities of another name are probably meant, ``verdicts.py`` what of a delivery is there. ``merging.py`` reads while it writes:
what a proposal would replace is joined with what it says; ``completing.py`` does so for runs of which a call knows a part.
"""
