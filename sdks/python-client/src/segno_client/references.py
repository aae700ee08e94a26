"""References to functions and messages with their types, as ``segno types`` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Out = TypeVar("Out", default=Any)
else:
    from typing import TypeVar

    Out = TypeVar("Out")

In = TypeVar("In")
Answer = TypeVar("Answer")
In_contra = TypeVar("In_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)


class FunctionReference(Protocol[In_contra, Out_co]):
    """A function of a module, with the types of its input and its output."""

    @property
    def address(self) -> str:
        """Address of the function: ``wasm://MODULE/FUNCTION``."""
        ...

    def segno_function(self, input: In_contra, /) -> Out_co:
        """Says the types to the type checker; nobody calls it."""
        ...


class MessageReference(Protocol):
    """A signal, a promise, a query or an update."""

    @property
    def name(self) -> str:
        """Name of the message."""
        ...


class SignalReference(MessageReference, Protocol[In_contra]):
    """A signal, with the type of its payload."""

    def segno_signal(self, payload: In_contra, /) -> None:
        """Says the type to the type checker; nobody calls it."""
        ...


class PromiseReference(MessageReference, Protocol[Out_co]):
    """A promise that a workflow awaits by name, with the type of its value."""

    def segno_promise(self) -> Out_co:
        """Says the type to the type checker; nobody calls it."""
        ...


class QueryReference(MessageReference, Protocol[In_contra, Out_co]):
    """A query, with the types of its input and its answer."""

    def segno_query(self, input: In_contra, /) -> Out_co:
        """Says the types to the type checker; nobody calls it."""
        ...


class UpdateReference(MessageReference, Protocol[In_contra, Out_co]):
    """An update, with the types of its input and its answer."""

    def segno_update(self, input: In_contra, /) -> Out_co:
        """Says the types to the type checker; nobody calls it."""
        ...


def address_of(target: object) -> str:
    """The target of a start, for the host."""
    address = getattr(target, "address", target)
    if isinstance(address, str) and address:
        return address
    raise InvalidArgumentError(
        f"`{target!r}` is not a function: pass its name, such as `shop/order`, or a reference of `segno types`"
    )


def name_of(message: str | MessageReference) -> str:
    """The name of a signal, a promise, a query or an update."""
    name: object = message if isinstance(message, str) else getattr(message, "name", None)
    if isinstance(name, str):
        return name
    raise InvalidArgumentError(f"`{message!r}` is not a message: pass its name, or a reference of `segno types`")
