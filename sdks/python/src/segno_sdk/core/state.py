"""The parts of an object: its state, and its promises."""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..codec import ANY, Codec, codec_of, decoded, encoded
from .defect import Defect, calling_place
from .engine import Success
from .failure import Failure
from .updates import failure_record
from .waits import Command

if TYPE_CHECKING:
    from .execution import Execution

T = TypeVar("T")


class Field:
    """A part of an object under the name of the attribute that is annotated with it."""

    def __init__(self, execution: "Execution", name: str, codec: Codec) -> None:
        self._execution, self._name, self._codec = execution, name, codec

    def _command(self, index: int, codec: Codec, what: str) -> Command[Any]:
        return Command(self._execution, index, lambda payload: decoded(codec, payload, what))

    def _check(self, what: str) -> Any:
        self._execution.check_command(f"{what} of {self._name!r}")
        return self._execution.engine

    def _check_write(self) -> Any:
        if self._execution.function.access == "shared":
            raise Defect(
                f"`{self._execution.function.name}` is shared and writes {self._name!r}: it only reads, so write @exclusive",
                calling_place(),
            )
        return self._check("a write")


class State(Field, Generic[T]):
    """One value of an object: `total: State[int]`."""

    def get(self) -> Command[T | None]:
        """The value, or None where there is none. To be awaited."""
        index = self._check("a read").state_get(self._name)
        return Command(self._execution, index, self._read)

    def _read(self, payload: str | bytes) -> T | None:
        return None if payload in ("", "null") else decoded(self._codec, payload, f"the state {self._name!r}")

    async def get_or(self, default: T) -> T:
        """The value, or the default where there is none."""
        value = await self.get()
        return default if value is None else value

    def set(self, value: T) -> None:
        """Writes the value. It is stored with the next step; later reads see it."""
        engine = self._check_write()
        engine.state_set(self._name, encoded(self._codec, value, f"the state {self._name!r}"))

    def clear(self) -> None:
        """Removes the value."""
        self._check_write().state_clear(self._name)


class StateMap(Field, Generic[T]):
    """Values of an object by key, each stored separately: `items: StateMap[int]`."""

    def _place(self, key: str) -> str:
        return f"{self._name}/{key}"

    def get(self, key: str) -> Command[T | None]:
        """The value of a key, or None where there is none. To be awaited."""
        index = self._check("a read").state_get(self._place(key))

        def read(payload: str | bytes) -> T | None:
            return None if payload in ("", "null") else decoded(self._codec, payload, f"the state {self._place(key)!r}")

        return Command(self._execution, index, read)

    def set(self, key: str, value: T) -> None:
        """Writes the value of a key."""
        engine = self._check_write()
        engine.state_set(self._place(key), encoded(self._codec, value, f"the state {self._place(key)!r}"))

    def remove(self, key: str) -> None:
        """Removes a key."""
        self._check_write().state_clear(self._place(key))

    async def keys(self) -> list[str]:
        """The keys that have a value, in their order."""
        names: list[str] = await self._command(self._check("a read").state_names(), codec_of(list[str]), "the names")
        begin = f"{self._name}/"
        return [name.removeprefix(begin) for name in names if name.startswith(begin)]


class ObjectPromise(Field, Generic[T]):
    """A promise of an object, which a function of it, or a client, settles once: `confirmed: ObjectPromise[bool]`.

    It may be settled before anybody waits for it, and stays when those that waited have ended.
    """

    def wait(self) -> Command[T]:
        """Its value, when it is settled. Raises the `Failure` with which it was rejected."""
        index = self._check("a wait").object_promise_wait(self._name)
        return self._command(index, self._codec, f"the promise {self._name!r}")

    async def peek(self) -> T | None:
        """Its value, if it is settled now, else None. Raises the `Failure` with which it was rejected."""
        told = await self._command(
            self._check("a read").object_promise_peek(self._name), ANY, f"the promise {self._name!r}"
        )
        if told is None:
            return None
        if "rejected" in told:
            raise Failure(told["rejected"]["code"], told["rejected"]["message"], told["rejected"].get("details"))
        value: T = self._codec.decode(told.get("resolved"), f"the promise {self._name!r}")
        return value

    def resolve(self, value: T) -> Command[bool]:
        """Settles it. Raises a `Failure` 409 if it was settled before."""
        payload = encoded(self._codec, value, f"the promise {self._name!r}")
        return self._command(
            self._check("a settlement").object_promise_settle(self._name, Success(payload)), ANY, "the settlement"
        )

    def reject(self, failure: Failure) -> Command[bool]:
        """Settles it with a failure."""
        return self._command(
            self._check("a settlement").object_promise_settle(self._name, failure_record(failure)),
            ANY,
            "the settlement",
        )
