//! Merges the pages of several databases into one page of a list.

use std::cmp::Reverse;

use segno_core::{
    id::ObjectId, id::PromiseId, id::ScheduleId, limit::LimitName, promise::Schedule,
};

use crate::{
    InvocationRow, LimitRow, ObjectRow, Page, PromiseRow, SchedulePage, UnreadableEntity,
    limits::PAGE_BYTES, promise_filter,
};

/// A row of a list that is ordered by its cursor.
pub(super) trait ListedRow {
    type Cursor: Ord + Clone;

    fn cursor(&self) -> Self::Cursor;

    /// The cursor of a row of the list that cannot be read.
    fn cursor_of(unreadable: &UnreadableEntity) -> Self::Cursor;

    /// The bytes that count towards the size of a page.
    fn bytes(&self) -> usize {
        0
    }
}

impl ListedRow for InvocationRow {
    type Cursor = Reverse<i64>;

    fn cursor(&self) -> Self::Cursor {
        Reverse(self.number)
    }

    fn cursor_of(unreadable: &UnreadableEntity) -> Self::Cursor {
        Reverse(unreadable.number.unwrap_or(i64::MAX))
    }
}

impl ListedRow for PromiseRow {
    type Cursor = PromiseId;

    fn cursor(&self) -> PromiseId {
        self.promise.id().clone()
    }

    fn cursor_of(unreadable: &UnreadableEntity) -> PromiseId {
        PromiseId::from(unreadable.id.as_str())
    }

    fn bytes(&self) -> usize {
        promise_filter::page_bytes(&self.promise)
    }
}

impl ListedRow for ObjectRow {
    type Cursor = ObjectId;

    fn cursor(&self) -> ObjectId {
        self.object.clone()
    }

    fn cursor_of(unreadable: &UnreadableEntity) -> ObjectId {
        ObjectId::from(unreadable.id.as_str())
    }
}

impl ListedRow for LimitRow {
    type Cursor = LimitName;

    fn cursor(&self) -> LimitName {
        self.name.clone()
    }

    fn cursor_of(unreadable: &UnreadableEntity) -> LimitName {
        LimitName::from(unreadable.id.as_str())
    }
}

impl ListedRow for Schedule {
    type Cursor = ScheduleId;

    fn cursor(&self) -> ScheduleId {
        self.id.clone()
    }

    fn cursor_of(unreadable: &UnreadableEntity) -> ScheduleId {
        ScheduleId::new(unreadable.id.as_str())
    }
}

/// Merges pages that were read with the same cursor, each with `limit` rows unless its list has
/// fewer. The rows after the `next` of a page are unknown, so the merged page ends at the smallest
/// `next`.
pub(super) fn merged<T: ListedRow>(
    pages: Vec<Page<T, T::Cursor>>,
    limit: usize,
) -> Page<T, T::Cursor> {
    let end = pages.iter().filter_map(|page| page.next.as_ref()).min().cloned();
    let mut rows: Vec<(T::Cursor, Result<T, UnreadableEntity>)> = Vec::new();
    for page in pages {
        rows.extend(page.items.into_iter().map(|row| (row.cursor(), Ok(row))));
        rows.extend(page.unreadable.into_iter().map(|row| (T::cursor_of(&row), Err(row))));
    }
    rows.retain(|(cursor, _)| end.as_ref().is_none_or(|end| cursor <= end));
    rows.sort_by(|left, right| left.0.cmp(&right.0));
    // While the commit of a move is in doubt, both databases have the rows.
    rows.dedup_by(|row, before| row.0 == before.0 && row.1.is_ok() && before.1.is_ok());
    let mut page = Page { items: Vec::new(), unreadable: Vec::new(), next: end };
    let (mut taken, mut bytes, mut last) = (0, 0, None);
    for (cursor, row) in rows {
        if taken == limit || bytes >= PAGE_BYTES {
            page.next = last;
            break;
        }
        (taken, last) = (taken + 1, Some(cursor));
        match row {
            Ok(row) => {
                bytes += row.bytes();
                page.items.push(row);
            }
            Err(row) => page.unreadable.push(row),
        }
    }
    page
}

/// Merges pages of invocations, newest first.
pub(super) fn newest_first(pages: Vec<Page<InvocationRow>>, limit: usize) -> Page<InvocationRow> {
    let descending = pages.into_iter().map(|Page { items, unreadable, next }| Page {
        items,
        unreadable,
        next: next.map(Reverse),
    });
    let Page { items, unreadable, next } = merged(descending.collect(), limit);
    Page { items, unreadable, next: next.map(|Reverse(number)| number) }
}

/// Merges pages of schedules.
pub(super) fn schedules(pages: Vec<SchedulePage>, limit: usize) -> SchedulePage {
    let pages = pages.into_iter().map(|page| {
        let SchedulePage { items, unreadable, next } = page;
        Page { items, unreadable, next }
    });
    let Page { items, unreadable, next } = merged(pages.collect(), limit);
    SchedulePage { items, unreadable, next }
}
