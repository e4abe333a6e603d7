"""Renders merged facts as aspects: one module per kind of entity, each aspect in the field order of its Avro schema."""
