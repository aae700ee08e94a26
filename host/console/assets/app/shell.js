// What is around every page: the navigation, whether the host answers, light and dark.

import { classes, html, useEffect, useRef } from './dom.js';
import { access, logout, missing, reachable } from './api.js';
import { stream } from './live.js';
import { Logo } from './logo.js';
import { Link } from './route.js';
import { nextTheme, theme } from './theme.js';

const PAGES = [
  ['executions', 'Executions'],
  ['inbox', 'Inbox'],
  ['modules', 'Modules'],
  ['rerun', 'Rerun'],
  ['schedules', 'Schedules'],
  ['objects', 'Objects'],
  ['limits', 'Limits'],
  ['events', 'Events'],
  ['tasks', 'Workers'],
  ['host', 'Host'],
];

function Missing() {
  const addresses = missing.use().split('\n').filter(Boolean);
  return addresses.length > 0 && html`<div class="failed" role="alert"><strong>Lists are incomplete.</strong> What lies in these databases is left out, because they do not answer: ${addresses.map((address, at) => html`${at > 0 && ', '}<code>${address}</code>`)}</div>`;
}

function Connection() {
  const isReachable = reachable.use();
  const streams = stream.use();
  const [tone, words] = !isReachable
    ? ['bad', 'no answer']
    : streams === 'live'
      ? ['good', 'live']
      : streams === 'away'
        ? ['warn', 'not live']
        : ['wait', 'connecting'];
  const title = { bad: 'The host does not answer; it is asked again every few seconds', good: 'Changes are shown as they happen', warn: 'Changes are not told; what is shown is read again every 20 s', wait: 'Waiting for the stream of changes' }[tone];
  return html`<span class=${`state ${tone}`} role="status" title=${title}><i aria-hidden="true"></i>${words}</span>`;
}

export function Shell({ at, children }) {
  const chosen = theme.use();
  const entered = access.use();
  const isReachable = reachable.use();
  const here = { start: 'modules', promises: 'inbox', compare: 'executions' }[at.parts[0]] || at.parts[0] || 'executions';
  // In a narrow window the navigation is one line that scrolls. `scrollIntoView` would also let the first Tab begin there.
  const pages = useRef(null);
  useEffect(() => {
    const line = pages.current;
    const one = line?.querySelector('.here');
    if (!one) return;
    const offset = one.getBoundingClientRect().left - line.getBoundingClientRect().left;
    line.scrollLeft += offset - (line.clientWidth - one.offsetWidth) / 2;
  }, [here]);
  return html`
    <a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      document.getElementById('main').focus();
    }}>Skip to the content</a>
    <div class="shell">
      <aside>
        <${Link} to=${[]} class="brand" aria-label="Segno: executions"><${Logo} /> <span>Segno</span><//>
        <nav aria-label="Pages" ref=${pages}>
          ${PAGES.map(([name, title]) => html`<${Link} to=${name === 'executions' ? [] : [name]} class=${classes(here === name && 'here')} aria-current=${here === name ? 'page' : undefined}>${title}<//>`)}
        </nav>
        <div class="foot">
          <${Connection} />
          <a class="link" href="/docs/">docs</a>
          <button type="button" class="link" onClick=${nextTheme} title="Colours: as the system says, light, or dark"><span class="unseen">Colours: </span>${{ system: 'auto', light: 'light', dark: 'dark' }[chosen]}</button>
          ${entered === 'in' && html`<button type="button" class="link" onClick=${() => logout().catch(() => {})}>log out</button>`}
        </div>
      </aside>
      <main id="main" tabindex="-1" class=${classes(!isReachable && 'stale')}><${Missing} />${children}</main>
    </div>`;
}
