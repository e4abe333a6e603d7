"""Steps of an erasure at which its process ends."""

from __future__ import annotations

from contextlib import contextmanager

from dh_bridge import private_files


class KilledError(BaseException):
    """The process ends: no handler of errors sees it."""


def killed(*_arguments):
    """End the process instead of a step."""
    raise KilledError


def killed_in_call(number):
    """Return `replacing` for a process that ends inside the block of a call, and leaves the draft."""
    calls = []

    @contextmanager
    def replacing(path):
        if len(calls) == number:
            with private_files.draft_path(path).open("wb") as draft:
                yield draft
            raise KilledError
        calls.append(path)
        with private_files.replacing(path) as file:
            yield file

    return replacing
