# Written by `scripts/unasync.py` from `tests/_async/__init__.py`. Do not edit.
