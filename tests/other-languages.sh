#!/usr/bin/env bash
# The guest contract, tried with components that this repository's SDK has no part in: examples/other-languages is built with
# what npm and pip give, deployed to a real host, run, killed with SIGKILL in the middle, started again and replayed.
#
#   tests/other-languages.sh [javascript] [python]
#
# Not part of `cargo test`: it downloads compilers. What cannot be downloaded is skipped, visibly; with
# SEGNO_OTHER_LANGUAGES=required a skip fails. SEGNO is the binary to try; without it one is built.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
work="$(mktemp -d)"
host=""
failed=0

finish() {
  if [ -n "$host" ]; then kill -9 "$host" 2>/dev/null || true; wait "$host" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap finish EXIT

say() { printf '%s\n' "$*"; }
fail() { say "FAILED: $*"; exit 1; }
skip() {
  say "skipped: $*"
  if [ "${SEGNO_OTHER_LANGUAGES:-}" = required ]; then failed=1; fi
}

if [ -z "${SEGNO:-}" ]; then
  (cd "$root" && cargo build --release --locked)
  SEGNO="${CARGO_TARGET_DIR:-$root/target}/release/segno"
fi

# Starts the host on the data directory; a port is chosen the first time and kept.
up() {
  "$SEGNO" serve --data "$work/data" --listen "127.0.0.1:${port:-0}" >"$work/serve.out" 2>>"$work/serve.err" &
  host=$!
  for _ in $(seq 200); do
    SEGNO_SERVER="$(sed -n 's/.* listens on \(http[^ ]*\).*/\1/p' "$work/serve.out")"
    if [ -n "$SEGNO_SERVER" ] && "$SEGNO" --server "$SEGNO_SERVER" modules >/dev/null 2>&1; then
      export SEGNO_SERVER
      port="${SEGNO_SERVER##*:}"
      return
    fi
    kill -0 "$host" 2>/dev/null || break
    sleep 0.05
  done
  cat "$work/serve.err"
  fail "the host did not start"
}

kill_host() {
  kill -9 "$host"
  wait "$host" 2>/dev/null || true
  host=""
}

# try LANGUAGE COMPONENT: runs the offer of that language, once in peace and once through two kills.
try() {
  local name=$1 component=$2 input output
  "$SEGNO" deploy "$component" --as "$name"
  input='{"goods":["apple","plum","cheese"],"pause_ms":1500}'

  output="$("$SEGNO" --json call "$name/offer" "$input" --id "$name-calm")"
  grep -q '"total": *830' <<<"$output" || fail "$name: a calm run answered $output"
  grep -q '"plum"' <<<"$output" || fail "$name: the missing good was not reported: $output"
  "$SEGNO" replay "$name-calm" | tail -n 1 | grep '^identical' || fail "$name: the replay of a calm run differs"

  "$SEGNO" start "$name/offer" "$input" --id "$name-killed"
  kill_host # as early as can be
  up
  sleep 0.7
  kill_host # asleep, most likely
  up
  output="$("$SEGNO" --json result "$name-killed" --wait 60s)"
  grep -q '"total": *830' <<<"$output" || fail "$name: a killed run answered $output"
  "$SEGNO" replay "$name-killed" | tail -n 1 | grep '^identical' || fail "$name: the replay of a killed run differs"

  # Objects: calls of one basket take turns, also when they come at once and the host dies.
  for good in apple bread bread; do "$SEGNO" start "$name/Basket@ada/add" "\"$good\"" --id "$name-$good-$RANDOM"; done
  kill_host
  up
  output="$("$SEGNO" --json call "$name/Basket@ada/add" '"cheese"' --id "$name-last")"
  grep -q '"output": *4' <<<"$output" || fail "$name: the fourth good of the basket was answered by $output"
  output="$("$SEGNO" --json call "$name/Basket@ada/total" null --id "$name-total")"
  grep -q '"total": *1330' <<<"$output" || fail "$name: the basket costs $output"
  "$SEGNO" replay "$name-last" | tail -n 1 | grep '^identical' || fail "$name: the replay of an object's function differs"

  # One run a key: it waits for a promise of its object, also over a kill, and is there when it has ended.
  "$SEGNO" start "$name/Delivery@ada/deliver" '"Main Street"'
  kill_host
  up
  "$SEGNO" call "$name/Delivery@ada/sign" '"Eve"'
  output="$("$SEGNO" --json result "$name/Delivery@ada/deliver" --wait 60s)"
  grep -q '"by": *"Eve"' <<<"$output" || fail "$name: a delivery that was signed answered $output"
  output="$("$SEGNO" --json call "$name/Delivery@ada/status" null --id "$name-delivered")"
  grep -q '"by": *"Eve"' <<<"$output" || fail "$name: a delivery that has ended stands at $output"
  "$SEGNO" replay "$name/Delivery@ada/deliver" | tail -n 1 | grep '^identical' || fail "$name: the replay of a run differs"

  # Queries and updates: asked and told while it runs, also when the host dies after it accepted, and asked after the end.
  local told="$name-told"
  "$SEGNO" start "$name/offer" '{"goods":["apple","cheese"],"pause_ms":6000}' --id "$told"
  for _ in $(seq 100); do
    output="$("$SEGNO" query "$told" step 2>&1)" || true
    [ "$output" = '"waits"' ] && break
    sleep 0.05
  done
  [ "$output" = '"waits"' ] || fail "$name: an offer that waits says its step is $output"
  [ "$("$SEGNO" update "$told" discount 30)" = 30 ] || fail "$name: an update was not answered"
  if "$SEGNO" update "$told" discount 90 2>"$work/refusal"; then fail "$name: what is not affordable was accepted"; fi
  grep -q '30 off is enough' "$work/refusal" || fail "$name: the refusal does not say why: $(cat "$work/refusal")"
  "$SEGNO" update "$told" discount 20 --key again --accepted
  kill_host
  up
  [ "$("$SEGNO" update "$told" discount 20 --key again)" = 50 ] || fail "$name: an accepted update was not answered once"
  output="$("$SEGNO" --json result "$told" --wait 60s)"
  grep -q '"total": *780' <<<"$output" || fail "$name: an offer with 50 off came to $output"
  [ "$("$SEGNO" query "$told" step)" = '"is made"' ] || fail "$name: an offer that has ended does not answer"
  "$SEGNO" replay "$told" | tail -n 1 | grep '^identical' || fail "$name: the replay of a run with updates differs"

  # Input that does not fit the schema is refused before anything begins.
  if "$SEGNO" call "$name/offer" '{"goods":"apple"}' --id "$name-bad" 2>"$work/refusal"; then
    fail "$name: input that does not fit was accepted"
  fi
  grep -q 'goods' "$work/refusal" || fail "$name: the refusal does not say where: $(cat "$work/refusal")"
  say "passed: $name"
}

# build LANGUAGE: builds a copy of the example, so that the repository stays clean; fails if tools cannot be had.
build() {
  mkdir -p "$work/repository/examples/other-languages" "$work/repository/guest-sdk"
  cp -r "$root/guest-sdk/wit" "$work/repository/guest-sdk/"
  cp -r "$root/examples/other-languages/$1" "$work/repository/examples/other-languages/"
  "$work/repository/examples/other-languages/$1/build.sh" >"$work/$1.log" 2>&1
}

languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=(javascript python)
up
for language in "${languages[@]}"; do
  case "$language" in
    javascript) need=npm built=build/workflow.wasm tool=node_modules/componentize-qjs ;;
    python) need=python3 built=build/app.wasm tool=venv/bin/componentize-py ;;
    *) fail "there is no example in $language" ;;
  esac
  if ! command -v "$need" >/dev/null; then
    skip "$language: there is no $need"
  elif build "$language"; then
    try "$language" "$work/repository/examples/other-languages/$language/$built"
  elif [ -e "$work/repository/examples/other-languages/$language/$tool" ]; then
    cat "$work/$language.log"
    fail "$language: the example does not build"
  else
    skip "$language: its compiler cannot be installed here: $(tail -n 1 "$work/$language.log")"
  fi
done
exit "$failed"
