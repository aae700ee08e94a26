// The beginning: who asks, and which page is shown.

import { html, render, useEffect, useErrorBoundary, useLayoutEffect, useState } from './dom.js';
import { access, begin } from './api.js';
import { route } from './route.js';
import { Shell } from './shell.js';
import { Login } from './login.js';
import { Failed } from './parts.js';
import { Executions } from './pages/executions.js';
import { Execution } from './pages/execution.js';
import { Inbox } from './pages/inbox.js';
import { Promise_ } from './pages/promise.js';
import { Modules } from './pages/modules.js';
import { Module } from './pages/module.js';
import { Check } from './pages/check.js';
import { Compare } from './pages/compare.js';
import { Rerun } from './pages/rerun.js';
import { Start } from './pages/start.js';
import { Schedule } from './pages/schedule.js';
import { Schedules } from './pages/schedules.js';
import { Objects, ObjectPage } from './pages/objects.js';
import { Limits, LimitPage } from './pages/limits.js';
import { Events } from './pages/events.js';
import { Tasks } from './pages/tasks.js';
import { Host } from './pages/host.js';
import './theme.js';

function Page({ at: { parts, query } }) {
  const [name = 'executions', ...rest] = parts;
  const [id] = rest;
  switch (name) {
    case 'executions':
      return id === undefined ? html`<${Executions} query=${query} />` : html`<${Execution} key=${id} id=${id} tab=${rest[1]} query=${query} />`;
    case 'compare':
      return html`<${Compare} key=${rest.join('/')} left=${id ?? ''} right=${rest[1]} />`;
    case 'inbox':
      return html`<${Inbox} query=${query} />`;
    case 'promises':
      return html`<${Promise_} key=${id} id=${id ?? ''} />`;
    case 'modules':
      if (rest[1] === 'check') return html`<${Check} key=${rest.join('/')} name=${id} candidate=${rest[2]} />`;
      return id === undefined ? html`<${Modules} />` : html`<${Module} key=${id} name=${id} />`;
    case 'rerun':
      return html`<${Rerun} query=${query} />`;
    case 'start':
      return html`<${Start} key=${rest.join('/')} module=${id} name=${rest[1]} query=${query} />`;
    case 'schedules':
      return id === undefined ? html`<${Schedules} query=${query} />` : html`<${Schedule} key=${id} id=${id} />`;
    case 'objects':
      return rest.length < 3 ? html`<${Objects} query=${query} />` : html`<${ObjectPage} key=${rest.join('/')} module=${rest[0]} object=${rest[1]} of=${rest[2]} />`;
    case 'limits':
      return rest.length < 2 ? html`<${Limits} />` : html`<${LimitPage} key=${rest.join('/')} module=${rest[0]} name=${rest[1]} />`;
    case 'events':
      return html`<${Events} query=${query} />`;
    case 'tasks':
      return html`<${Tasks} query=${query} />`;
    case 'host':
      return html`<${Host} />`;
    default:
      return html`<h1>There is no such page</h1><p>The address may have been cut. <a href="/console/">All executions</a></p>`;
  }
}

/** A page that fails must not take the navigation with it. */
function Guarded({ at }) {
  const [error, reset] = useErrorBoundary((error) => console.error(error));
  useEffect(() => {
    if (error) reset();
  }, [at.at]);
  if (error) return html`<${Failed} error=${{ message: `This page failed: ${error.message}` }} />`;
  return html`<${Page} at=${at} />`;
}

function App() {
  const at = route.use();
  const entered = access.use();
  const [error, fail] = useState(null);
  useLayoutEffect(() => {
    const ask = async () => {
      try {
        await begin();
        fail(null);
      } catch (error) {
        fail(error);
        setTimeout(ask, 5000);
      }
    };
    ask();
  }, []);
  if (entered === 'unknown') return html`<main class="alone"><${Failed} error=${error} /></main>`;
  if (entered === 'out') return html`<${Login} />`;
  return html`<${Shell} at=${at}><${Guarded} at=${at} /><//>`;
}

const root = document.getElementById('app');
root.textContent = '';
render(html`<${App} />`, root);
