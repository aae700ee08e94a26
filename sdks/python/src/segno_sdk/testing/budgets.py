"""The budgets of a test: what executions draw on, and what is charged."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..core.budget import UNITS_MAX, BudgetUnit, decimal_text
from ..core.engine import FailureRecord
from ..core.failure import BAD_INPUT, BUDGET_SPENT, Failure

#: Maximum number of budgets that an execution draws on.
ACCOUNTS_MAX = 8
#: The unit that the host counts: attempts of activities and requests.
CALLS = "calls"


@dataclass
class Allowance:
    """Limit and use of a unit, in millionths."""

    limit: int
    spent: int = 0

    @property
    def remaining(self) -> int:
        """The amount left."""
        return max(0, self.limit - self.spent)

    def shown(self) -> dict[str, float]:
        """As JSON has it."""
        amounts = {"limit": self.limit, "spent": self.spent, "remaining": self.remaining}
        return {name: json.loads(decimal_text(amount)) for name, amount in amounts.items()}


class AttemptCosts:
    """The costs of one attempt."""

    def __init__(self) -> None:
        #: Millionths by unit.
        self.spent: dict[str, int] = {}

    def report(self, unit: str, amount: int) -> None:
        """Adds to the amount of a unit, in millionths. Raises the `Failure` with which a host would refuse it."""
        refused = f"the cost of {unit!r} is refused"
        if unit == CALLS:
            raise Failure(BAD_INPUT, f"{refused}: {CALLS!r} is counted by the host and cannot be reported")
        if unit not in self.spent and len(self.spent) == UNITS_MAX:
            raise Failure(BAD_INPUT, f"{refused}: there are more than {UNITS_MAX} units")
        self.spent[unit] = self.spent.get(unit, 0) + amount


class TestBudgets:
    """All budgets of a run."""

    __test__ = False

    def __init__(self) -> None:
        #: Budgets by the executions that they belong to.
        self._budgets: dict[str, dict[str, Allowance]] = {}
        #: The executions whose budgets an execution draws on, the nearest first.
        self._accounts: dict[str, tuple[str, ...]] = {}

    def open(self, id: str, limits: str | None, caller: str | None = None) -> FailureRecord | None:
        """Notes what an execution draws on: its own budget, if it has limits, and those of its caller."""
        above: tuple[str, ...] = ()
        # What undoes a step of a saga is done whatever it costs.
        if caller is not None and not re.match(rf"{re.escape(caller)}(/g/\d+)?/c/", id):
            above = self._accounts.get(caller, ())
        if limits is None:
            self._accounts[id] = above
            return None
        if len(above) == ACCOUNTS_MAX:
            why = f"it has {ACCOUNTS_MAX} budgets above it already"
            return FailureRecord(BAD_INPUT, f"the budget of `{id}` is refused: {why}")
        self._accounts[id] = (id, *above)
        self._budgets[id] = {}
        self.set(id, limits)
        return None

    def set(self, id: str, limits: str) -> None:
        """Sets limits of an execution's own budget."""
        budget = self._own(id)
        for limit in limits.split(","):
            unit, _, amount = limit.partition("=")
            whole, _, part = amount.partition(".")
            budget.setdefault(unit, Allowance(0)).limit = int(f"{whole}{part:0<6}")

    def begin(self, id: str) -> FailureRecord | None:
        """Counts an attempt before it begins. The failure of the call, if a budget has nothing left."""
        for account in self._accounts.get(id, ()):
            for unit, allowance in sorted(self._own(account).items()):
                if allowance.remaining == 0:
                    return _spent(account, unit, allowance)
        self.spend(id, {CALLS: 1_000_000})
        return None

    def spend(self, id: str, costs: Mapping[str, int]) -> None:
        """Charges costs to all budgets that an execution draws on."""
        for account in self._accounts.get(id, ()):
            for unit, allowance in self._own(account).items():
                allowance.spent += costs.get(unit, 0)

    def least(self, id: str) -> str:
        """What is left, as JSON: of several budgets with a unit, the one that has the least left."""
        least: dict[str, Allowance] = {}
        for account in self._accounts.get(id, ()):
            for unit, allowance in self._own(account).items():
                if unit not in least or allowance.remaining < least[unit].remaining:
                    least[unit] = allowance
        return json.dumps({unit: allowance.shown() for unit, allowance in sorted(least.items())})

    def of(self, id: str) -> dict[str, BudgetUnit]:
        """The budget of an execution."""
        budget = sorted(self._own(id).items())
        return {unit: BudgetUnit(*map(float, allowance.shown().values())) for unit, allowance in budget}

    def _own(self, id: str) -> dict[str, Allowance]:
        if id not in self._budgets:
            known = ", ".join(f"`{one}`" for one in self._budgets) or "none"
            raise LookupError(
                f"`{id}` has no budget of its own; these have one: {known}. Add budget={{'calls': 10}} to the run or the call"
            )
        return self._budgets[id]


def _spent(account: str, unit: str, allowance: Allowance) -> FailureRecord:
    used = f"{decimal_text(allowance.spent)} of {decimal_text(allowance.limit)} {unit} are used"
    message = f"the budget of `{account}` is spent: {used}; `segno budget set {account} {unit}=…` raises it"
    details = json.dumps({"account": account, "units": {unit: allowance.shown()}})
    return FailureRecord(BUDGET_SPENT, message, details)
