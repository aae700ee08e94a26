# Written by `scripts/unasync.py` from `src/segno_client/_async/modules.py`. Do not edit.
"""The modules of a host."""

from __future__ import annotations

from ..api import (
    DELETE_MODULES_MODULE,
    GET_MODULES,
    GET_MODULES_MODULE,
    GET_MODULES_MODULE_COMPONENT,
    POST_MODULES,
    Deployed,
    Module,
    ModuleList,
    Undeployed,
)
from .transport import Transport

COMPILE_MS = 300_000.0
"""Time that a host may take to compile a component."""


class Modules:
    """The modules, as a client sees them."""

    _transport: Transport

    def deploy(self, component: bytes, *, alias: str | None = None) -> Deployed:
        """Uploads a component, and points ``alias`` at it."""
        return self._transport.send(
            POST_MODULES, query={"alias": alias}, body=component, is_repeatable=True, wait_ms=COMPILE_MS
        )

    def modules(self) -> ModuleList:
        """The stored modules, the newest first."""
        return self._transport.send(GET_MODULES)

    def module(self, name: str) -> Module:
        """A module, by alias or digest, with its functions and their schemas."""
        return self._transport.send(GET_MODULES_MODULE, {"module": name})

    def component(self, name: str) -> bytes:
        """The component of a module."""
        return self._transport.send(GET_MODULES_MODULE_COMPONENT, {"module": name})

    def undeploy(self, alias: str) -> Undeployed:
        """Removes an alias: it starts nothing any more."""
        return self._transport.send(DELETE_MODULES_MODULE, {"module": alias})
