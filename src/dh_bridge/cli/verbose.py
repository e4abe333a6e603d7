"""The log on stderr: what ``-v`` shows."""

from __future__ import annotations

import logging
import sys

from dh_bridge.cli.terminal import escape_line, escape_text

_LOGGERS = ("dh_bridge", "urllib3")


class EscapingFormatter(logging.Formatter):
    """Writes each message on one line: it quotes names of events, and answers of servers."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """Return the message on one line."""
        return escape_line(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        """Return the message with its traceback."""
        return escape_text(super().format(record))


def log_to_stderr() -> None:
    """Show the log of the bridge and of its HTTP client, at level DEBUG."""
    for name in _LOGGERS:
        add_handler(logging.getLogger(name), logging.DEBUG)


def add_handler(log: logging.Logger, level: int) -> None:
    """Add a handler to a logger that writes to stderr; repeated calls have no effect."""
    if any(isinstance(handler.formatter, EscapingFormatter) for handler in log.handlers):
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(EscapingFormatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(level)
