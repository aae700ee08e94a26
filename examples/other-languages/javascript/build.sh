#!/usr/bin/env bash
# Builds build/workflow.wasm with QuickJS. Needs Node 20 and npm.
set -euo pipefail
cd "$(dirname "$0")"
[ -d node_modules/componentize-qjs ] || npm install --no-audit --no-fund
mkdir -p build
npm run build
ls -l build/workflow.wasm
