#!/bin/sh
# Makes the bundles of a version, from executions in Rust, JavaScript and Python: tests/bundles/make.sh SEGNO FOLDER, where
# SEGNO is the command of that version and FOLDER is new. It is run once for a version and not by the suite, which replays
# what it made. JavaScript and Python need the tools that `segno build --prepare` fetches.
#
# A component in Python has twenty megabytes: its bundle is made without it, and the source stands beside, from which the
# suite builds it again.
set -eu
segno=$1 folder=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
mkdir "$folder"
folder=$(cd "$folder" && pwd)
export SEGNO_LISTEN=${SEGNO_LISTEN:-127.0.0.1:7789}
export SEGNO_SERVER=http://$SEGNO_LISTEN
"$segno" serve --data "$work/data" >"$work/log" 2>&1 &
host=$!
trap 'kill $host; rm -rf "$work"' EXIT
"$segno" ready --wait 60s

# Rust: a graph over durable steps, calls of activities, a sleep, and an object; and one node that waits, so that it is in
# flight.
"$segno" deploy "$root/host/bench/guest/bench.wasm" --as bench
cat >"$work/plan.toml" <<'PLAN'
[nodes.steps]
call = "steps"
input = { steps = 20, result_bytes = 100 }
[nodes.fan]
call = "fan"
input = { children = 3 }
needs = ["steps"]
[nodes.nap]
call = "nap"
input = { until_ms = 1 }
[nodes.turns]
call = "turns"
input = { steps = 2, turns = 1 }
needs = ["nap"]
PLAN
"$segno" graph run "$work/plan.toml" --module bench --id rust
sleep 3
"$segno" bundle rust --tree -o "$folder/rust.segno-bundle"

for language in javascript python; do
    cp -r "$root/examples/other-languages/$language" "$work/$language"
    "$segno" build "$work/$language" --prepare --out "$work/$language.wasm"
    "$segno" deploy "$work/$language.wasm" --as "$language"
    "$segno" call "$language/offer" '{"goods": ["apple", "cheese", "gold"], "pause_ms": 20}' --id "$language" --wait 120s
    if [ "$language" = python ]; then
        mkdir "$folder/python"
        (cd "$root/examples/other-languages/python" && cp app.py segno.py requirements.txt "$folder/python")
        "$segno" bundle python --tree --without-modules -o "$folder/python.segno-bundle"
    else
        "$segno" bundle "$language" --tree -o "$folder/$language.segno-bundle"
    fi
done
ls -l "$folder"
