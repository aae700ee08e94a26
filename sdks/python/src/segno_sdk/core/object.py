"""Objects: state by key, with one writer at a time."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    Self,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from ..codec import ANY, codec_of, decoded
from .budget import BudgetLimits
from .defect import Defect, calling_place, place_of_function
from .duration import Duration, milliseconds
from .function import CommitMode, Exposure, Workflow, checked_commit, checked_exposure, checked_name, describe, messages
from .options import CALL_OPTIONS, SEND_OPTIONS, Limit
from .state import Field
from .waits import Call, Command

if TYPE_CHECKING:
    from .context import Context
    from .execution import Execution

In = TypeVar("In")
Out = TypeVar("Out")
T = TypeVar("T")


class Method(Workflow[In, Out]):
    """A function of an object. Called on `ctx.object(KIND, key)`, it is a call; on `self`, a part of its caller."""

    def __set_name__(self, owner: Any, name: str) -> None:
        if not (isinstance(owner, type) and issubclass(owner, Object)):
            raise TypeError(
                f"{place_of_function(self.run)}: `{owner.__name__}` has a function of an object: write `class {owner.__name__}(Object)`"
            )
        self.owner = owner

    @overload
    def __get__(self, instance: None, owner: Any) -> Self: ...
    @overload
    def __get__(self, instance: "Object", owner: Any) -> "BoundMethod[In, Out]": ...
    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else BoundMethod(self, instance)


class BoundMethod(Generic[In, Out]):
    """A function of one object."""

    def __init__(self, method: Method[In, Out], instance: "Object") -> None:
        self._method, self._instance = method, instance

    @overload
    def __call__(
        self: "BoundMethod[None, Out]",
        /,
        *,
        timeout: Duration | None = None,
        labels: Mapping[str, str] | None = None,
        budget: BudgetLimits | None = None,
    ) -> Call[Out]: ...
    @overload
    def __call__(
        self,
        input: In,
        /,
        *,
        timeout: Duration | None = None,
        labels: Mapping[str, str] | None = None,
        budget: BudgetLimits | None = None,
    ) -> Call[Out]: ...
    def __call__(self, input: Any = None, /, **options: Any) -> Any:
        """Calls the function; the result is to be awaited. On `self` it is a part of its caller."""
        caller = self._instance._caller
        if caller is None:
            execution = self._instance._execution
            if execution is None:
                raise Defect(
                    f"`{self._method.name}` is called on no object: write ctx.object({type(self._instance).__name__}, key)",
                    calling_place(),
                )
            return self._method.run(self._instance, **self._method.arguments(input, execution.context))
        _, payload, codec, checked = caller._request(self._method, input, None, options, CALL_OPTIONS)
        name = self._instance._address(self._method)
        return caller._call(caller._execution.engine.call(name, payload, checked), codec, name)

    @overload
    def send(self: "BoundMethod[None, Out]", /, *, delay: Duration | None = None, start_at: datetime | None = None, timeout: Duration | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Command[str]: ...  # fmt: skip
    @overload
    def send(self, input: In, /, *, delay: Duration | None = None, start_at: datetime | None = None, timeout: Duration | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Command[str]: ...  # fmt: skip
    def send(self, input: Any = None, /, **options: Any) -> Any:
        """Starts the function without waiting for its end. Awaited: its id."""
        caller = self._instance._caller
        if caller is None:
            raise Defect("a send needs the object of another: write ctx.object(KIND, key)", calling_place())
        _, payload, _, checked = caller._request(self._method, input, None, options, SEND_OPTIONS)
        name = self._instance._address(self._method)
        return caller._command(
            caller._execution.engine.send(name, payload, checked), codec_of(str), f"the id of `{name}`"
        )


class Object:
    """A kind of object: a class with the parts of its state as annotations, and its functions.

    ```python
    class Cart(Object):
        total: State[int]

        @exclusive
        async def add(self, cents: int) -> int:
            total = await self.total.get_or(0) + cents
            self.total.set(total)
            return total
    ```
    """

    _kind: ClassVar[str] = ""
    _caller: Any = None
    _execution: Any = None
    _key: str = ""
    _module: str | None = None

    def __init_subclass__(cls, *, name: str | None = None, **about: Any) -> None:
        super().__init_subclass__(**about)
        cls._kind = checked_name("object", name or cls.__name__)
        methods = cls.methods()
        for method in methods:
            method.name = f"{cls._kind}/{method.name.rsplit('/', 1)[-1]}"
        once = [method for method in methods if method.once]
        exclusive = [method for method in methods if method.access == "exclusive"]
        if once and len(exclusive) > 1:
            raise TypeError(
                f"{once[0].place}: `{cls.__name__}` runs once per key, so all of its other functions have to be @shared"
            )

    @classmethod
    def methods(cls) -> list[Method[Any, Any]]:
        """The functions of this kind."""
        return [value for value in vars(cls).values() if isinstance(value, Method)]

    @classmethod
    def of_caller(cls, caller: "Context", key: str, module: str | None) -> Self:
        """The object as its callers see it."""
        if not isinstance(key, str) or not key:
            raise ValueError(f"the key of a {cls.__name__} is {key!r}: write a text")
        instance = cls.__new__(cls)
        instance._caller, instance._key, instance._module = caller, key, module
        return instance

    @classmethod
    def of_execution(cls, execution: "Execution") -> Self:
        """The object as its functions see it."""
        instance = cls.__new__(cls)
        instance._execution = execution
        for name, hint in get_type_hints(cls).items():
            field = get_origin(hint) or hint
            if isinstance(field, type) and issubclass(field, Field):
                arguments = get_args(hint)
                setattr(instance, name, field(execution, name, codec_of(arguments[0]) if arguments else ANY))
        return instance

    @property
    def key(self) -> str:
        """The key of this object."""
        return self._execution.engine.state_key() if self._execution else self._key

    async def state_names(self) -> list[str]:
        """The names of all parts of the state that have a value."""
        execution = self._inside("state_names")
        names: list[str] = await Command(
            execution,
            execution.engine.state_names(),
            lambda payload: decoded(codec_of(list[str]), payload, "the names"),
        )
        return names

    def clear_state(self) -> None:
        """Removes all of the state."""
        self._inside("clear_state").engine.state_clear_all()

    def _inside(self, name: str) -> "Execution":
        if self._execution is None:
            raise Defect(f"`{name}` is for the functions of the object itself", calling_place())
        execution: Execution = self._execution
        return execution

    def _address(self, method: Method[Any, Any]) -> str:
        path = f"{self._kind}@{self._key}/{method.name.split('/', 1)[1]}"
        return path if self._module is None else f"wasm://{self._module}/{path}"

    def __getattr__(self, name: str) -> Any:
        if self._caller is not None and name in get_type_hints(type(self)):
            raise Defect(
                f"`{name}` is a part of the state of {self._kind}: only its own functions read and write it",
                calling_place(),
            )
        raise AttributeError(f"`{type(self).__name__}` has no `{name}`")


class MethodDecorator:
    """`@exclusive(…)`, `@shared(…)` and `@once(…)`."""

    def __init__(
        self,
        access: Literal["exclusive", "shared"],
        once: bool,
        *,
        name: str | None = None,
        timeout: Duration | None = None,
        signals: Mapping[str, Any] | bool = False,
        promises: Mapping[str, Any] | None = None,
        limit: Limit | None = None,
        commit: CommitMode = "gathered",
        expose: Exposure | None = None,
    ) -> None:
        self._access: Literal["exclusive", "shared"] = access
        self._once = once
        checked = (checked_commit(commit), checked_exposure(expose))
        self._about = (name, timeout, signals, promises, limit, *checked)

    @overload
    def __call__(self, function: "Callable[[Any], Awaitable[Out]]", /) -> Method[None, Out]: ...
    @overload
    def __call__(self, function: "Callable[[Any, Context], Awaitable[Out]]", /) -> Method[None, Out]: ...
    @overload
    def __call__(self, function: "Callable[[Any, In, Context], Awaitable[Out]]", /) -> Method[In, Out]: ...
    @overload
    def __call__(self, function: "Callable[[Any, In], Awaitable[Out]]", /) -> Method[In, Out]: ...
    @overload
    def __call__(
        self,
        *,
        name: str | None = None,
        timeout: Duration | None = None,
        signals: Mapping[str, Any] | bool = False,
        promises: Mapping[str, Any] | None = None,
        limit: Limit | None = None,
        commit: CommitMode = "gathered",
        expose: Exposure | None = None,
    ) -> "MethodDecorator": ...
    def __call__(
        self,
        function: Any = None,
        *,
        name: Any = None,
        timeout: Any = None,
        signals: Any = False,
        promises: Any = None,
        limit: Any = None,
        commit: Any = "gathered",
        expose: Any = None,
    ) -> Any:
        if function is None:
            return MethodDecorator(
                self._access,
                self._once,
                name=name,
                timeout=timeout,
                signals=signals,
                promises=promises,
                limit=limit,
                commit=commit,
                expose=expose,
            )
        name, timeout, signals, promises, limit, commit, expose = self._about
        declared, any_signals = messages(function, "signals", signals)
        return Method(
            **describe(function, name, "workflow", owner=True),
            timeout_ms=None if timeout is None else milliseconds("timeout", timeout),
            limit=limit,
            signals=declared,
            any_signals=any_signals,
            promises=messages(function, "promises", promises)[0],
            commit=commit,
            expose=expose,
            access=self._access,
            once=self._once,
        )


#: Decorates a function of an object that reads and writes: of one key, one execution at a time runs. Takes the arguments
#: of `@workflow`.
exclusive = MethodDecorator("exclusive", False)
#: Decorates a function of an object that only reads, and waits for nobody.
shared = MethodDecorator("shared", False)
#: Decorates a function of an object that runs once per key; all others of the object are shared.
once = MethodDecorator("exclusive", True)
