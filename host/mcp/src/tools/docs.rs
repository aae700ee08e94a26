//! The documentation.

use schemars::JsonSchema;
use segno_docs::{document_text, document_texts, find_passages};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    access::HostAccess,
    answer::ToolAnswer,
    failure::ToolFailure,
    similar::similar,
    tool::{HostTool, ToolEffect},
};

/// Maximum number of results of a search.
const RESULTS: usize = 10;
/// Default and maximum size of a part of a document, in bytes.
const PART_BYTES: [u32; 2] = [12_000, 40_000];

/// Arguments of `search_docs`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchDocs {
    /// Words to search for, for example `retry policy activity`.
    query: String,
}

/// Results of a search, best first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SearchOutput {
    results: Vec<DocsResult>,
}

/// A passage of a document.
#[derive(Debug, Serialize, JsonSchema)]
struct DocsResult {
    /// Name of the document, for `read_doc`.
    document: String,
    heading: String,
    excerpt: String,
}

impl HostTool for SearchDocs {
    type Output = SearchOutput;
    const NAME: &'static str = "search_docs";
    const TITLE: &'static str = "Search the documentation";
    const ABOUT: &'static str = "Searches the documentation of this version of Segno: SDKs in Rust, TypeScript and Python, rules of workflows, commands, the API, operation.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, _access: &HostAccess) -> Result<ToolAnswer<SearchOutput>, ToolFailure> {
        let results: Vec<DocsResult> = find_passages(&self.query)
            .into_iter()
            .take(RESULTS)
            .map(|found| DocsResult {
                document: found.document,
                heading: found.heading,
                excerpt: found.excerpt,
            })
            .collect();
        let line = |it: &DocsResult| format!("{} § {}: {}", it.document, it.heading, it.excerpt);
        let text = match results.is_empty() {
            true => "no page has these words".to_owned(),
            false => results.iter().map(line).collect::<Vec<_>>().join("\n"),
        };
        let first = results.first().map(|it| json!({"name": it.document, "heading": it.heading}));
        let answer = ToolAnswer::new(text, SearchOutput { results });
        Ok(match first {
            Some(first) => answer.then(ReadDoc::NAME, first, "the first result"),
            None => answer.then(ReadDoc::NAME, json!({"name": "pages"}), "the list of all pages"),
        })
    }
}

/// Arguments of `read_doc`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadDoc {
    /// Name of the document, for example `sdk`, `typescript`, `python`, `rules` or
    /// `reference/cli`; `pages` lists all.
    name: String,
    /// Heading to begin at.
    #[serde(default)]
    heading: Option<String>,
    /// Offset to begin at, in bytes.
    #[serde(default)]
    from: Option<u32>,
    /// Maximum size of the part (default 12000; at most 40000), in bytes.
    #[serde(default)]
    max_bytes: Option<u32>,
}

/// A part of a document.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DocOutput {
    name: String,
    title: String,
    /// Offset of the part.
    begins_at: usize,
    /// Size of the document.
    bytes: usize,
    /// The `from` of the next part; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<usize>,
    /// The part, as Markdown.
    markdown: String,
}

impl HostTool for ReadDoc {
    type Output = DocOutput;
    const NAME: &'static str = "read_doc";
    const TITLE: &'static str = "Read a document";
    const ABOUT: &'static str =
        "A page of the documentation as Markdown, from a heading or an offset on, in parts.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, _access: &HostAccess) -> Result<ToolAnswer<DocOutput>, ToolFailure> {
        let Some(document) = document_text(&self.name) else {
            let known = similar(&self.name, document_texts().map(|document| document.name));
            let like = match known.as_slice() {
                [] => String::new(),
                known => format!("; similar names: {}", known.join(", ")),
            };
            let message = format!("there is no document `{}`{like}", self.name);
            return Err(ToolFailure::new("unknown-document", message).then(
                Self::NAME,
                json!({"name": "pages"}),
                "the list of all pages",
            ));
        };
        let text = document.markdown;
        let heading = match &self.heading {
            Some(heading) => Some(offset(text, heading).ok_or_else(|| {
                let message = format!("`{}` has no heading `{heading}`", self.name);
                ToolFailure::new("unknown-heading", message).then(
                    Self::NAME,
                    json!({"name": self.name}),
                    "the document from its beginning",
                )
            })?),
            None => None,
        };
        let [usual, most] = PART_BYTES;
        let begin = self.from.map(|from| from as usize).or(heading).unwrap_or(0).min(text.len());
        let begin = text.floor_char_boundary(begin);
        let size = self.max_bytes.unwrap_or(usual).clamp(100, most) as usize;
        let end = text.floor_char_boundary((begin + size).min(text.len()));
        let from = (end < text.len()).then_some(end);
        let output = DocOutput {
            name: document.name,
            title: document.title.to_owned(),
            begins_at: begin,
            bytes: text.len(),
            from,
            markdown: text[begin..end].to_owned(),
        };
        let shown = output.markdown.clone();
        Ok(match from {
            Some(from) => {
                let arguments = json!({"name": self.name, "from": from});
                ToolAnswer::new(shown, output).then(Self::NAME, arguments, "the next part")
            }
            None => ToolAnswer::new(shown, output),
        })
    }
}

/// The offset of the line with this heading.
fn offset(markdown: &str, heading: &str) -> Option<usize> {
    let plain = |text: &str| text.replace(['`', '*'], "").trim().to_lowercase();
    let wanted = plain(heading);
    let mut at = 0;
    for line in markdown.split_inclusive('\n') {
        if line.starts_with('#') && plain(line.trim_start_matches('#')) == wanted {
            return Some(at);
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_heading_of_a_search_is_found_in_its_document() {
        for query in ["retry", "segno replay", "named promise", "lease"] {
            for found in find_passages(query) {
                let document = document_text(&found.document).expect("it exists");
                let at = offset(document.markdown, &found.heading);
                assert!(at.is_some(), "{}: {}", found.document, found.heading);
            }
        }
        assert_eq!(offset("# a\n", "b"), None);
    }
}
