//! Listings come page by page: the options that say how much is wanted, and the way through the pages.

use clap::Args;

use crate::{
    api::model::{
        InvocationPage, InvocationSummary, PromisePage, PromiseSummary, ScheduleList, ScheduleView,
        TaskPage, TaskView, TreeNode, TreePage,
    },
    client::ClientError,
};

use super::{Console, show::plain};

/// As much as a host puts on one page.
const LARGEST: u32 = 1000;

/// How much of a listing is wanted, as every command says it that lists.
#[derive(Debug, Args)]
pub struct Pages {
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Go on after this cursor, the `next` of a page before
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// All pages
    #[arg(long, conflicts_with = "after")]
    all: bool,
}

impl Pages {
    /// Every page there is.
    pub fn every() -> Self {
        Self { limit: LARGEST, after: None, all: true }
    }

    /// The first page only, of at most `limit`.
    pub fn first(limit: u32) -> Self {
        Self { limit, after: None, all: false }
    }

    /// What is wanted, as one page. `ask` is told after which cursor a page begins and how much it may hold.
    ///
    /// # Errors
    /// The first that `ask` meets.
    pub async fn read<P: Page>(
        self,
        ask: impl AsyncFn(Option<String>, u32) -> Result<P, ClientError>,
    ) -> Result<P, ClientError> {
        let limit = if self.all { LARGEST } else { self.limit };
        let mut page = ask(self.after, limit).await?;
        while self.all
            && let Some(next) = page.parts().1.take()
        {
            page.append(ask(Some(next), limit).await?);
        }
        Ok(page)
    }
}

/// One page of a listing, or several that follow each other.
pub trait Page {
    /// What is listed.
    type Item;

    /// What is on it, and the cursor of what follows.
    fn parts(&mut self) -> (&mut Vec<Self::Item>, &mut Option<String>);

    /// Adds the page that follows.
    fn append(&mut self, mut further: Self)
    where
        Self: Sized,
    {
        let (items, next) = self.parts();
        let (further_items, further_next) = further.parts();
        items.append(further_items);
        *next = further_next.take();
    }
}

impl Page for InvocationPage {
    type Item = InvocationSummary;

    fn parts(&mut self) -> (&mut Vec<Self::Item>, &mut Option<String>) {
        (&mut self.items, &mut self.next)
    }
}

impl Page for PromisePage {
    type Item = PromiseSummary;

    fn parts(&mut self) -> (&mut Vec<Self::Item>, &mut Option<String>) {
        (&mut self.items, &mut self.next)
    }
}

impl Page for TaskPage {
    type Item = TaskView;

    fn parts(&mut self) -> (&mut Vec<Self::Item>, &mut Option<String>) {
        (&mut self.items, &mut self.next)
    }
}

impl Page for ScheduleList {
    type Item = ScheduleView;

    fn parts(&mut self) -> (&mut Vec<Self::Item>, &mut Option<String>) {
        (&mut self.items, &mut self.next)
    }
}

impl Page for TreePage {
    type Item = TreeNode;

    fn parts(&mut self) -> (&mut Vec<Self::Item>, &mut Option<String>) {
        (&mut self.nodes, &mut self.next)
    }
}

/// Says how the listing goes on, if it does.
pub fn say_more(next: Option<&str>, console: &mut Console) {
    if let Some(next) = next {
        console.remark(&format!("there are more: add `--after {}`, or `--all`", plain(next)));
    }
}
