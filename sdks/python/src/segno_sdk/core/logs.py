"""The module `logging` as the log of whatever runs."""

import logging
import sys

from . import current
from .engine import Level


class LogHandler(logging.Handler):
    """Passes records to the log of the invocation."""

    def emit(self, record: logging.LogRecord) -> None:
        running = current.running
        if running is None:
            return
        try:
            running.engine.log(level_of(record.levelno), self.format(record))
        except Exception:
            self.handleError(record)


def level_of(number: int) -> Level:
    """The level of the host for a level of `logging`."""
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warn"
    if number >= logging.INFO:
        return "info"
    return "debug" if number >= logging.DEBUG else "trace"


_handler = LogHandler()


def install() -> None:
    """Begins to pass on what is logged at the level INFO and above, or at the level that the author has set."""
    root = logging.getLogger()
    if _handler not in root.handlers:
        root.addHandler(_handler)
    if root.level in (logging.NOTSET, logging.WARNING):
        root.setLevel(logging.INFO)
    logging.raiseExceptions = sys.stderr is not None
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)


def uninstall() -> None:
    """Ends it."""
    logging.getLogger().removeHandler(_handler)
