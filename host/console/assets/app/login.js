// The login: the token is sent once, and a session stands for it from then on.

import { html, useEffect, useRef, useState } from './dom.js';
import { login } from './api.js';
import { Logo } from './logo.js';
import { Failed } from './parts.js';

export function Login() {
  const [token, setToken] = useState('');
  const [error, fail] = useState(null);
  const [busy, setBusy] = useState(false);
  const field = useRef(null);
  useEffect(() => {
    document.title = 'Log in · Segno';
    field.current.focus();
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await login(token.trim());
    } catch (error) {
      fail(error);
      setBusy(false);
      field.current?.select();
    }
  };
  return html`<main class="alone">
    <form class="login" onSubmit=${submit}>
      <div class="brand"><${Logo} /> <span>Segno</span></div>
      <h1>Log in</h1>
      <label class="field"><span class="label">Token of this host</span>
        <input ref=${field} type="password" autocomplete="current-password" required value=${token} onInput=${(event) => setToken(event.target.value)} aria-describedby="login-hint" />
        <span class="hint" id="login-hint">What the host was started with: <code>--token</code> or <code>SEGNO_TOKEN</code>; or a signed token that allows everything.</span>
      </label>
      <${Failed} error=${error && { message: error.status === 401 ? 'This host does not take that token.' : error.message }} />
      <button class="primary" type="submit" disabled=${busy || !token.trim()}>Log in</button>
    </form>
  </main>`;
}
