// Where a replay leaves a journal, in words and field by field.

import { html } from '../dom.js';
import { Table } from '../parts.js';
import { Text } from '../text.js';

/** `{message, fields}` of a replay that diverged. */
export function Divergence({ of: { message, fields } }) {
  return html`<p><${Text} text=${message} most=${3000} more /></p>
    ${fields.length > 0 && html`<${Table} label="Fields" columns=${['Field', 'Recorded', 'Asked now']}>
      ${fields.map((field) => html`<tr><td><${Text} text=${field.field} /></td><td class="mono"><${Text} text=${field.recorded} more /></td><td class="mono"><${Text} text=${field.asked} more /></td></tr>`)}<//>`}`;
}
