//! The repository contains the component. Without debug information it is half as large.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg-cdylib=--strip-debug");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
