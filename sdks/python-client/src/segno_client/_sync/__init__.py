# Written by `scripts/unasync.py` from `src/segno_client/_async/__init__.py`. Do not edit.
"""The synchronous client."""
