"""States that outlive a call: what every run said, what runs share, what was sent (ruling 1, state mode *ledger*)."""

from dh_bridge.ledger.ledger import Ledger

__all__ = ["Ledger"]
