//! The contents of the site: the documents in the order of the navigation, the pictures, and the
//! sources that documents link to. A new document is added by one line here and one in
//! `docs/README.md`.

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
        name: "Start",
        documents: &[
            document!("Overview", "README.md"),
            document!("All pages", "docs/README.md"),
            document!("Tutorial", "docs/start/tutorial.md"),
            document!("Tutorial in TypeScript", "docs/start/tutorial-typescript.md"),
            document!("Tutorial in Python", "docs/start/tutorial-python.md"),
            document!("Second tutorial: a subscription", "docs/start/guide.md"),
        ],
    },
    DocumentGroup {
        name: "Write workflows",
        documents: &[
            document!("How to", "docs/how-to/howto.md"),
            document!("Functions in Rust", "docs/how-to/sdk.md"),
            document!("TypeScript and JavaScript", "docs/how-to/typescript.md"),
            document!("Python", "docs/how-to/python.md"),
            document!("JavaScript and Python", "docs/how-to/languages.md"),
            document!("Objects: state by key", "docs/how-to/objects.md"),
            document!("Queries and updates", "docs/how-to/queries.md"),
            document!("Graphs", "docs/how-to/graphs.md"),
            document!("Verify a workflow", "docs/how-to/verify.md"),
            document!("Bundles", "docs/how-to/bundles.md"),
            document!("Clients for programs", "docs/how-to/clients.md"),
            document!("Streams", "docs/how-to/streams.md"),
            document!("Budgets", "docs/how-to/budgets.md"),
            document!("Blobs", "docs/how-to/blobs.md"),
            document!("Agents", "docs/how-to/agents.md"),
            document!("Coding assistants", "docs/how-to/mcp.md"),
        ],
    },
    DocumentGroup {
        name: "Other systems",
        documents: &[
            document!("Resonate applications", "docs/how-to/resonate.md"),
            document!("Restate services", "docs/how-to/restate.md"),
            document!("Components for Restate", "docs/how-to/restate-endpoint.md"),
        ],
    },
    DocumentGroup {
        name: "Concepts",
        documents: &[
            document!("The rules of a workflow", "docs/concepts/rules.md"),
            document!("Comparison", "docs/concepts/comparison.md"),
            document!("The engine", "docs/concepts/engine.md"),
            document!("Testing", "docs/concepts/testing.md"),
            document!("Beyond one database", "docs/concepts/growing.md"),
        ],
    },
    DocumentGroup {
        name: "Operating",
        documents: &[
            document!("One machine", "docs/operating/running.md"),
            document!("Looking after a store", "docs/operating/operations.md"),
            document!("Limits", "docs/operating/limits.md"),
            document!("The console", "docs/operating/console.md"),
            document!("Metrics, traces and logs", "docs/operating/metrics.md"),
            document!("Several hosts", "docs/operating/postgresql.md"),
            document!("Measurements", "docs/operating/bench.md"),
        ],
    },
    DocumentGroup {
        name: "Reference",
        documents: &[
            document!("Command line", "docs/reference/cli.md"),
            document!("HTTP, by example", "docs/reference/api.md"),
            document!("HTTP, route by route", "docs/reference/http.md"),
            document!("Rust SDK, item by item", "docs/reference/sdk.md"),
            document!("The guest contract", "docs/reference/guest-contract.md"),
            document!("The contract in WIT", "docs/reference/wit.md"),
        ],
    },
];

/// The pictures that documents show.
pub(crate) static PICTURES: [SiteFile; 2] =
    [file!("docs/images/console-execution.png"), file!("docs/images/session.svg")];

/// The sources that documents link to; each has a page that shows it.
pub(crate) static SOURCES: [SiteFile; 38] = [
    file!("CONTRIBUTING.md"),
    file!("Dockerfile"),
    file!("LICENSE"),
    file!("SECURITY.md"),
    file!("examples/agent/README.md"),
    file!("examples/agent/python/app.py"),
    file!("examples/agent/src/lib.rs"),
    file!("examples/agent/typescript/src/index.ts"),
    file!("examples/approval/src/lib.rs"),
    file!("examples/auction/src/lib.rs"),
    file!("examples/bank/src/lib.rs"),
    file!("examples/fan-out/src/lib.rs"),
    file!("examples/hello/src/lib.rs"),
    file!("examples/order/README.md"),
    file!("examples/order/python/app.py"),
    file!("examples/order/src/lib.rs"),
    file!("examples/order/typescript/src/index.ts"),
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
    file!("tests/tests/patroni.rs"),
    file!("tests/tests/chaos.rs"),
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
