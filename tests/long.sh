#!/usr/bin/env bash
# The long forms of the suites, side by side: `tests/long.sh HOURS [LANES]`, such as `tests/long.sh 8`.
#
# Each suite has an equal part of the time. What each said is in target/long; a table of what was done and found comes at
# the end, and the exit code is 1 if any of them failed.
set -uo pipefail
cd "$(dirname "$0")/.."

hours="${1:?usage: tests/long.sh HOURS [LANES]}"
lanes="${2:-$(nproc)}"
suites=(agents simulation chaos chaos-three chaos-pooler chaos-strict soak wrong-host crossing fuzz api graphs snapshots defects)
# So many suites wait for each other in a lane.
seconds="$(awk -v hours="$hours" -v all="${#suites[@]}" -v lanes="$lanes" \
  'BEGIN { each = int(hours * 3600 * lanes / all); print each < 10 ? 10 : each }')"
export CARGO_TERM_COLOR=never
folder="$PWD/target/long"
mkdir -p "$folder"

cargo build --workspace --bins --locked || exit
cargo test --workspace --locked --no-run || exit

test_of() { cargo test --workspace --locked --test suites "$1" -- --nocapture; } # test_of FILTER
rounds() { # rounds COMMAND…: again and again with other seeds, until the time is over or one fails
  local end=$((SECONDS + seconds)) first="$RANDOM"
  while [ "$SECONDS" -lt "$end" ]; do
    SEGNO_FIRST_SEED=$((first * 100000)) SEGNO_SEED=$((first * 100000)) "$@" || return
    first=$((first + 1))
  done
}
suite() {
  case "$1" in
    agents) SEGNO_AGENTS=200 SEGNO_SECONDS="$seconds" test_of agent::many ;;
    simulation) SEGNO_SEEDS=1000 rounds test_of simulation::any_seed ;;
    chaos) target/debug/chaos --seconds "$seconds" ;;
    chaos-three) target/debug/chaos --seconds "$seconds" --hosts 3 ;;
    chaos-pooler) target/debug/chaos --seconds "$seconds" --hosts 3 --through pooler ;;
    chaos-strict) target/debug/chaos --seconds "$seconds" --hosts 3 --through strict ;;
    soak) target/debug/chaos --seconds "$seconds" --faults none --clients 64 ;;
    wrong-host) SEGNO_SECONDS="$seconds" SEGNO_SIGNALS=10000 test_of wrong_host:: ;;
    crossing) SEGNO_PAIRS=2000 rounds cargo test --workspace --locked --lib crossing -- --nocapture ;;
    fuzz) SEGNO_FUZZ=100000 rounds test_of fuzz:: ;;
    api) SEGNO_CLIENTS=1 SEGNO_SCHEMATHESIS="$seconds" test_of openapi:: ;;
    graphs) SEGNO_EVERY=1 test_of graph_crash:: ;;
    snapshots) SEGNO_EVERY=1 test_of snapshots:: ;;
    defects) cargo test --workspace --locked --test suites mutation:: -- --ignored --nocapture ;;
  esac
}
lane() {
  local number
  for ((number = $1; number < ${#suites[@]}; number += lanes)); do
    local name="${suites[$number]}" begun="$SECONDS"
    suite "$name" >"$folder/$name.log" 2>&1
    echo "$? $((SECONDS - begun))" >"$folder/$name.end"
  done
}

rm -f "$folder"/*.log "$folder"/*.end
for ((number = 0; number < lanes; number++)); do lane "$number" & done
wait

bad=0
printf '\n%-12s %-7s %9s  %s\n' suite result seconds 'what it did'
for name in "${suites[@]}"; do
  read -r code took <"$folder/$name.end"
  [ "$code" = 0 ] && result=passed || { result=FAILED; bad=1; }
  did="$(awk '/ seeds in | executions|findings|signals,| pairs|test result:/ { line = $0 } END { print line }' "$folder/$name.log")"
  printf '%-12s %-7s %9s  %s\n' "$name" "$result" "$took" "${did:0:90}"
done
[ "$bad" = 0 ] || echo "what failed is in $folder"
exit "$bad"
