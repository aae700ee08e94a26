// The budgets of a test: what executions draw on, and what is charged.

import { BUDGET_LABEL, type Budget, UNITS_MAX } from '../core/budget.js';
import type { CallRecord, Outcome } from '../core/engine.js';
import { failed } from '../core/execution.js';
import { Code, Failure } from '../core/failure.js';

/** Limit and use of a unit, in millionths. */
interface Allowance {
  limit: bigint;
  spent: bigint;
}

/** Maximum number of budgets that an execution draws on. */
const ACCOUNTS_MAX = 8;
/** The unit that the host counts: attempts of activities and requests. */
const CALLS = 'calls';
/** Millionths of one. */
const ONE = 1_000_000n;

/** The costs of one attempt. */
export class AttemptCosts {
  /** Millionths by unit. */
  readonly spent = new Map<string, bigint>();

  /** Adds to the amount of a unit. Throws the `Failure` with which a host would refuse it. */
  report(unit: string, millionths: number): void {
    const refused = (why: string) => new Failure(Code.BadInput, `the cost of \`${unit}\` is refused: ${why}`);
    if (unit === CALLS) throw refused(`\`${CALLS}\` is counted by the host and cannot be reported`);
    if (!this.spent.has(unit) && this.spent.size === UNITS_MAX) throw refused(`there are more than ${UNITS_MAX} units`);
    this.spent.set(unit, (this.spent.get(unit) ?? 0n) + BigInt(millionths));
  }
}

/** All budgets of a run. */
export class TestBudgets {
  /** Budgets by the executions that they belong to. */
  readonly #budgets = new Map<string, Map<string, Allowance>>();
  /** The executions whose budgets an execution draws on, the nearest first. */
  readonly #accounts = new Map<string, readonly string[]>();

  /** Notes what an execution draws on: its own budget, if its options name one, and those of its caller. */
  open(id: string, { labels }: Pick<CallRecord, 'labels'>, caller?: string): Outcome | undefined {
    // What undoes a step of a saga is done whatever it costs.
    const isFree = caller === undefined || (id.startsWith(caller) && /^(\/g\/\d+)?\/c\//.test(id.slice(caller.length)));
    const above = (isFree ? undefined : this.#accounts.get(caller)) ?? [];
    const limits = labels.find(([name]) => name === BUDGET_LABEL)?.[1];
    if (limits !== undefined && above.length === ACCOUNTS_MAX) {
      return failed(new Failure(Code.BadInput, `the budget of \`${id}\` is refused: it has ${ACCOUNTS_MAX} budgets above it already`));
    }
    this.#accounts.set(id, limits === undefined ? above : [id, ...above]);
    if (limits === undefined) return undefined;
    this.#budgets.set(id, new Map());
    this.set(id, limits);
    return undefined;
  }

  /** Sets limits of an execution's own budget. */
  set(id: string, limits: string): void {
    const budget = this.#own(id);
    for (const limit of limits.split(',')) {
      const [unit = '', amount = ''] = limit.split('=');
      budget.set(unit, { spent: 0n, ...budget.get(unit), limit: millionths(amount) });
    }
  }

  /** Counts an attempt before it begins. The failure of the call, if a budget has nothing left. */
  begin(id: string): Outcome | undefined {
    for (const account of this.#accounts.get(id) ?? []) {
      const spent = sorted(this.#own(account)).find(([, { limit, spent }]) => spent >= limit);
      if (spent === undefined) continue;
      const [unit, allowance] = spent;
      const message = `the budget of \`${account}\` is spent: ${decimal(allowance.spent)} of ${decimal(allowance.limit)} ${unit} are used; \`segno budget set ${account} ${unit}=…\` raises it`;
      return failed(new Failure(Code.BudgetSpent, message, { account, units: shown([spent]) }));
    }
    this.spend(id, new Map([[CALLS, ONE]]));
    return undefined;
  }

  /** Charges costs to all budgets that an execution draws on. */
  spend(id: string, costs: ReadonlyMap<string, bigint>): void {
    for (const account of this.#accounts.get(id) ?? []) {
      for (const [unit, allowance] of this.#own(account)) allowance.spent += costs.get(unit) ?? 0n;
    }
  }

  /** Of each unit the budget that has the least left. */
  least(id: string): Budget {
    const least = new Map<string, Allowance>();
    for (const [unit, allowance] of (this.#accounts.get(id) ?? []).flatMap((account) => [...this.#own(account)])) {
      const known = least.get(unit);
      if (known === undefined || left(allowance) < left(known)) least.set(unit, allowance);
    }
    return shown(sorted(least));
  }

  /** The budget of an execution. */
  of(id: string): Budget {
    return shown(sorted(this.#own(id)));
  }

  #own(id: string): Map<string, Allowance> {
    const found = this.#budgets.get(id);
    if (found !== undefined) return found;
    const known = [...this.#budgets.keys()].map((one) => `\`${one}\``).join(', ') || 'none';
    throw new Error(`\`${id}\` has no budget of its own; these have one: ${known}. Add \`{ budget: { calls: 10 } }\` to the options of the run or of the call`);
  }
}

function millionths(amount: string): bigint {
  const [whole, part = ''] = amount.split('.');
  return BigInt(`${whole}${part.padEnd(6, '0')}`);
}

function decimal(amount: bigint): string {
  const digits = String(amount).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/[.]?0+$/, '');
}

const left = ({ limit, spent }: Allowance): bigint => (spent < limit ? limit - spent : 0n);

const sorted = (units: Map<string, Allowance>): [string, Allowance][] => [...units].sort(([one], [other]) => (one < other ? -1 : 1));

function shown(units: [string, Allowance][]): Budget {
  const numbers = (allowance: Allowance) => ({
    limit: Number(decimal(allowance.limit)),
    spent: Number(decimal(allowance.spent)),
    remaining: Number(decimal(left(allowance))),
  });
  return Object.fromEntries(units.map(([unit, allowance]) => [unit, numbers(allowance)]));
}
