"""Translation of many events in parts, which Spark's workers translate in parallel.

Two stages, with the merge functions of the translation (ARCHITECTURE.md): :mod:`~dh_bridge.partitioned.runs` merges the records
of a part by run and yields the proposals of runs and the *pieces* of shared entities; :mod:`~dh_bridge.partitioned.entities`
merges the pieces of a group from all parts and yields the proposals of shared entities. The result is that of one call over all
events.
"""
