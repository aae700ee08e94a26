"""The client for asyncio. ``_sync`` is written from it by ``scripts/unasync.py``."""
