//! The inputs of nodes. Outputs are read according to their sizes, so that memory never contains
//! more of them than the input of one node may have.

use std::collections::BTreeSet;

use segno_core::id::PromiseId;
use segno_graph::NodeIndex;
use segno_store::PromiseSize;

use super::{ClaimedRun, PAGE, RunStop};
use crate::{
    claim::{ExecutionError, HaltReport},
    graph::{KEPT_OUTPUTS, MAX_INPUT, OutputParts},
};

/// Up to this number of promises is read without looking at their sizes.
const FEW: usize = 2;

impl ClaimedRun {
    /// Begins nodes until no more can begin. A sequential run stops when a node ends immediately,
    /// and the call returns true.
    pub(super) async fn fill(&mut self) -> Result<bool, RunStop> {
        loop {
            let nodes = self.coordinator.dispatch();
            if nodes.is_empty() {
                return Ok(false);
            }
            self.begin(&nodes).await?;
            self.session.active.advance(nodes.len() as u64);
            let has_ended = nodes.iter().any(|node| self.coordinator.has_ended(*node));
            if has_ended && self.coordinator.is_sequential() {
                return Ok(true);
            }
        }
    }

    async fn begin(&mut self, nodes: &[NodeIndex]) -> Result<(), RunStop> {
        let now = self.worker.now();
        let missing = self.coordinator.missing(nodes);
        if self.fits(&missing).await? {
            self.learn(missing).await?;
            return Ok(self.coordinator.begin(nodes, now)?);
        }
        for node in nodes {
            let missing = self.coordinator.missing(std::slice::from_ref(node));
            if self.fits(&missing).await? {
                self.learn(missing).await?;
                self.coordinator.begin(std::slice::from_ref(node), now)?;
            } else {
                self.begin_by_parts(*node).await?;
            }
            self.coordinator.trim();
        }
        Ok(())
    }

    /// Begins a node that reads more than is kept in memory. The outputs are read one after the
    /// other, and only the parts that the node takes are kept.
    async fn begin_by_parts(&mut self, node: NodeIndex) -> Result<(), RunStop> {
        let mut parts = OutputParts::default();
        let [condition, input] = self.coordinator.sources(node);
        self.take_parts(node, condition, &mut parts).await?;
        if self.coordinator.wanted(node, &parts)
            && let Some(size) = self.take_parts(node, input, &mut parts).await?
        {
            return Ok(self.coordinator.too_large(node, size)?);
        }
        Ok(self.coordinator.begin_with(node, &parts, self.worker.now())?)
    }

    /// Reads these parts. Returns their size if it exceeds the limit of an input.
    async fn take_parts(
        &mut self,
        node: NodeIndex,
        sources: Vec<(NodeIndex, PromiseId, Vec<String>)>,
        parts: &mut OutputParts,
    ) -> Result<Option<u64>, RunStop> {
        let ids: Vec<PromiseId> = sources.iter().map(|(_, id, _)| id.clone()).collect();
        let sizes = self.sizes(&ids).await?;
        let whole = sources.iter().zip(&sizes);
        let whole = whole.filter(|((_, _, pointers), _)| pointers.iter().any(String::is_empty));
        let whole: u64 = whole.map(|(_, size)| size.value).sum();
        if whole > MAX_INPUT {
            return Ok(Some(whole));
        }
        for ((source, id, pointers), size) in sources.iter().zip(sizes) {
            let pointers: Vec<&str> = pointers
                .iter()
                .map(String::as_str)
                .filter(|at| parts.get(*source, at).is_none())
                .collect();
            if pointers.is_empty() {
                continue;
            }
            let row = self.worker.promises(std::slice::from_ref(id)).await?.pop().flatten();
            let row = row.ok_or_else(|| damaged(id))?;
            let output = self.coordinator.output(&row.promise);
            parts.take(*source, &output, size.value, &pointers);
            self.session.active.advance(1);
            if parts.bytes() > MAX_INPUT {
                return Ok(Some(parts.bytes()));
            }
        }
        tracing::debug!(run = %self.id, ?node, bytes = parts.bytes(), "took parts of outputs");
        Ok(None)
    }

    /// True if these outputs may be in memory together.
    async fn fits(&self, ids: &BTreeSet<PromiseId>) -> Result<bool, RunStop> {
        if ids.len() <= 1 {
            return Ok(true);
        }
        let ids: Vec<PromiseId> = ids.iter().cloned().collect();
        let sizes = self.sizes(&ids).await?;
        Ok(sizes.iter().map(|size| size.value).sum::<u64>() <= KEPT_OUTPUTS as u64)
    }

    /// The total size of these outputs, in bytes.
    pub(super) async fn bytes_of(&self, ids: &BTreeSet<PromiseId>) -> Result<u64, RunStop> {
        let ids: Vec<PromiseId> = ids.iter().cloned().collect();
        Ok(self.sizes(&ids).await?.iter().map(|size| size.value).sum())
    }

    async fn sizes(&self, ids: &[PromiseId]) -> Result<Vec<PromiseSize>, RunStop> {
        let mut sizes = Vec::with_capacity(ids.len());
        for page in ids.chunks(PAGE) {
            let read = self.worker.host.store.read().promise_sizes(page).await;
            sizes.extend(read.map_err(ExecutionError::from)?);
        }
        Ok(sizes)
    }

    /// The promises in groups that are read together: many small ones, or a single large one.
    pub(super) async fn pages(&self, ids: &[PromiseId]) -> Result<Vec<Vec<PromiseId>>, RunStop> {
        if ids.len() <= FEW {
            return Ok(if ids.is_empty() { Vec::new() } else { vec![ids.to_vec()] });
        }
        let (mut pages, mut page, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (id, PromiseSize { param, value }) in ids.iter().zip(self.sizes(ids).await?) {
            let size = param + value;
            let is_full = page.len() >= PAGE || bytes + size > KEPT_OUTPUTS as u64;
            if is_full && !page.is_empty() {
                pages.push(std::mem::take(&mut page));
                bytes = 0;
            }
            page.push(id.clone());
            bytes += size;
        }
        pages.push(page);
        Ok(pages)
    }

    /// Reads outputs that were dropped from memory.
    pub(super) async fn learn(&mut self, missing: BTreeSet<PromiseId>) -> Result<(), RunStop> {
        let missing: Vec<PromiseId> = missing.into_iter().collect();
        for page in self.pages(&missing).await? {
            let rows = self.worker.promises(&page).await?;
            for (id, row) in page.iter().zip(rows) {
                let row = row.ok_or_else(|| damaged(id))?;
                self.coordinator.learn(&row.promise);
            }
        }
        Ok(())
    }
}

fn damaged(id: &PromiseId) -> RunStop {
    let message = format!("the run needs the output in `{id}`, which does not exist");
    ExecutionError::from(HaltReport::new("damaged", message)).into()
}
