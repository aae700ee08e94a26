//! The contract of `wit/segno.wit` in Rust, generated. The other modules wrap it for authors.

wit_bindgen::generate!({
    path: "wit",
    world: "module",
    pub_export_macro: true,
    export_macro_name: "export_functions",
    default_bindings_module: "::segno::__private::bindings",
    additional_derives: [PartialEq],
});
