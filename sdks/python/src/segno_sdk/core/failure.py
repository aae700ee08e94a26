"""Failures: outcomes that belong to the business, and the errors of a misused SDK."""

from typing import Any, Self

from .budget import BudgetUnit

BAD_INPUT = 400
BUDGET_SPENT = 402
FORBIDDEN = 403
NOT_FOUND = 404
TIMED_OUT = 408
CONFLICT = 409
REFUSED = 422
NOT_YET = 425
CANCELLED = 499
OTHER = 500


class Failure(Exception):
    """The failure of a function, a step or a promise.

    The code reads as in HTTP. A failed attempt of an activity is repeated, unless its code is final: 400 to 499, except
    408, 425 and 429. A workflow that raises a `Failure` ends with it. Any other exception in a workflow is a defect of
    the code: the execution halts, and can continue on corrected code.
    """

    code: int
    message: str
    details: Any

    def __new__(cls, code: int = OTHER, message: str = "", details: Any = None) -> Self:
        kind: Any = cls
        if cls is Failure and code == TIMED_OUT:
            kind = TimedOut
        elif cls is Failure and code == BUDGET_SPENT and _budget_of(details) is not None:
            kind = BudgetSpent
        make: Any = TimeoutError.__new__ if issubclass(kind, TimeoutError) else Exception.__new__
        made: Self = make(kind, code, message)
        return made

    def __init__(self, code: int, message: str, details: Any = None) -> None:
        if isinstance(code, bool) or not isinstance(code, int) or not 0 <= code <= 0xFFFF_FFFF:
            raise TypeError(
                f"the code of a Failure is {code!r}: write a number, such as Failure(422, 'the card was declined')"
            )
        super().__init__(message)
        self.code, self.message, self.details = code, str(message), details

    @property
    def is_final(self) -> bool:
        """True if another attempt of an activity would not be made."""
        return 400 <= self.code <= 499 and self.code not in (TIMED_OUT, NOT_YET, 429)

    @property
    def is_timed_out(self) -> bool:
        """True if a deadline passed (code 408)."""
        return self.code == TIMED_OUT

    @property
    def is_cancelled(self) -> bool:
        """True if what was awaited was cancelled (code 499)."""
        return self.code == CANCELLED

    def __str__(self) -> str:
        return f"{self.message} (code {self.code})"

    def __repr__(self) -> str:
        details = "" if self.details is None else f", {self.details!r}"
        return f"Failure({self.code}, {self.message!r}{details})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message, self.details)


class TimedOut(Failure, TimeoutError):
    """A `Failure` with code 408: a deadline passed. `except TimeoutError` catches it too."""

    def __init__(self, code: int = TIMED_OUT, message: str = "a deadline passed", details: Any = None) -> None:
        Failure.__init__(self, code, message, details)


class BudgetSpent(Failure):
    """A `Failure` with code 402: an attempt did not begin, since a budget has nothing left."""

    #: The id of the execution whose budget is spent.
    account: str
    #: Limit and use of the unit that is spent.
    units: dict[str, BudgetUnit]

    def __init__(self, code: int = BUDGET_SPENT, message: str = "a budget is spent", details: Any = None) -> None:
        Failure.__init__(self, code, message, details)
        told = _budget_of(details) or {"account": "", "units": {}}
        self.account = told["account"]
        self.units = {
            unit: BudgetUnit(*(float(about[name]) for name in _FIELDS)) for unit, about in told["units"].items()
        }


_FIELDS = ("limit", "spent", "remaining")


def _budget_of(details: Any) -> dict[str, Any] | None:
    """The details of a spent budget, also inside the report of a saga. None for any others."""
    told = details.get("details") if isinstance(details, dict) and isinstance(details.get("sagas"), list) else details
    if (
        not isinstance(told, dict)
        or not isinstance(told.get("account"), str)
        or not isinstance(told.get("units"), dict)
    ):
        return None
    return told if all(map(_is_unit, told["units"].values())) else None


def _is_unit(about: Any) -> bool:
    return isinstance(about, dict) and all(isinstance(about.get(name), int | float) for name in _FIELDS)


class NotAvailable(RuntimeError):
    """Something that does not exist where workflows and activities run. The message names the replacement.

    In an activity it is a failure with code 422, since another attempt would not help.
    """


class NotJson(TypeError):
    """A value that JSON does not have. The message begins with the place of the value."""


class NotDeterministic(AssertionError):
    """A workflow that does not repeat its journal. Raised by tests."""
