//! The contents of the site: the documents in the order of the navigation, the pictures, and the
//! sources that documents link to. A new document is added by one line here.

#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) name: &'static str,
    pub(crate) path: &'static str,
    pub(crate) markdown: &'static str,
}

/// A group of documents for one purpose.
#[derive(Debug)]
pub(crate) struct DocumentGroup {
    pub(crate) name: &'static str,
    /// The documents, in reading order.
    pub(crate) documents: &'static [Document],
}

/// A file that documents show or link to.
#[derive(Debug)]
pub(crate) struct SiteFile {
    pub(crate) path: &'static str,
    pub(crate) bytes: &'static [u8],
}

macro_rules! document {
    ($name:literal, $path:literal) => {
        Document {
            name: $name,
            path: $path,
            markdown: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $path)),
        }
    };
}

macro_rules! file {
    ($path:literal) => {
        SiteFile {
            path: $path,
            bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $path)),
        }
    };
}

pub(crate) static SECTIONS: [DocumentGroup; 6] = [
    DocumentGroup {
        name: "Begin",
        documents: &[
            document!("Overview", "README.md"),
            document!("Tutorial: a deployed change", "docs/tutorial.md"),
            document!("The same in TypeScript", "docs/tutorial-typescript.md"),
            document!("The same in Python", "docs/tutorial-python.md"),
            document!("Tutorial: a subscription", "docs/guide.md"),
            document!("How to", "docs/howto.md"),
        ],
    },
    DocumentGroup {
        name: "Write workflows",
        documents: &[
            document!("Functions in Rust", "docs/sdk.md"),
            document!("TypeScript and JavaScript", "docs/typescript.md"),
            document!("Python", "docs/python.md"),
            document!("JavaScript and Python", "docs/languages.md"),
            document!("Clients for programs", "docs/clients.md"),
            document!("The rules of a workflow", "docs/rules.md"),
            document!("Objects: state by key", "docs/objects.md"),
            document!("Queries and updates", "docs/queries.md"),
            document!("Limits", "docs/limits.md"),
            document!("Graphs", "docs/graphs.md"),
            document!("Verify a workflow", "docs/verify.md"),
            document!("Bundles", "docs/bundles.md"),
        ],
    },
    DocumentGroup {
        name: "Run a host",
        documents: &[
            document!("One machine", "docs/running.md"),
            document!("Looking after a store", "docs/operations.md"),
            document!("The console", "docs/console.md"),
            document!("Metrics, traces and logs", "docs/metrics.md"),
            document!("Several hosts", "docs/postgresql.md"),
            document!("Beyond one database", "docs/growing.md"),
        ],
    },
    DocumentGroup {
        name: "Other systems",
        documents: &[
            document!("Resonate applications", "docs/resonate.md"),
            document!("Restate services", "docs/restate.md"),
            document!("Components for Restate", "docs/restate-endpoint.md"),
        ],
    },
    DocumentGroup {
        name: "Reference",
        documents: &[
            document!("Command line", "docs/reference/cli.md"),
            document!("HTTP, by example", "docs/api.md"),
            document!("HTTP, route by route", "docs/reference/http.md"),
            document!("Rust SDK, item by item", "docs/reference/sdk.md"),
            document!("The guest contract", "docs/guest-contract.md"),
            document!("The contract in WIT", "docs/reference/wit.md"),
        ],
    },
    DocumentGroup {
        name: "Understand",
        documents: &[
            document!("Comparison", "docs/comparison.md"),
            document!("The engine", "docs/engine.md"),
            document!("Testing", "docs/testing.md"),
            document!("Measurements", "docs/bench.md"),
        ],
    },
];

/// The pictures that documents show.
pub(crate) static PICTURES: [SiteFile; 2] =
    [file!("docs/images/console-execution.png"), file!("docs/images/session.svg")];

/// The sources that documents link to; each has a page that shows it.
pub(crate) static SOURCES: [SiteFile; 29] = [
    file!("CONTRIBUTING.md"),
    file!("Dockerfile"),
    file!("LICENSE"),
    file!("SECURITY.md"),
    file!("examples/approval/src/lib.rs"),
    file!("examples/auction/src/lib.rs"),
    file!("examples/bank/src/lib.rs"),
    file!("examples/fan-out/src/lib.rs"),
    file!("examples/hello/src/lib.rs"),
    file!("examples/order/src/lib.rs"),
    file!("examples/other-languages/javascript/README.md"),
    file!("examples/other-languages/javascript/segno.js"),
    file!("examples/other-languages/javascript/workflow.js"),
    file!("examples/other-languages/python/README.md"),
    file!("examples/other-languages/python/app.py"),
    file!("examples/other-languages/python/segno.py"),
    file!("examples/other-languages/wat/README.md"),
    file!("examples/prices/src/lib.rs"),
    file!("examples/reminder/src/lib.rs"),
    file!("examples/reports/src/lib.rs"),
    file!("examples/signup/src/lib.rs"),
    file!("examples/subscription/src/lib.rs"),
    file!("examples/trip/src/lib.rs"),
    file!("guest-sdk/wit/segno.wit"),
    file!("host/build/src/script/runtime.js"),
    file!("host/build/src/script/runtime.py"),
    file!("sdks/conformance/README.md"),
    file!("tests/tests/crash.rs"),
    file!("tests/tests/peers.rs"),
];

/// The logo, shared with the console.
pub(crate) static LOGO: SiteFile = file!("host/console/assets/logo.svg");

pub(crate) static STYLE: SiteFile = file!("host/docs/assets/docs.css");

/// The search script of a site without a server.
pub(crate) static SCRIPT: SiteFile = file!("host/docs/assets/search.js");

/// All documents, in the order of the navigation.
pub(crate) fn documents() -> impl Iterator<Item = &'static Document> {
    SECTIONS.iter().flat_map(|section| section.documents)
}
