"""What a person types, typed: a line in a shell that finds this installation's command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def environment(folder, **variables):
    """Return the variables of a shell that finds this installation's command and whose home is ``folder``."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "HOME": str(folder), "NO_PROXY": "127.0.0.1", **variables}


def typed(line, folder, **variables):
    """Return the result of a line in ``folder``, which is also the home of whoever types it."""
    return subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(folder, **variables),
    )
