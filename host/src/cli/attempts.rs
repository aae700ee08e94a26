//! The failed attempts of a workflow's steps, which its journal does not record.

use std::collections::BTreeMap;

use segno_api::model::{JournalRecord, RecordKind, TreeNode, TreeQuery};
use segno_client::Client;

use super::{CliError, Console, console::YELLOW, pages::PageOptions, show::failed_attempts};

/// Column at which journal lines name their record.
const INDENT: usize = 18;

/// The calls and HTTP steps of a workflow with failed attempts, by the index of their command.
#[derive(Default)]
pub(super) struct FailedAttempts(BTreeMap<u32, TreeNode>);

impl FailedAttempts {
    /// Reads the failed attempts of the invocation `id`.
    pub(super) async fn read(client: &Client, id: &str) -> Result<Self, CliError> {
        let ask = async |after, limit| {
            let query = TreeQuery { depth: Some(1), width: None, after, limit: Some(limit) };
            client.tree(id, &query).await
        };
        let tree = PageOptions::every().read(ask).await?;
        let steps = tree.nodes.into_iter().filter(|node| node.attempt > 0);
        let by_index = steps.filter_map(|node| {
            let index = node.id.strip_prefix(id)?.strip_prefix('/')?.parse().ok()?;
            Some((index, node))
        });
        Ok(Self(by_index.collect()))
    }

    /// Prints the failed attempts of the step that `record` begins, if there are any.
    pub(super) fn show(
        &self,
        record: &JournalRecord,
        console: &mut Console,
    ) -> Result<(), CliError> {
        let index = record.index.filter(|_| record.kind == RecordKind::Command);
        let Some(node) = index.and_then(|index| self.0.get(&index)) else { return Ok(()) };
        let error = node.attempt_error.as_ref().or(node.error.as_ref());
        let failed = failed_attempts(node.attempt, error.map(String::as_str));
        let Some(failed) = failed else { return Ok(()) };
        let line = console.paint(YELLOW, &failed);
        console.paragraph(&" ".repeat(INDENT), &line, INDENT)
    }
}
