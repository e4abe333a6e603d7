"""``python -m dh_bridge``: the command line, where its script is not on the PATH."""

from dh_bridge.cli import main

main()
