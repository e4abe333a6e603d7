"""Run ids as Airflow's OpenLineage provider makes them, so that both give one run the same URN.

apache-airflow-providers-openlineage 2.x, ``utils/utils.py``; openlineage-python, ``client/uuid.py``.
"""

from __future__ import annotations

import hashlib
import uuid
from datetime import timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

_NODE_BITS = 76


def dag_run_id(namespace: str, dag_id: str, instant: datetime, clear_number: int) -> str:
    """Return the id of a DAG run; ``instant`` is its logical date, or ``run_after`` if it has none."""
    return static_uuid(instant, f"{namespace}.{dag_id}.{clear_number}")


def task_run_id(  # noqa: PLR0913 - the arguments that distinguish tries
    namespace: str, dag_id: str, task_id: str, instant: datetime, *, try_number: int, map_index: int
) -> str:
    """Return the id of one try of a task; ``map_index`` is -1 for a task that is not mapped."""
    return static_uuid(instant, f"{namespace}.{dag_id}.{task_id}.{try_number}.{map_index}")


def static_uuid(instant: datetime, text: str) -> str:
    """Return a UUID of version 7: the milliseconds of ``instant``, then a hash of it and ``text``."""
    moment = instant.astimezone(timezone.utc)
    milliseconds = int(moment.timestamp() * 1000)
    digest = hashlib.sha1(moment.isoformat().encode() + text.encode(), usedforsecurity=False).digest()
    node = int.from_bytes(digest, "big") >> (160 - _NODE_BITS)
    number = (milliseconds & 0xFFFFFFFFFFFF) << 80 | node
    number = number & ~(0xF000 << 64) | 7 << 76  # version
    number = number & ~(0xC000 << 48) | 0x8000 << 48  # variant of RFC 4122
    return str(uuid.UUID(int=number))
