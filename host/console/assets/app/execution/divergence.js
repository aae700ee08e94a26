// Where a replay leaves a journal, in words and field by field.

import { html } from '../dom.js';
import { Table } from '../parts.js';
import { Text } from '../text.js';
import { Frames } from './why.js';

/** `{message, fields, details}` of a replay that diverged. */
export function Divergence({ of: { message, fields, details } }) {
  return html`<p><${Text} text=${message} most=${3000} more /></p>
    <${Frames} place=${details} />
    ${details?.recorded_frames && html`<p>recorded by the earlier code at:</p><${Frames} place=${{ frames: details.recorded_frames }} />`}
    ${fields.length > 0 && html`<${Table} label="Fields" columns=${['Field', 'Recorded', 'Asked now']}>
      ${fields.map((field) => html`<tr><td><${Text} text=${field.field} /></td><td class="mono"><${Text} text=${field.recorded} more /></td><td class="mono"><${Text} text=${field.asked} more /></td></tr>`)}<//>`}`;
}
