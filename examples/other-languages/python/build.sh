#!/usr/bin/env bash
# Builds build/app.wasm. Needs Python 3.10 with venv and pip.
set -euo pipefail
cd "$(dirname "$0")"
[ -x venv/bin/componentize-py ] || { python3 -m venv venv && venv/bin/pip install -q -r requirements.txt; }
mkdir -p build
venv/bin/componentize-py -q -d ../../../guest-sdk/wit -w module-with-descriptions componentize app -o build/app.wasm
ls -l build/app.wasm
