// Budgets: how much an execution and everything below it may use, and the costs that activities report.

import type { AttemptEngine } from './engine.js';
import { Code, Failure } from './failure.js';

/** Limits by unit: `{ tokens: 20_000, usd: 1.5 }`. The host counts the unit `calls`; activities report all others. */
export type BudgetLimits = Readonly<Record<string, number>>;

/** Limit and use of a unit. */
export interface BudgetUnit {
  /** The most that may be used. */
  readonly limit: number;
  /** The amount used so far. It exceeds the limit by what the attempts in flight used. */
  readonly spent: number;
  /** The amount left, at least 0. */
  readonly remaining: number;
}

/** Limits and use by unit; empty without a budget. */
export type Budget = Readonly<Partial<Record<string, BudgetUnit>>>;

/** A budget that has nothing left: the details of a `Failure` 402. */
export interface SpentBudget {
  /** The id of the execution whose budget it is. */
  readonly account: string;
  /** The unit that is spent. */
  readonly units: Budget;
}

/** The function that answers what is left. */
export const BUDGET_FUNCTION = 'segno:budget';
/** The contract has a label for the budget of a call. */
export const BUDGET_LABEL = 'segno:budget';
/** Maximum number of units of a budget, and of an attempt's costs. */
export const UNITS_MAX = 16;
/** Largest limit of a unit. */
const LIMIT_MAX = 9_223_372_036_854;
/** Largest amount of one report: its millionths are a whole number that JavaScript has exactly. */
const COST_MAX = 9_007_199_254;

/** Limits in the form of the contract, `tokens=20000,usd=1.5`. Undefined if there are none. */
export function limitsText(budget: BudgetLimits): string | undefined {
  if (typeof budget !== 'object' || budget === null || Array.isArray(budget)) {
    throw new TypeError(`\`budget\` is ${String(budget)}, and has to be limits by unit, such as { tokens: 20_000 }`);
  }
  const units = Object.keys(budget).sort();
  if (units.length > UNITS_MAX) throw new RangeError(`\`budget\` has ${units.length} units, and ${UNITS_MAX} at most are possible`);
  const limits = units.map((unit) => {
    const fault = unitFault(unit) ?? amountFault(budget[unit], LIMIT_MAX);
    if (fault !== undefined) throw new RangeError(`the limit of \`${unit}\` in \`budget\` is refused: ${fault}`);
    return `${unit}=${places(budget[unit]!).replace(/[.]?0+$/, '')}`;
  });
  return units.length === 0 ? undefined : limits.join(',');
}

/** Reports a cost of an attempt. A fault is final: another attempt would have it again. */
export function reportCost(engine: Pick<AttemptEngine, 'reportCost'>, unit: string, amount: number): void {
  const fault = unitFault(unit) ?? amountFault(amount, COST_MAX);
  if (fault !== undefined) throw new Failure(Code.BadInput, `the cost of \`${String(unit)}\` is refused: ${fault}`);
  engine.reportCost(unit, Number(places(amount).replace('.', '')));
}

/** The number with six decimal places, rounded to the nearest. */
function places(amount: number): string {
  return amount.toFixed(6);
}

function unitFault(unit: unknown): string | undefined {
  if (typeof unit === 'string' && /^[A-Za-z0-9_.-]{1,64}$/.test(unit)) return undefined;
  return 'the name of a unit has 1 to 64 letters, digits, `-`, `_` and `.`';
}

function amountFault(amount: unknown, most: number): string | undefined {
  if (typeof amount === 'number' && amount >= 0 && amount <= most) return undefined;
  return `the amount is ${String(amount)}, and has to be a number from 0 to ${most}`;
}
