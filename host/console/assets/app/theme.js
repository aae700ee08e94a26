// Light or dark: as the system says, or as the reader chose.

import { shared } from './value.js';

const KEY = 'segno-theme';

function kept() {
  try {
    return localStorage.getItem(KEY) || 'system';
  } catch {
    return 'system';
  }
}

export const theme = shared(kept());

function apply(chosen) {
  if (chosen === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.setAttribute('data-theme', chosen);
}

apply(theme.get());
theme.watch((chosen) => {
  apply(chosen);
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // It holds for this tab then.
  }
});

/** From one to the next: system, light, dark. */
export const nextTheme = () => theme.set({ system: 'light', light: 'dark', dark: 'system' }[theme.get()]);
