"""Names of OpenLineage datasets in DataHub: (namespace, name) -> URN, by ``mappings/naming`` and the user's rules."""

from dh_bridge.naming.models import System
from dh_bridge.naming.name import Name
from dh_bridge.naming.naming import Naming

__all__ = ["Name", "Naming", "System"]
