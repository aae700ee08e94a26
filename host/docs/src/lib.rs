//! The documentation as a site: HTML pages rendered from the documents of the repository.
//!
//! The documents are embedded in the binary and rendered when a page is first requested, so a build
//! needs no separate step, and the site matches the version that serves it. This crate knows
//! neither HTTP nor the host: it provides pages by address, a search, the files of a site without a
//! server, and the same documents as text for language models.
//!
//! All links within the site are relative, so the pages are the same below any address and in a folder.
//! Only the search differs: a host answers it, a folder has a script for it.

#![forbid(unsafe_code)]

mod contents;

mod address;
mod anchor;
mod code;
mod escape;
mod link;
mod markdown;
mod picture;

mod index;
mod query;
mod results;

mod layout;
mod missing;
mod site;

mod export;

mod document_list;
mod llms;

pub use document_list::{DocumentText, FoundPassage, document_text, document_texts, find_passages};
pub use export::export;
pub use llms::{LlmsLocation, llms, llms_file, llms_full};
pub use missing::missing;
pub use results::search;
pub use segno_asset::Asset;
pub use site::page;

/// The content security policy of a host's pages: they may load its style and pictures, and submit
/// the search. Scripts and inline styles are forbidden.
pub const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'none'";

#[cfg(test)]
mod tests;
