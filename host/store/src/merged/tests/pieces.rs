//! Pages that end before their limit, tasks in an order of their own, and cursors of scans.

use segno_core::{
    id::{PromiseId, Version},
    limit::{Limit, LimitName},
};

use crate::{
    LimitRow, Page, ReadyTask, UnreadableEntity,
    conformance::dice::Dice,
    merged::{page, scan::ScanCursor, work_queue},
};

/// A name, and what a listing does with its row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListedAs {
    Match,
    Other,
    Unreadable,
}

/// A page of at most `limit` rows, for which at most `examined` rows are read.
fn page_of(
    rows: &[(String, ListedAs)],
    after: Option<&LimitName>,
    limit: usize,
    examined: usize,
) -> Page<LimitRow, LimitName> {
    let mut page = Page { items: Vec::new(), unreadable: Vec::new(), next: None };
    let rest = rows.iter().filter(|(name, _)| after.is_none_or(|after| **name > *after.as_str()));
    let mut last = None;
    for (at, (name, listed)) in rest.enumerate() {
        if at == examined || page.items.len() + page.unreadable.len() == limit {
            page.next = last;
            return page;
        }
        let row = LimitName::from(name.as_str());
        last = Some(row.clone());
        match listed {
            ListedAs::Match => page.items.push(LimitRow { name: row, limit: Limit::default() }),
            ListedAs::Other => {}
            ListedAs::Unreadable => page.unreadable.push(UnreadableEntity {
                id: name.clone(),
                number: None,
                reason: String::new(),
            }),
        }
    }
    page
}

/// The rows after the end of a short page are unknown: no row is skipped, and none comes twice.
#[test]
fn a_merged_page_ends_where_its_first_page_ends() {
    let mut short = 0;
    for seed in 0..200 {
        let mut dice = Dice::new(seed);
        let mut members: Vec<Vec<(String, ListedAs)>> = vec![Vec::new(); 3];
        for n in 0..60 {
            let listed = match dice.roll(8) {
                0..3 => ListedAs::Match,
                3 => ListedAs::Unreadable,
                _ => ListedAs::Other,
            };
            members[dice.roll(3)].push((format!("name-{n:02}"), listed));
        }
        let mut expected: Vec<(String, ListedAs)> = members.concat();
        expected.retain(|(_, listed)| *listed != ListedAs::Other);
        expected.sort_by(|left, right| left.0.cmp(&right.0));
        let (limit, examined) = (1 + dice.roll(4), 1 + dice.roll(6));
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let pages = members.iter().map(|rows| page_of(rows, after.as_ref(), limit, examined));
            let page = page::merged(pages.collect(), limit);
            let read = page.items.iter().map(|row| (row.name.to_string(), ListedAs::Match));
            let damaged = page.unreadable.iter().map(|row| (row.id.clone(), ListedAs::Unreadable));
            let mut rows: Vec<_> = read.chain(damaged).collect();
            assert!(rows.len() <= limit);
            rows.sort_by(|left, right| left.0.cmp(&right.0));
            short += usize::from(rows.len() < limit && page.next.is_some());
            found.extend(rows);
            match page.next {
                Some(next) => {
                    assert!(after.is_none_or(|after| next > after), "the cursor does not move");
                    after = Some(next);
                }
                None => break,
            }
        }
        assert!(found == expected, "seed {seed}");
    }
    assert!(short > 50, "{short} pages were short");
}

fn task(cursor: i64) -> ReadyTask {
    let id = PromiseId::from(&*format!("task-{cursor}"));
    let (target, module) = ("wasm://m/f".to_owned(), "m".to_owned());
    ReadyTask { cursor, id, version: Version(1), target, module }
}

/// The order in which a database offers its tasks is kept. The last cursor covers all of them.
#[test]
fn ready_tasks_keep_the_order_of_their_database() {
    let pages = || {
        let pages = [vec![5, 1, 9, 12], vec![8, 4, 14, 20], vec![]];
        pages.map(|page| page.into_iter().map(task).collect()).to_vec()
    };
    let cursors = |limit| {
        let merged = work_queue::ready(pages(), limit).into_iter();
        merged.map(|task| task.cursor).collect::<Vec<_>>()
    };
    assert_eq!(cursors(4), [4, 5, 1, 8]);
    assert_eq!(cursors(1), [1]);
    assert_eq!(cursors(0), [0; 0]);
    assert_eq!(cursors(99), [5, 1, 8, 4, 9, 12, 14, 20]);
}

#[test]
fn a_cursor_of_a_scan_names_the_database() {
    let largest = (1 << 53) - 1;
    let mut cursor = 0;
    for database in 0..64 {
        let at = ScanCursor::of(cursor);
        for number in [1, 70_000, largest] {
            let next = at.next(Some(number), 64).expect("there are more");
            assert!(next > cursor, "a cursor grows");
            cursor = next;
            assert_eq!(ScanCursor::of(next).next(Some(number), 64), Some(next));
        }
        if database == 0 {
            assert_eq!(cursor, largest, "cursors of the first database are numbers");
        }
        match ScanCursor::of(cursor).next(None, 64) {
            Some(next) => cursor = next,
            None => assert_eq!(database, 63),
        }
    }
}
