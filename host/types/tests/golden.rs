//! The files that are generated for one module with rich schemas, as they stand in `golden/`.
//! `SEGNO_GOLDEN=write` writes them anew. The suite `types` compiles them.

use std::{fs, path::Path};

use segno_model::ModuleDescription;
use segno_types::{TypesLanguage, TypesRequest, types_file, without_header};

fn generated(language: TypesLanguage) -> String {
    let description: ModuleDescription =
        serde_json::from_str(include_str!("golden/shop.json")).expect("a description");
    let digest = "0".repeat(64);
    let command = "segno types shop";
    types_file(
        &TypesRequest { module: "shop", digest: &digest, command, description: &description },
        language,
    )
}

fn compare(file: &str, language: TypesLanguage) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let text = generated(language);
    if std::env::var("SEGNO_GOLDEN").is_ok_and(|mode| mode == "write") {
        fs::write(&path, &text).expect("the file is written");
    }
    let golden = fs::read_to_string(&path).expect("the file is there");
    assert!(
        golden == text,
        "{file} differs; look at the change with SEGNO_GOLDEN=write and git diff"
    );
}

#[test]
fn typescript_is_as_it_was() {
    compare("shop.ts", TypesLanguage::TypeScript);
}

#[test]
fn python_is_as_it_was() {
    compare("shop_types.py", TypesLanguage::Python);
}

#[test]
fn rust_is_as_it_was() {
    compare("shop.rs", TypesLanguage::Rust);
}

#[test]
fn the_header_is_no_part_of_a_comparison() {
    let text = generated(TypesLanguage::TypeScript);
    let (header, body) = text.split_once("\n\n").expect("a header");
    assert!(header.contains("Digest: 0000") && header.ends_with("Command: segno types shop"));
    assert_eq!(without_header(&text), body);
}
