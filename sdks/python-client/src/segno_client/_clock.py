"""Pauses, for both clients."""

import asyncio
import time

sleep = time.sleep
"""Pauses this thread for so many seconds."""

async_sleep = asyncio.sleep
"""Pauses this coroutine for so many seconds."""
