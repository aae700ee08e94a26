#!/usr/bin/env bash
# Everything about the package: types, programs, a project on a host, and the conformance programs. `SEGNO` is the host
# program.
set -euo pipefail
cd "$(dirname "$0")"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
npm test
cd ../conformance/typescript
npm ci --install-links=false --no-audit --no-fund --loglevel=error
../../typescript/node_modules/.bin/tsc -p .
node compare.mjs
