// The view library: preact with its hooks, and htm, which reads templates without a compiler.

import { h } from '../vendor/preact.mjs';
import htm from '../vendor/htm.mjs';

export { Fragment, render } from '../vendor/preact.mjs';
export { useCallback, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState } from '../vendor/hooks.mjs';

export const html = htm.bind(h);

/** Class names, without those that are empty or false. */
export const classes = (...names) => names.filter(Boolean).join(' ');
