// What an execution may use, and has used, of each unit.

import { html } from '../dom.js';
import { Table } from '../parts.js';
import { Id, Text } from '../text.js';

/** `budget` are the accounts that the execution draws on, the nearest first; `id` is the execution. */
export function Budget({ id, budget }) {
  const rows = budget.flatMap((account) => Object.entries(account.units).map(([unit, amounts]) => ({ account: account.id, unit, ...amounts })));
  return html`<section aria-label="Budget"><h2>Budget</h2>
    <${Table} columns=${['Of', 'Unit', { name: 'Limit', class: 'num' }, { name: 'Spent', class: 'num' }, { name: 'Left', class: 'num' }]} label="Budget">
      ${rows.map((row) => html`<tr key=${`${row.account} ${row.unit}`}>
        <td>${row.account === id ? 'this execution' : html`<${Id} id=${row.account} most=${50} />`}</td>
        <td><${Text} text=${row.unit} most=${64} /></td>
        <td class="num">${amount(row.limit)}</td>
        <td class="num">${amount(row.spent)}</td>
        <td class="num">${row.remaining > 0 ? amount(row.remaining) : html`<span class="warn">nothing</span>`}</td></tr>`)}
    <//></section>`;
}

const amount = (number) => number.toLocaleString(undefined, { maximumFractionDigits: 6 });
