//! The reference equals the code: `cli.md`, `http.md` and `wit.md` under `docs/reference` are
//! generated from the commands, the OpenAPI document and the contract, and compared with those in
//! the repository; so is a table of `docs/operating/bench.md`, from a recorded run. The tests of `segno-docs` generate the page of the SDK. This suite also runs the
//! tutorials.
//!
//! `SEGNO_GOLDEN=write cargo test -p tests reference::` writes the pages.

mod cli;
mod figures;
mod http;
mod table;
mod tutorial;
mod wit;

use std::{env, fs};

use tests::documents::repository;

/// Compares a page of `docs` with the one in the repository, or writes it.
fn is_in_the_repository(name: &str, made: &str) {
    let path = repository().join("docs").join(name);
    if env::var("SEGNO_GOLDEN").is_ok_and(|mode| mode == "write") {
        fs::write(&path, made).expect("the folder can be written");
        return;
    }
    let kept = fs::read_to_string(&path).expect("there is a page");
    let mut lines = kept.lines().zip(made.lines()).enumerate();
    let other = lines.find(|(_, (kept, made))| kept != made);
    assert!(
        kept == made,
        "docs/{name} is not what the code says, from here on: {other:?}; \
         `SEGNO_GOLDEN=write cargo test -p tests reference::` writes it"
    );
}

#[test]
fn the_commands_are_described_as_they_are() {
    is_in_the_repository("reference/cli.md", &cli::page());
}

#[test]
fn the_routes_are_described_as_they_are() {
    is_in_the_repository("reference/http.md", &http::page());
}

#[test]
fn the_contract_is_described_as_it_is() {
    is_in_the_repository("reference/wit.md", &wit::page());
}

#[test]
fn the_figures_of_several_systems_are_those_of_one_recorded_run() {
    is_in_the_repository("operating/bench.md", &figures::page());
}
