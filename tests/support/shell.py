"""What a person types, typed: a line in a shell that finds this installation's command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def typed(line, folder, **environment):
    """Return what came of a line in ``folder``, which is the home of whoever types it too."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | {"PATH": path, "HOME": str(folder), **environment},
    )
