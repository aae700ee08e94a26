"""Budgets: how much an execution and everything below it may use, and amounts of units."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal

#: An amount of a unit. It is rounded to six decimal places.
Amount = int | float | Decimal
#: Limits by unit: `{"tokens": 20_000, "usd": 1.5}`. The host counts the unit `calls`; activities report all others.
BudgetLimits = Mapping[str, Amount]

#: The function that answers what is left.
BUDGET_FUNCTION = "segno:budget"
#: The contract has no field for the budget of a call, but a label.
BUDGET_LABEL = "segno:budget"
#: Maximum number of units of a budget, and of an attempt's costs.
UNITS_MAX = 16
#: Largest amount of a unit.
AMOUNT_MAX = 9_223_372_036_854
_UNIT = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_MILLIONTH = Decimal("0.000001")
# Independent of the context that the author may have set.
_EXACT = Context(prec=40, rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class BudgetUnit:
    """Limit and use of a unit."""

    #: The most that may be used.
    limit: float
    #: The amount used so far. It exceeds the limit by what the attempts in flight used.
    spent: float
    #: The amount left, at least 0.
    remaining: float


def millionths(unit: str, amount: Amount) -> int:
    """The amount in millionths, rounded to the nearest. Raises a `ValueError` if a host would refuse it."""
    if not isinstance(unit, str) or _UNIT.fullmatch(unit) is None:
        raise ValueError(f"{unit!r} is no unit: its name has 1 to 64 letters, digits, '-', '_' and '.'")
    is_number = isinstance(amount, int | float | Decimal) and not isinstance(amount, bool)
    exact = Decimal(amount) if is_number else Decimal("NaN")
    if not exact.is_finite() or not 0 <= exact <= AMOUNT_MAX:
        raise ValueError(f"the amount of {unit!r} is {amount!r}: write a number from 0 to {AMOUNT_MAX}")
    return int(exact.quantize(_MILLIONTH, context=_EXACT).scaleb(6, _EXACT))


def decimal_text(millionths: int) -> str:
    """The amount as a plain decimal."""
    whole, part = divmod(millionths, 1_000_000)
    return f"{whole}.{part:06}".rstrip("0").rstrip(".")


def limits_text(budget: BudgetLimits) -> str | None:
    """Limits in the form of the contract, `tokens=20000,usd=1.5`. None if there are none."""
    if not isinstance(budget, Mapping):
        raise TypeError(f"budget is {budget!r}: write limits by unit, such as {{'tokens': 20_000}}")
    if len(budget) > UNITS_MAX:
        raise ValueError(f"budget has {len(budget)} units: at most {UNITS_MAX} are possible")
    limits = {unit: decimal_text(millionths(unit, amount)) for unit, amount in budget.items()}
    return ",".join(f"{unit}={limits[unit]}" for unit in sorted(limits)) or None
