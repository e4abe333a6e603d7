"""DuckDB in a file; sqlmesh-openlineage reads OPENLINEAGE_URL."""

import sqlmesh_openlineage
from sqlmesh.core.config import Config, DuckDBConnectionConfig, GatewayConfig, ModelDefaultsConfig

sqlmesh_openlineage.install()
config = Config(
    gateways={"local": GatewayConfig(connection=DuckDBConnectionConfig(database="shop.db"))},
    default_gateway="local",
    model_defaults=ModelDefaultsConfig(dialect="duckdb", start="2026-11-18"),
)
