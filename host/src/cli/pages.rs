//! Paged listings: the options for page size, and the loop over pages.

use segno_api::model::{
    InvocationPage, InvocationSummary, LimitItem, LimitKey, LimitList, LimitView, ObjectItem,
    ObjectList, PromisePage, PromiseSummary, RerunPage, RerunRow, ScheduleList, ScheduleView,
    TaskPage, TaskView, TreeNode, TreePage, UnreadableRow,
};
use segno_client::{ClientError, without_missing};

use super::{
    Console,
    show::plain,
    table::{TextCell, TextTable},
};
use clap::Args;

/// Maximum number of items on a host's page.
const LARGEST: u32 = 1000;

/// The paging options of every listing command.
#[derive(Debug, Args)]
pub(super) struct PageOptions {
    /// Maximum number of items
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Cursor to continue after: the `next` of an earlier page
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// Print all pages
    #[arg(long, conflicts_with = "after")]
    all: bool,
}

impl PageOptions {
    /// Options for all pages.
    pub(super) fn every() -> Self {
        Self { limit: LARGEST, after: None, all: true }
    }

    /// Options for the first page only, with at most `limit` items.
    pub(super) fn first(limit: u32) -> Self {
        Self { limit, after: None, all: false }
    }

    /// Returns true if all pages are requested.
    pub(super) fn is_all(&self) -> bool {
        self.all
    }

    /// Like [`read`](Self::read), of a list that leaves out the databases that do not answer if it is
    /// refused because of them. `ask` receives the query's `partial` too.
    ///
    /// # Errors
    /// The first error of `ask`.
    pub(super) async fn read_present<P: ListPage>(
        self,
        ask: impl AsyncFn(Option<String>, u32, Option<bool>) -> Result<P, ClientError>,
    ) -> Result<P, ClientError> {
        self.read(async |after: Option<String>, limit| {
            without_missing(|partial| ask(after.clone(), limit, partial)).await
        })
        .await
    }

    /// Reads the requested pages and joins them. `ask` receives the cursor and the maximum size of
    /// a page.
    ///
    /// # Errors
    /// The first error of `ask`.
    pub(super) async fn read<P: ListPage>(
        self,
        ask: impl AsyncFn(Option<String>, u32) -> Result<P, ClientError>,
    ) -> Result<P, ClientError> {
        let limit = if self.all { LARGEST } else { self.limit };
        let mut page = ask(self.after, limit).await?;
        // A host reads a limited number of rows per page: a page may be short or empty without
        // being the last.
        loop {
            let count = u32::try_from(page.items().len()).unwrap_or(u32::MAX);
            let missing = limit.saturating_sub(count);
            let wanted = if self.all { limit } else { missing };
            if wanted == 0 {
                return Ok(page);
            }
            let Some(next) = page.next().map(str::to_owned) else { return Ok(page) };
            page.append(ask(Some(next), wanted).await?);
        }
    }
}

/// One page of a listing, or several consecutive ones.
pub(super) trait ListPage {
    /// The type of an item.
    type Item;

    fn items(&self) -> &[Self::Item];

    /// The cursor of the next page.
    fn next(&self) -> Option<&str>;

    /// The unreadable rows of the page, if the listing reports them.
    fn unreadable(&self) -> &[UnreadableRow] {
        &[]
    }

    /// The addresses of the databases whose rows are left out, if the listing reports them.
    fn missing(&self) -> &[String] {
        &[]
    }

    /// Appends the next page.
    fn append(&mut self, further: Self);
}

macro_rules! list_pages {
    ($($page:ty: $items:ident of $item:ty $(, $missing:ident $(, $unreadable:ident)?)?;)*) => {$(
        impl ListPage for $page {
            type Item = $item;

            fn items(&self) -> &[$item] {
                &self.$items
            }

            fn next(&self) -> Option<&str> {
                self.next.as_deref()
            }

            $(fn missing(&self) -> &[String] {
                &self.$missing
            }

            $(fn unreadable(&self) -> &[UnreadableRow] {
                &self.$unreadable
            })?)?

            fn append(&mut self, further: Self) {
                self.$items.extend(further.$items);
                self.next = further.next;
                $(
                    self.$missing.extend(further.$missing);
                    self.$missing.sort();
                    self.$missing.dedup();
                    $(self.$unreadable.extend(further.$unreadable);)?
                )?
            }
        }
    )*};
}

list_pages! {
    InvocationPage: items of InvocationSummary, missing, unreadable;
    PromisePage: items of PromiseSummary, missing, unreadable;
    TaskPage: items of TaskView, missing, unreadable;
    ScheduleList: items of ScheduleView, missing, unreadable;
    ObjectList: items of ObjectItem, missing;
    LimitList: items of LimitItem, missing;
    LimitView: keys of LimitKey;
    TreePage: nodes of TreeNode;
    RerunPage: items of RerunRow;
}

/// Adds unreadable rows to a table whose column `column` has the state.
pub(super) fn show_unreadable(rows: &[UnreadableRow], column: usize, table: &mut TextTable) {
    for row in rows {
        let blanks = std::iter::repeat_with(|| TextCell::from("-")).take(column.saturating_sub(1));
        let state = TextCell::from("unreadable");
        table.row([TextCell::from(plain(&row.id))].into_iter().chain(blanks).chain([state]));
    }
}

/// Prints the reasons for which rows cannot be read.
pub(super) fn say_unreadable(rows: &[UnreadableRow], console: &mut Console) {
    for row in rows {
        console.remark(&format!("{}: {}", plain(&row.id), plain(&row.reason)));
    }
}

/// Prints which databases are left out.
pub(super) fn say_missing(missing: &[String], console: &mut Console) {
    for address in missing {
        console.warn(&format!(
            "{} does not answer: what lies in this database is not listed",
            plain(address)
        ));
    }
}

/// Prints how to continue the listing, if there are more pages.
pub(super) fn say_more(next: Option<&str>, console: &mut Console) {
    if let Some(next) = next {
        console.remark(&format!("there are more: add `--after {}`, or `--all`", plain(next)));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Reads a listing whose pages have these ids.
    async fn read(
        pages: PageOptions,
        listing: &[&[&str]],
    ) -> (Vec<String>, Option<String>, Vec<u32>) {
        let asked = RefCell::new(Vec::new());
        let ask = async |after: Option<String>, limit| {
            asked.borrow_mut().push(limit);
            let place = after.map_or(0, |after| after.parse::<usize>().expect("a number"));
            let line = |id: &&str| {
                serde_json::json!({
                    "id": id, "state": "pending", "tags": {}, "created_at_ms": 0
                })
            };
            let items: Vec<_> = listing[place].iter().map(line).collect();
            let next = (place + 1 < listing.len()).then(|| (place + 1).to_string());
            let page = serde_json::json!({ "items": items, "next": next });
            Ok(serde_json::from_value::<PromisePage>(page).expect("a page"))
        };
        let page = pages.read(ask).await.expect("it is read");
        let ids = page.items.into_iter().map(|item| item.id).collect();
        (ids, page.next, asked.into_inner())
    }

    #[tokio::test]
    async fn short_pages_are_gone_through_until_there_is_enough() {
        let listing: &[&[&str]] = &[&[], &["a"], &[], &["b", "c"], &["d"]];
        let (ids, next, asked) = read(PageOptions::first(3), listing).await;
        assert_eq!(ids, ["a", "b", "c"]);
        assert_eq!((next.as_deref(), asked), (Some("4"), vec![3, 3, 2, 2]));
        let (ids, next, _) = read(PageOptions::every(), listing).await;
        assert_eq!((ids.join(""), next), ("abcd".to_owned(), None));
        assert_eq!(read(PageOptions::first(9), &[&[]]).await.0.len(), 0);
    }
}
