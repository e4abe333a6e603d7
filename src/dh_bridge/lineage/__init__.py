"""Lineage beyond inputs and outputs: explicit, between columns, upstream of datasets, through queries and between jobs."""
