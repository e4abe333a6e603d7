"""Examples in help texts: each is a complete command line. A test runs all of them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Function = TypeVar("_Function", bound="Callable[..., Any]")


def examples(*lines: str) -> Callable[[_Function], _Function]:
    """Add the lines to the end of a command's help text, as they are."""

    def decorate(function: _Function) -> _Function:
        text = "\n".join(f"  {line}" for line in lines)
        title = "Examples" if len(lines) > 1 else "Example"
        function.__doc__ = f"{inspect.getdoc(function)}\n\n\b\n{title}:\n{text}"
        return function

    return decorate
