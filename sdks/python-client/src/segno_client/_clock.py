"""Pauses and calls that block, for both clients."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

sleep = time.sleep
"""Pauses this thread for so many seconds."""

async_sleep = asyncio.sleep
"""Pauses this coroutine for so many seconds."""

async_in_thread = asyncio.to_thread
"""Calls a function that blocks in another thread."""


def in_thread(function: Callable[..., Value], *arguments: object) -> Value:
    """Calls a function that blocks."""
    return function(*arguments)
