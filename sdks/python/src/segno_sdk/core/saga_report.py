"""What the unwinding of a saga undid, in the details of the failure with which a workflow ends."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from .failure import CANCELLED, Failure

Line = dict[str, Any]


@dataclass
class SagaReport:
    """The steps of a saga after its unwinding. Each list begins with the last step."""

    saga: str
    undone: list[Line] = field(default_factory=list)
    #: The step whose compensation failed: the unwinding stopped there.
    failed: list[Line] = field(default_factory=list)
    #: The step of which nobody knows whether it acted: the unwinding stopped there.
    unclear: list[Line] = field(default_factory=list)
    #: Steps before the one at which the unwinding stopped: they acted and are not undone.
    left: list[Line] = field(default_factory=list)

    @property
    def has_stopped(self) -> bool:
        """True if a step could not be undone."""
        return bool(self.failed or self.unclear)

    def added_to(self, failure: Failure) -> Failure:
        """The failure with this report in its message and its details."""
        known = failure.details
        if not isinstance(known, dict) or not isinstance(known.get("sagas"), list):
            known = {"sagas": []} if known is None else {"sagas": [], "details": known}
        details = {**known, "sagas": [*known["sagas"], self._shown()]}
        return Failure(failure.code, f"{failure.message}; {self}", details)

    def _shown(self) -> dict[str, Any]:
        return {
            "saga": self.saga,
            "undone": self.undone,
            "failed": self.failed,
            "unclear": self.unclear,
            "left": self.left,
        }

    def __str__(self) -> str:
        text = f"saga `{self.saga}`: {_names(self.undone) or 'nothing'} undone"
        for line in self.failed:
            text += f", `{line['step']}` could not be undone: {line['error']}"
        if self.unclear:
            text += f", unclear whether {_names(self.unclear)} acted"
        return f"{text}, {_names(self.left)} not undone" if self.left else text


def _names(lines: list[Line]) -> str:
    return ", ".join(f"`{line['step']}`" for line in lines)


def of_cancellation(error: asyncio.CancelledError) -> Failure:
    """The failure of a cancellation, with what was undone because of it."""
    return Failure(CANCELLED, str(error) or "the invocation was cancelled", getattr(error, "details", None))


def as_cancellation(failure: Failure) -> asyncio.CancelledError:
    """The cancellation that carries a failure on."""
    error = asyncio.CancelledError(failure.message)
    error.details = failure.details  # type: ignore[attr-defined]
    return error
