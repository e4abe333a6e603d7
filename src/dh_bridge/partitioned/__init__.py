"""Many events at once: records in, proposals out, in parts that Spark's workers translate side by side.

Two stages, the laws of the translation (ARCHITECTURE.md): :mod:`~dh_bridge.partitioned.runs` folds the records of a part run by
run and yields proposals of runs, and the *pieces* of what runs share; :mod:`~dh_bridge.partitioned.entities` folds the pieces of
one group from all parts and yields the proposals of what is shared. The end is that of one call over all events.
"""
