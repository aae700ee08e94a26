//! The executions of a rerun, read piece by piece.

use segno_core::id::PromiseId;
use segno_store::InvocationFilter;

use super::{
    super::{
        Api, ApiError,
        invocations::{self, filter},
        model::{FunctionName, InvocationQuery, RerunFilter},
        page, view,
    },
    row::RerunSubject,
};

/// Number of executions read at first, so that a page can end after few of them.
const FIRST_READ: usize = 8;
/// Maximum number of executions read in one go, while few of them match.
const READ_MAX: usize = 500;

/// The executions of a request after the previous page.
pub(super) enum RerunSelection {
    /// Executions by id.
    Ids {
        ids: Vec<String>,
        /// Number of those that were read.
        read: usize,
    },
    /// Executions of the store.
    Filter(Box<FilteredSelection>),
}

/// The executions that match a filter.
pub(super) struct FilteredSelection {
    filter: InvocationFilter,
    /// Text in the failure, in lowercase.
    error: Option<String>,
    function: Option<FunctionName>,
    labels: Vec<(String, String)>,
    /// Number of executions to read next.
    count: usize,
    /// True if all were read.
    is_done: bool,
}

impl RerunSelection {
    /// # Errors
    /// The filter or the cursor is not valid, or ids are given in addition to a filter.
    pub(super) fn new(
        of: RerunFilter,
        ids: Option<Vec<String>>,
        after: Option<String>,
    ) -> Result<Self, ApiError> {
        if let Some(ids) = ids {
            if !of.is_empty() {
                let reason = "cannot be combined with `filter`: leave one of them out".to_owned();
                return Err(ApiError::BadField { field: "ids", reason });
            }
            let read = after.as_deref().map(page::cursor).transpose()?.unwrap_or_default();
            return Ok(Self::Ids { ids, read: usize::try_from(read).unwrap_or_default() });
        }
        let names_calls = of.function.is_some() || of.prefix.is_some();
        let labels: Vec<(String, String)> =
            of.labels.iter().map(|label| page::label(label)).collect::<Result<_, _>>()?;
        let query = InvocationQuery {
            module: of.function.as_ref().map(|function| function.module.clone()),
            function: of.function.as_ref().map(|function| function.name.clone()),
            state: of.state,
            prefix: of.prefix,
            label: of.labels.into_iter().next(),
            roots: Some(!names_calls),
            since_at_ms: of.since_at_ms,
            until_at_ms: of.until_at_ms,
            after,
            ..InvocationQuery::default()
        };
        let error = of.error.map(|error| error.to_lowercase());
        Ok(Self::Filter(Box::new(FilteredSelection {
            filter: filter(query)?,
            // A search reads on until it finds one.
            count: if error.is_some() { READ_MAX } else { FIRST_READ },
            error,
            function: of.function,
            labels,
            is_done: false,
        })))
    }

    /// Reads the next executions, at most `room`. There may be none before the last.
    pub(super) async fn read(
        &mut self,
        api: &Api,
        room: usize,
    ) -> Result<Vec<RerunSubject>, ApiError> {
        match self {
            Self::Ids { ids, read } => {
                let (from, to) = (*read, (*read + room.min(FIRST_READ)).min(ids.len()));
                let mut subjects = Vec::new();
                for id in ids.get(from..to).unwrap_or_default() {
                    subjects.push(named(api, id).await?);
                }
                *read = to.max(from);
                Ok(subjects)
            }
            Self::Filter(selection) => selection.read(api, room).await,
        }
    }

    /// The cursor after those that were read. `None` if all were read.
    pub(super) fn next(&self) -> Option<String> {
        match self {
            Self::Ids { ids, read } => (*read < ids.len()).then(|| read.to_string()),
            Self::Filter(selection) if selection.is_done => None,
            Self::Filter(selection) => selection.filter.after.map(|after| after.to_string()),
        }
    }
}

/// The execution that an id refers to.
async fn named(api: &Api, id: &str) -> Result<RerunSubject, ApiError> {
    let stored = api.generation(id.to_owned()).await?;
    let row = match api.invocation(&stored).await {
        Ok(row) => row,
        Err(error @ ApiError::UnknownInvocation(_)) => {
            return Ok(RerunSubject::missing(stored, error.to_string()));
        }
        Err(error) => return Err(error),
    };
    let task = row.task.as_ref().ok_or_else(|| ApiError::UnknownInvocation(id.to_owned()))?;
    Ok(RerunSubject::new(&row.promise, task))
}

impl FilteredSelection {
    async fn read(&mut self, api: &Api, room: usize) -> Result<Vec<RerunSubject>, ApiError> {
        self.filter.limit = u32::try_from(self.count.min(room)).unwrap_or(u32::MAX);
        let store = api.look().await?;
        let mut page = match &self.error {
            None => store.read().list(&self.filter).await?,
            Some(error) => invocations::with_error(&*store, &self.filter, error).await?,
        };
        drop(store);
        let count = page.items.len();
        page.items.retain(|row| {
            let target = row.promise.target().unwrap_or_default();
            let labels = view::labels(&row.promise.spec.tags);
            self.function.as_ref().is_none_or(|function| function.is_in(target))
                && self.labels.iter().all(|(name, value)| labels.get(name) == Some(value))
        });
        if page.items.len() < count / 2 {
            self.count = (self.count * 2).min(READ_MAX);
        }
        (self.is_done, self.filter.after) = (page.next.is_none(), page.next);
        let subjects = page.items.iter().map(|row| RerunSubject::new(&row.promise, &row.task));
        let unreadable = page.unreadable.into_iter().map(|row| {
            let reason = format!("it cannot be read: {}", row.reason);
            RerunSubject::missing(PromiseId::new(row.id), reason)
        });
        Ok(subjects.chain(unreadable).collect())
    }
}
