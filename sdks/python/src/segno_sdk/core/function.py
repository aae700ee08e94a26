"""Functions of a module: workflows and activities, with what their annotations say."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args, get_type_hints, overload

from ..codec import Codec, codec_of
from .defect import place_of_function
from .duration import Duration, milliseconds
from .options import Limit, Retry

if TYPE_CHECKING:
    from .attempt import ActivityContext
    from .context import Context
    from .handler import Handler

In = TypeVar("In")
Out = TypeVar("Out")
#: When the host commits the results that a workflow receives: several at a time, or each before it goes on.
CommitMode = Literal["gathered", "each"]
#: A protocol by which a function is offered to others: `mcp`, a tool of assistants.
Exposure = Literal["mcp"]
NAME_HELP = "1 to 64 letters, digits, '_', '-' and '.'"


@dataclass(eq=False)
class Function(Generic[In, Out]):
    """A workflow or an activity. It can be called and awaited like the function that was decorated."""

    run: Callable[..., Any]
    name: str
    kind: Literal["workflow", "activity"]
    input: Codec | None
    output: Codec
    #: The names of the parameters for the input and the context, where there are any.
    input_parameter: str | None
    context_parameter: str | None
    #: True if the input may be left out.
    has_default: bool = False
    timeout_ms: int | None = None
    limit: Limit | None = None
    retry: Retry | None = None
    #: The protocol by which it is offered to others.
    expose: Exposure | None = None

    def __post_init__(self) -> None:
        self.__doc__ = self.run.__doc__
        self.__name__ = getattr(self.run, "__name__", self.name)
        self.__module__ = self.run.__module__
        self.__wrapped__ = self.run

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Calls the function as a part of its caller, without an id and a journal of its own."""
        return self.run(*arguments, **named)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    def check(self) -> None:
        """Raises what is wrong with it and can be known before it runs."""

    @property
    def place(self) -> str:
        """`FILE:LINE` of the definition."""
        return place_of_function(self.source)

    @property
    def source(self) -> Callable[..., Any]:
        """The function of the author."""
        return self.run

    @property
    def summary(self) -> str | None:
        """The first paragraph of the documentation."""
        return inspect.cleandoc(self.run.__doc__).split("\n\n")[0] if self.run.__doc__ else None

    def arguments(self, input: Any, context: Any) -> dict[str, Any]:
        """The arguments of a call by the host."""
        arguments = {}
        if self.input_parameter is not None and not (input is None and self.has_default):
            arguments[self.input_parameter] = input
        if self.context_parameter is not None:
            arguments[self.context_parameter] = context
        return arguments


@dataclass(eq=False, repr=False)
class Activity(Function[In, Out]):
    """A function that does something outside: it may be attempted more than once. Made by `@activity`."""


@dataclass(eq=False, repr=False)
class Workflow(Function[In, Out]):
    """A function that coordinates: its steps are in a journal. Made by `@workflow`."""

    #: The types of the declared signals; None: the workflow takes none; `{}` with `any_signals`: any.
    signals: Mapping[str, Codec] = field(default_factory=dict)
    any_signals: bool = False
    promises: Mapping[str, Codec] = field(default_factory=dict)
    #: When the host commits the results that the workflow receives.
    commit: CommitMode = "gathered"
    handlers: "dict[tuple[str, str], Handler]" = field(default_factory=dict)
    #: Of a function of an object: `exclusive` or `shared`, and whether it runs once per key.
    access: Literal["exclusive", "shared"] | None = None
    once: bool = False
    #: The class of the object.
    owner: Any = None

    @property
    def takes_signals(self) -> bool:
        """True if a signal wakes the workflow; updates come as signals."""
        return bool(self.signals) or self.any_signals or any(kind == "update" for kind, _ in self.handlers)

    @overload
    def query(self, function: Callable[..., Any], /) -> "Handler": ...
    @overload
    def query(self, /, *, name: str | None = None) -> Callable[[Callable[..., Any]], "Handler"]: ...
    def query(self, function: Any = None, /, *, name: str | None = None) -> Any:
        """Decorates a query of this workflow: `def status(shared)` or `def status(shared, input)`.

        It is answered at once, also after the end, and changes nothing. `shared` is the value of `ctx.share`.
        """
        from .handler import declare

        return declare(self, "query", function, name, None)

    @overload
    def update(self, function: Callable[..., Awaitable[Any]], /) -> "Handler": ...
    @overload
    def update(
        self, /, *, name: str | None = None, validate: Callable[..., None] | None = None
    ) -> Callable[[Callable[..., Awaitable[Any]]], "Handler"]: ...
    def update(self, function: Any = None, /, *, name: str | None = None, validate: Any = None) -> Any:
        """Decorates an update of this workflow: `async def add(shared, input, ctx)`, of which all but the first may be
        left out.

        It is a part of the workflow, and its result is the answer. What `validate(shared, input)` raises refuses the
        update before it is accepted.
        """
        from .handler import declare

        return declare(self, "update", function, name, validate)


def describe(
    run: Callable[..., Any], name: str | None, kind: Literal["workflow", "activity"], owner: bool = False
) -> dict[str, Any]:
    """What the signature of a function says. `owner`: the first parameter is `self`."""
    from .attempt import ActivityContext
    from .context import Context

    label = getattr(run, "__name__", repr(run))
    if not callable(run) or inspect.isclass(run):
        raise TypeError(f"@{kind} decorates a function, and not {run!r}")
    if kind == "workflow" and not inspect.iscoroutinefunction(run):
        raise TypeError(f"{place_of_function(run)}: the workflow `{label}` has to be an `async def`")
    hints = hints_of(run)
    wanted = Context if kind == "workflow" else ActivityContext
    parameters = list(inspect.signature(run).parameters.values())[1 if owner else 0 :]
    input_parameter = context_parameter = None
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(
                f"{place_of_function(run)}: `{label}` has the parameter `{parameter}`: it takes one input, and `ctx`"
            )
        hint = hints.get(parameter.name)
        if (
            isinstance(hint, type)
            and issubclass(hint, (Context, ActivityContext))
            or (hint is None and parameter.name == "ctx")
        ):
            if hint is not None and not issubclass(wanted, hint):
                raise TypeError(
                    f"{place_of_function(run)}: `{label}` is declared as a {kind}, and takes a {hint.__name__}: write {wanted.__name__}"
                )
            context_parameter = parameter.name
        elif input_parameter is None:
            input_parameter = parameter.name
        elif parameter.default is parameter.empty:
            raise TypeError(
                f"{place_of_function(run)}: `{label}` takes `{input_parameter}` and `{parameter.name}`: a {kind} has one input, "
                "so make a dataclass or a tuple of them"
            )
    input_type: Any = hints.get(input_parameter, Any) if input_parameter else None
    has_default = (
        bool(input_parameter)
        and inspect.signature(run).parameters[str(input_parameter)].default is not inspect.Parameter.empty
    )
    if has_default and input_type is not Any:
        input_type = input_type | None
    return {
        "run": run,
        "name": checked_name(kind, name or label),
        "kind": kind,
        "input": typed(run, "the input", input_type) if input_parameter else None,
        "output": typed(run, "the result", hints.get("return", Any)),
        "input_parameter": input_parameter,
        "context_parameter": context_parameter,
        "has_default": has_default,
    }


def hints_of(run: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function. A name in quotes may be one that is defined where the function is."""
    try:
        return get_type_hints(run, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"{place_of_function(run)}: an annotation of `{run.__name__}` names `{error.name}`, which is not defined there"
        ) from None


def typed(run: Any, what: str, type_: Any) -> Codec:
    """The codec of a type, whose error names the function."""
    try:
        return codec_of(type_)
    except TypeError as error:
        raise TypeError(f"{place_of_function(run)}: {what} of `{getattr(run, '__name__', run)}`: {error}") from None


def checked_name(what: str, name: str) -> str:
    """Refuses names that no call could use."""
    if (
        not isinstance(name, str)
        or not 0 < len(name) <= 64
        or not all(one.isascii() and (one.isalnum() or one in "_-.") for one in name)
    ):
        raise ValueError(f"the name of the {what} is {name!r}: write {NAME_HELP}")
    return name


def checked_commit(commit: CommitMode) -> CommitMode:
    """Refuses a mode that does not exist."""
    if commit not in get_args(CommitMode):
        raise ValueError(f"commit is {commit!r}: write 'each' or 'gathered'")
    return commit


def checked_exposure(expose: Exposure | None) -> Exposure | None:
    """Refuses a protocol that does not exist."""
    if expose is not None and expose not in get_args(Exposure):
        raise ValueError(f"expose is {expose!r}: write 'mcp'")
    return expose


def messages(run: Any, what: str, types: Any) -> tuple[dict[str, Codec], bool]:
    """The declared messages of a workflow: their types by name, and whether any others are taken."""
    if types is None or types is False:
        return {}, False
    if types is True:
        return {}, True
    if not isinstance(types, Mapping):
        raise TypeError(f"{place_of_function(run)}: {what} is {types!r}: write {{'name': type}}")
    return {name: typed(run, f"the {what[:-1]} {name!r}", type_) for name, type_ in types.items()}, False


@overload
def workflow(function: "Callable[[], Awaitable[Out]]", /) -> Workflow[None, Out]: ...
@overload
def workflow(function: "Callable[[Context], Awaitable[Out]]", /) -> Workflow[None, Out]: ...
@overload
def workflow(function: "Callable[[In, Context], Awaitable[Out]]", /) -> Workflow[In, Out]: ...
@overload
def workflow(function: "Callable[[In], Awaitable[Out]]", /) -> Workflow[In, Out]: ...
@overload
def workflow(
    *,
    name: str | None = None,
    timeout: Duration | None = None,
    signals: Mapping[str, Any] | bool = False,
    promises: Mapping[str, Any] | None = None,
    limit: Limit | None = None,
    commit: CommitMode = "gathered",
    expose: Exposure | None = None,
) -> "WorkflowDecorator": ...
def workflow(function: Any = None, /, **about: Any) -> Any:
    """Makes a workflow of an `async def`.

    The function takes at most one input and, annotated as `Context`, its context. The annotations of the input and of
    the result are the types that callers see, and the host checks them.

    Args:
        name: the name for calls, in place of the function's own.
        timeout: the time from the call to the deadline of the workflow; a call may set another.
        signals: the signals that the workflow receives, `{"approved": Approval}`, or True for any.
        promises: the types of the promises that the workflow awaits by name.
        limit: how many executions may run, and how fast they begin.
        commit: `"each"`: the host commits the result of each `run`, and the outcome of each call, before the workflow
            receives it. `"gathered"`: one commit covers several of them, and the commands that follow.
        expose: `"mcp"`: offers the workflow as a tool of assistants.
    """
    return WorkflowDecorator(**about) if function is None else WorkflowDecorator(**about)(function)


@overload
def activity(function: "Callable[[], Awaitable[Out]]", /) -> Activity[None, Out]: ...
@overload
def activity(function: "Callable[[ActivityContext], Awaitable[Out]]", /) -> Activity[None, Out]: ...
@overload
def activity(function: "Callable[[In, ActivityContext], Awaitable[Out]]", /) -> Activity[In, Out]: ...
@overload
def activity(function: "Callable[[In], Awaitable[Out]]", /) -> Activity[In, Out]: ...  # type: ignore[overload-overlap]
@overload
def activity(function: "Callable[[], Out]", /) -> Activity[None, Out]: ...
@overload
def activity(function: "Callable[[ActivityContext], Out]", /) -> Activity[None, Out]: ...
@overload
def activity(function: "Callable[[In, ActivityContext], Out]", /) -> Activity[In, Out]: ...
@overload
def activity(function: "Callable[[In], Out]", /) -> Activity[In, Out]: ...
@overload
def activity(
    *,
    name: str | None = None,
    timeout: Duration | None = None,
    retry: Retry | None = None,
    limit: Limit | None = None,
    expose: Exposure | None = None,
) -> "ActivityDecorator": ...
def activity(function: Any = None, /, **about: Any) -> Any:
    """Makes an activity of a `def` or an `async def`.

    The function takes at most one input and, annotated as `ActivityContext`, its context.

    Args:
        name: the name for calls, in place of the function's own.
        timeout: the time from the call to its deadline, all attempts included; a call may set another.
        retry: when and how often a failed attempt is repeated; a call may set another.
        limit: how many executions may run, and how fast they begin.
        expose: `"mcp"`: offers the activity as a tool of assistants.
    """
    return ActivityDecorator(**about) if function is None else ActivityDecorator(**about)(function)


class WorkflowDecorator:
    """`@workflow(…)` with arguments."""

    def __init__(
        self,
        *,
        name: str | None = None,
        timeout: Duration | None = None,
        signals: Mapping[str, Any] | bool = False,
        promises: Mapping[str, Any] | None = None,
        limit: Limit | None = None,
        commit: CommitMode = "gathered",
        expose: Exposure | None = None,
    ) -> None:
        checked = (checked_commit(commit), checked_exposure(expose))
        self._about = (name, timeout, signals, promises, limit, *checked)

    @overload
    def __call__(self, function: "Callable[[], Awaitable[Out]]", /) -> Workflow[None, Out]: ...
    @overload
    def __call__(self, function: "Callable[[Context], Awaitable[Out]]", /) -> Workflow[None, Out]: ...
    @overload
    def __call__(self, function: "Callable[[In, Context], Awaitable[Out]]", /) -> Workflow[In, Out]: ...
    @overload
    def __call__(self, function: "Callable[[In], Awaitable[Out]]", /) -> Workflow[In, Out]: ...
    def __call__(self, function: Any, /) -> Any:
        name, timeout, signals, promises, limit, commit, expose = self._about
        declared, any_signals = messages(function, "signals", signals)
        return Workflow(
            **describe(function, name, "workflow"),
            timeout_ms=None if timeout is None else milliseconds("timeout", timeout),
            limit=limit,
            signals=declared,
            any_signals=any_signals,
            promises=messages(function, "promises", promises)[0],
            commit=commit,
            expose=expose,
        )


class ActivityDecorator:
    """`@activity(…)` with arguments."""

    def __init__(
        self,
        *,
        name: str | None = None,
        timeout: Duration | None = None,
        retry: Retry | None = None,
        limit: Limit | None = None,
        expose: Exposure | None = None,
    ) -> None:
        if retry is not None and not isinstance(retry, Retry):
            raise TypeError(f"retry is {retry!r}: write Retry(max_attempts=5), for example")
        self._about = (name, timeout, retry, limit, checked_exposure(expose))

    @overload
    def __call__(self, function: "Callable[[], Awaitable[Out]]", /) -> Activity[None, Out]: ...
    @overload
    def __call__(self, function: "Callable[[ActivityContext], Awaitable[Out]]", /) -> Activity[None, Out]: ...
    @overload
    def __call__(self, function: "Callable[[In, ActivityContext], Awaitable[Out]]", /) -> Activity[In, Out]: ...
    @overload
    def __call__(self, function: "Callable[[In], Awaitable[Out]]", /) -> Activity[In, Out]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, function: "Callable[[], Out]", /) -> Activity[None, Out]: ...
    @overload
    def __call__(self, function: "Callable[[ActivityContext], Out]", /) -> Activity[None, Out]: ...
    @overload
    def __call__(self, function: "Callable[[In, ActivityContext], Out]", /) -> Activity[In, Out]: ...
    @overload
    def __call__(self, function: "Callable[[In], Out]", /) -> Activity[In, Out]: ...
    def __call__(self, function: Any, /) -> Any:
        name, timeout, retry, limit, expose = self._about
        about = describe(function, name, "activity")
        timeout_ms = None if timeout is None else milliseconds("timeout", timeout)
        return Activity(**about, timeout_ms=timeout_ms, limit=limit, retry=retry, expose=expose)
