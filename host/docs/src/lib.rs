//! The documentation as a site: pages for browsers, rendered from the documents of the repository.
//!
//! The documents are embedded in the binary and rendered when a page is first asked for, so a build
//! needs no step of its own, and the site is that of the version which serves it. This crate knows
//! neither HTTP nor the host: it has pages by address, a search, and the files of a site without a
//! server.
//!
//! All links within the site are relative, so the pages are the same below any address and in a folder.
//! Only the search differs: a host answers it, a folder has a script for it.

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

pub use export::export;
pub use missing::missing;
pub use results::search;
pub use segno_asset::Asset;
pub use site::page;

/// What the pages of a host may do: load its style and pictures, and send the search. They have no
/// scripts, and no styles within a page.
pub const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'none'";

#[cfg(test)]
mod tests;
