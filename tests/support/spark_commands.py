"""What runs under another PySpark, in an environment of its own: each line of the standard input is a `dh-bridge` command, in JSON.

One process for all, as its Spark takes seconds to start; it ends at the first command that fails.
"""

from __future__ import annotations

import json
import sys

from dh_bridge.cli import commands

if __name__ == "__main__":
    for line in sys.stdin:
        code = commands(json.loads(line), standalone_mode=False)
        if code:
            sys.exit(code)
