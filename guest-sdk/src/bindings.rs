//! The contract of `wit/segno.wit` as Rust, generated. What a person should use is wrapped in the other modules.

wit_bindgen::generate!({
    path: "wit",
    world: "module",
    pub_export_macro: true,
    export_macro_name: "export_functions",
    default_bindings_module: "::segno::__private::bindings",
    additional_derives: [PartialEq],
});
