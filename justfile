# The common commands, for https://just.systems. Each is a plain command that can be typed instead.

# Lists the recipes.
default:
    @just --list --unsorted

# Type-checks one crate with its tests: the fastest answer.
quick crate="segno-core":
    cargo check -p {{ crate }} --all-targets

# Runs the tests of one crate, such as `just test segno-store postgres`.
test crate="segno-core" *filter:
    cargo test -p {{ crate }} {{ filter }}

# Runs one suite, such as `just suite crash`.
suite name filter="":
    cargo test -p tests {{ name }}::{{ filter }}

# Formatting and lints, as the gate has them.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings

# The gate: everything that has to pass before a merge. It may install Debian packages.
gate:
    .ci/run

# One seed of the simulation, with its whole log.
seed number:
    SEGNO_SEED={{ number }} cargo test -p tests simulation::one_seed -- --nocapture

# Many seeds of the simulation.
seeds count="100000" first="0":
    SEGNO_FIRST_SEED={{ first }} SEGNO_SEEDS={{ count }} cargo test -p tests simulation::any_seed -- --nocapture

# The long forms of the suites, for so many hours.
long hours="8":
    tests/long.sh {{ hours }}

# One target under AFL++, for so many seconds. Without a target: their names.
fuzz target="" seconds="600":
    fuzz/run {{ target }} {{ if target == "" { "" } else { seconds } }}

# Writes the pages that are made of the code: commands, routes, contract, SDK.
reference:
    SEGNO_GOLDEN=write cargo test -p tests reference::
    SEGNO_GOLDEN=write cargo test -p segno-docs --test sdk

# Writes the Rust form of the contract anew, after a change of the WIT.
bindings:
    SEGNO_WRITE_BINDINGS=1 cargo test -p segno-sdk --test bindings

# A host on ./segno-data, built from this checkout.
serve *options:
    cargo run -- serve {{ options }}

# The demo: twenty orders, a host that is killed, and a replay.
demo:
    cargo run -- demo

# Licences, advisories and sources of all dependencies; needs cargo-deny.
deny:
    cargo deny check

# The clients and packages, with the program that SEGNO names.
sdks:
    sdks/test
