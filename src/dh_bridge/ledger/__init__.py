"""States that outlive a call: what every run said, what runs share, what was sent (state mode *ledger*)."""

from dh_bridge.ledger.factory import Noted, Nowhere, noted, opened, refuse_beside_catalogue, trial
from dh_bridge.ledger.ledger import Ledger
from dh_bridge.ledger.outbox import Outbox

__all__ = ["Ledger", "Noted", "Nowhere", "Outbox", "noted", "opened", "refuse_beside_catalogue", "trial"]
