// The sign to which the player goes back.

import { html } from './dom.js';

export const Logo = () => html`<svg class="logo" viewBox="0 0 32 32" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" aria-hidden="true">
  <path d="M21.5 9.2C20.6 6.6 18.6 5 16 5c-3 0-5.2 2-5.2 4.8 0 3 2.4 4.4 5.2 6.2s5.2 3.2 5.2 6.2C21.2 25 19 27 16 27c-2.6 0-4.6-1.6-5.5-4.2" />
  <path d="M7 26 25 6" /><circle cx="7.5" cy="13" r="1.9" fill="currentColor" stroke="none" /><circle cx="24.5" cy="19" r="1.9" fill="currentColor" stroke="none" />
</svg>`;
