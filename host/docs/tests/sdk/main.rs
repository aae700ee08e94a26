//! Generates `docs/reference/sdk.md` from the public items of the SDK's source and compares it with
//! the file in the repository.
//!
//! `SEGNO_GOLDEN=write cargo test -p segno-docs --test sdk` writes the file.

mod page;
mod signature;
mod source;
mod words;

use std::{env, fs};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/sdk.md");

#[test]
fn the_items_of_the_sdk_are_described_as_they_are() {
    let made = page::page(&source::Source::read());
    if env::var("SEGNO_GOLDEN").is_ok_and(|mode| mode == "write") {
        fs::write(PAGE, made).expect("the folder can be written");
        return;
    }
    let kept = fs::read_to_string(PAGE).expect("there is a page");
    let other = kept.lines().zip(made.lines()).enumerate().find(|(_, (kept, made))| kept != made);
    assert!(
        kept == made,
        "docs/reference/sdk.md is not what the source says, from here on: {other:?}; \
         `SEGNO_GOLDEN=write cargo test -p segno-docs --test sdk` writes it"
    );
}
