//! Types and typed references for programs that call a module, as source text in TypeScript, Python
//! or Rust. They come from the JSON schemas and summaries of the module's description.
//!
//! [`reader`] turns schemas into a [`tree`] of types that belongs to no language, [`module`] does
//! it for all functions of a module, and one file for each language writes the tree. A type is
//! never narrower than its schema: the rest of the schema stands in a comment.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod circles;
mod names;
mod tree;

mod containers;
mod merge;
mod pointer;
mod reader;
mod remarks;
mod unify;

mod module;

mod python;
mod rust;
mod typescript;

use segno_model::ModuleDescription;

/// A language of generated types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypesLanguage {
    /// TypeScript 5 and newer.
    TypeScript,
    /// Python 3.11 and newer.
    Python,
    /// Rust with serde, serde_json and `segno-client`.
    Rust,
}

/// A module for which types are written.
#[derive(Debug, Clone, Copy)]
pub struct TypesRequest<'a> {
    /// The name by which the module is called.
    pub module: &'a str,
    /// The digest of the module, for the header.
    pub digest: &'a str,
    /// The command that repeats the output, for the header.
    pub command: &'a str,
    /// The functions of the module.
    pub description: &'a ModuleDescription,
}

/// The types and references as the text of one source file. The same request gives the same text.
pub fn types_file(request: &TypesRequest<'_>, language: TypesLanguage) -> String {
    let module = module::TypedModule::read(request.module, request.description);
    let (comment, body) = match language {
        TypesLanguage::TypeScript => ("//", typescript::written(&module)),
        TypesLanguage::Python => ("#", python::written(&module)),
        TypesLanguage::Rust => ("//", rust::written(&module)),
    };
    let TypesRequest { module, digest, command, .. } = request;
    let line = |text: &str| text.replace(['\n', '\r'], " ");
    format!(
        "{comment} Types of the Segno module `{}`; do not edit.\n\
         {comment} Digest: {}\n\
         {comment} Command: {}\n\n{body}",
        line(module),
        line(digest),
        line(command)
    )
}

/// The text of a generated file without its header. Two files with equal text have equal types:
/// the digest of a module also changes with its code.
pub fn without_header(file: &str) -> &str {
    file.split_once("\n\n").map_or(file, |(_, body)| body)
}
