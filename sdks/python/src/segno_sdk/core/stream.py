"""Streams of an invocation: output of workflows and activities while they run, for readers outside."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..codec import ANY, encoded
from .defect import Defect, calling_place
from .engine import AttemptEngine, Payload
from .failure import BAD_INPUT, CONFLICT, Failure

if TYPE_CHECKING:
    from .execution import Execution

#: The content type of a stream of messages.
JSON_TYPE = "application/json"
#: Begins the name of a stream of the execution's object in commands. Names have no slash.
OF_OBJECT = "object/"
#: Maximum length of a name, in bytes.
NAME_BYTES_MAX = 1_024
#: Maximum length of a content type, in bytes.
TYPE_BYTES_MAX = 256
_MEDIA_TYPE = re.compile(r"[ !-.0-~]+/[ -~]+")


@dataclass
class KnownStream:
    """The state of a stream that an execution has asked for."""

    content_type: str
    is_closed: bool = False


class WorkflowStream:
    """A stream of a workflow's invocation. All generations of the invocation write the same streams."""

    def __init__(self, execution: "Execution", name: str, content_type: str, prefix: str = "") -> None:
        if (fault := fault_of(name, content_type)) is not None:
            raise Defect(fault, calling_place())
        known = execution.streams.setdefault(prefix + name, KnownStream(content_type))
        if known.content_type.lower() != content_type.lower():
            raise Defect(
                f"the stream {name!r} has the content type {known.content_type}, and is asked for with {content_type}",
                calling_place(),
            )
        self._execution, self._known, self._address = execution, known, prefix + name
        #: The name of the stream in its invocation.
        self.name = name
        #: The media type of its content.
        self.content_type = content_type

    def append(self, item: Any) -> None:
        """Appends a message, or text or bytes to a stream that is not JSON. It is stored with the next step.

        Raises a `Failure` 409 after `close`.
        """
        self._execution.check_command(f"an append to the stream {self.name!r}")
        if self._known.is_closed:
            raise Failure(CONFLICT, f"the stream {self.name!r} is closed: this workflow has called `close`")
        payload = item_payload(item, self.name, self.content_type)
        self._execution.engine.stream_append(self._address, self.content_type, payload)

    def close(self) -> None:
        """Closes the stream: nothing is appended afterwards. The end of the invocation closes its streams, too."""
        self._execution.check_command(f"the end of the stream {self.name!r}")
        if not self._known.is_closed:
            self._execution.engine.stream_close(self._address, self.content_type)
            self._known.is_closed = True


class ActivityStream:
    """A stream for an activity: that of the workflow that called it, or its own."""

    def __init__(self, engine: AttemptEngine, name: str, content_type: str) -> None:
        if (fault := fault_of(name, content_type)) is not None:
            # It is final: another attempt would have the same fault.
            raise Failure(BAD_INPUT, fault)
        self._engine = engine
        #: The name of the stream in its invocation.
        self.name = name
        #: The media type of its content.
        self.content_type = content_type

    def append(self, item: Any) -> None:
        """Appends a message, or text or bytes to a stream that is not JSON.

        It is stored shortly afterwards, at the end of the attempt at the latest, also if the attempt fails. A `Failure` may
        concern an earlier item.
        """
        self._engine.stream_append(self.name, self.content_type, item_payload(item, self.name, self.content_type))

    def kept(self) -> int:
        """The number of messages, or of bytes, that this call has stored, in earlier attempts and in this one."""
        return self._engine.stream_kept(self.name)


def is_json(content_type: str) -> bool:
    """True for the content type of a stream of messages."""
    return content_type.partition(";")[0].strip().lower() == JSON_TYPE


def item_payload(item: Any, name: str, content_type: str) -> Payload:
    """An item as it is stored."""
    if isinstance(item, bytes | bytearray | memoryview) and not is_json(content_type):
        return bytes(item)
    return encoded(ANY, item, f"the item of the stream {name!r}")


def fault_of(name: Any, content_type: Any) -> str | None:
    """The reason why a host would refuse the name or the content type."""
    is_name = isinstance(name, str) and name != "" and "/" not in name
    if not is_name or len(name.encode(errors="replace")) > NAME_BYTES_MAX:
        return f"the name of a stream is a text of 1 to {NAME_BYTES_MAX} bytes without a slash, and not {name!r:.42}"
    is_type = isinstance(content_type, str) and len(content_type) <= TYPE_BYTES_MAX
    if is_type and _MEDIA_TYPE.fullmatch(content_type) is not None:
        return None
    return (
        f"the content type of the stream {name!r} is {content_type!r:.42}: write one such as {JSON_TYPE} or text/plain"
    )
