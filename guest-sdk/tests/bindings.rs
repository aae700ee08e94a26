//! The Rust form of the contract, `src/bindings.rs`, is what `wit-bindgen` makes of
//! `wit/segno.wit`.
//!
//! It is committed, and not made by a macro, because the macro's dependencies were more than half
//! of what a new workflow crate had to compile.

use std::{env, fs, path::Path};

use wit_bindgen_core::{Files, WorldGenerator, wit_parser::Resolve};
use wit_bindgen_rust::Opts;

const HEAD: &str = "\
//! The contract of `wit/segno.wit` in Rust; the other modules wrap it for authors.
//!
//! Generated; `SEGNO_WRITE_BINDINGS=1 cargo test --package segno-sdk --test bindings` writes it anew.

";

/// The bindings of the world `module-with-descriptions` of the contract.
fn generate(wit: &Path) -> String {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit).expect("the contract is well formed");
    let world = resolve
        .select_world(&[package], Some("module-with-descriptions"))
        .expect("it has this world");
    let options = Opts {
        format: true,
        pub_export_macro: true,
        export_macro_name: Some("export_functions".to_owned()),
        default_bindings_module: Some("::segno::__private::bindings".to_owned()),
        additional_derive_attributes: vec!["PartialEq".to_owned()],
        ..Opts::default()
    };
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files).expect("it can be written in Rust");
    let (_, text) = files.iter().next().expect("the generator writes one file");
    HEAD.to_owned() + std::str::from_utf8(text).expect("Rust is text")
}

#[test]
fn the_bindings_are_those_of_the_contract() {
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR"));
    let generated = generate(&sdk.join("wit"));
    let path = sdk.join("src/bindings.rs");
    if env::var_os("SEGNO_WRITE_BINDINGS").is_some() {
        fs::write(&path, &generated).expect("the file can be written");
    }
    let committed = fs::read_to_string(&path).expect("the file is there");
    assert!(
        committed == generated,
        "`{}` is not what the generator makes of the contract: run this test with \
         `SEGNO_WRITE_BINDINGS=1`, and commit the file",
        path.display()
    );
}
