"""The execution or the attempt whose code is running."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: An `Execution`, an `Attempt`, or None.
running: Any = None


@contextmanager
def entered(one: Any) -> Iterator[None]:
    """Marks what is running, and watches for coroutines that nobody awaits."""
    global running
    before, depth = running, sys.get_coroutine_origin_tracking_depth()
    running = one
    sys.set_coroutine_origin_tracking_depth(1)
    try:
        yield
    finally:
        running = before
        sys.set_coroutine_origin_tracking_depth(depth)


_warn: Any = getattr(warnings, "_warn_unawaited_coroutine")


def _unawaited(coroutine: Any) -> None:
    """Python calls this when a coroutine is dropped that was never awaited."""
    if running is None:
        _warn(coroutine)
    else:
        running.unawaited(coroutine)


warnings._warn_unawaited_coroutine = _unawaited  # type: ignore[attr-defined]
