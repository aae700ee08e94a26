//! The table of `docs/operating/bench.md` that compares systems, made from one recorded run of `segno bench`.

use std::fs;

use serde_json::Value as Json;
use tests::documents::repository;

use super::table::table;

const BEGIN: &str = "<!-- from figures.json -->\n";
const END: &str = "<!-- end of figures.json -->\n";

/// The columns: title, scenario of the record, and the end of the names of its figures.
const COLUMNS: [(&str, &str, &str); 5] = [
    ("Segno, wasm", "http", ""),
    ("Segno, service", "restate", ""),
    ("Restate's server, the same service", "restate", ", Restate's server"),
    ("Segno, wasm, on PostgreSQL", "dbos", ""),
    ("DBOS on PostgreSQL", "dbos", ", DBOS"),
];

/// A row: its title, its unit, and the names of the figure in the three scenarios. An empty name: the
/// scenario has no such figure.
struct FigureRow {
    title: &'static str,
    unit: &'static str,
    http: &'static str,
    restate: &'static str,
    dbos: &'static str,
}

const ROWS: [FigureRow; 11] = [
    same("no-op, 1 client, p50", "µs", "no-op, 1 client, p50"),
    same("no-op, 1 client, p99", "µs", "no-op, 1 client, p99"),
    FigureRow {
        http: "no-op, 64 clients",
        ..same("no-ops, 64 clients", "/s", "no-ops, 64 clients")
    },
    FigureRow {
        http: "no-op, 64 clients, CPU time of the host",
        ..same("CPU time of one", "µs", "CPU time of a no-op, 64 clients")
    },
    FigureRow {
        http: "3 `run` steps, 64 clients",
        ..same("three `run` steps, 64 clients", "/s", "three steps, 64 clients")
    },
    FigureRow {
        http: "3 `run` steps, 64 clients, CPU time of the host",
        ..same("CPU time of the three", "µs", "CPU time of three steps, 64 clients")
    },
    FigureRow {
        http: "a `run` step of 1000 in a row",
        restate: "a step of a long invocation",
        ..same("a `run` step of 1,000 in a row", "µs", "a step of a long workflow")
    },
    of_wasm("three activities, 64 clients", "/s", "3 activities, 64 clients"),
    of_wasm("CPU time of the three", "µs", "3 activities, 64 clients, CPU time of the host"),
    of_wasm("an activity of 1,000 in a row", "µs", "an activity of 1000 in a row"),
    FigureRow { http: "", ..same("memory after the work", "MB", "memory after the work") },
];

const fn same(title: &'static str, unit: &'static str, name: &'static str) -> FigureRow {
    FigureRow { title, unit, http: name, restate: name, dbos: name }
}

const fn of_wasm(title: &'static str, unit: &'static str, name: &'static str) -> FigureRow {
    FigureRow { title, unit, http: name, restate: "", dbos: "" }
}

impl FigureRow {
    fn name(&self, scenario: &str) -> &'static str {
        match scenario {
            "http" => self.http,
            "restate" => self.restate,
            _ => self.dbos,
        }
    }
}

/// The page, with the table of the recorded run.
pub(super) fn page() -> String {
    let folder = repository().join("docs/operating");
    let page = fs::read_to_string(folder.join("bench.md")).expect("there is a page");
    let record = fs::read(folder.join("figures.json")).expect("there is a record");
    let record: Json = serde_json::from_slice(&record).expect("a record is JSON");
    let (before, rest) = page.split_once(BEGIN).expect("the page says where the table begins");
    let (_, after) = rest.split_once(END).expect("the page says where the table ends");
    format!("{before}{BEGIN}{}{END}{after}", side_by_side(&record))
}

fn side_by_side(record: &Json) -> String {
    let conditions = &record["conditions"];
    let load = |name: &str| conditions[name].as_f64().expect("a load");
    let [first, second, third, fourth, fifth] = COLUMNS.map(|(title, ..)| title);
    let rows = ROWS.map(|row| {
        let cell = |column: usize| {
            let (_, scenario, end) = COLUMNS[column];
            match row.name(scenario) {
                "" => "–".to_owned(),
                name => figure(record, scenario, &format!("{name}{end}")),
            }
        };
        [format!("{}, {}", row.title, row.unit), cell(0), cell(1), cell(2), cell(3), cell(4)]
    });
    format!(
        "{} repetitions, median (least to greatest); {} × {}; load {:.1} before and {:.1} after.\n\n{}",
        conditions["repetitions"],
        conditions["cpus"],
        conditions["cpu"].as_str().expect("a processor"),
        load("load_before"),
        load("load_after"),
        table(["", first, second, third, fourth, fifth], &rows),
    )
}

/// The median, and the least and the greatest value.
fn figure(record: &Json, scenario: &str, name: &str) -> String {
    let sections = record["sections"].as_array().expect("a record has sections");
    let section = sections.iter().find(|section| section["scenario"] == scenario);
    let section = section.unwrap_or_else(|| panic!("the record has the scenario `{scenario}`"));
    let figures = section["figures"].as_array().expect("a section has figures");
    let figure = figures.iter().find(|figure| figure["name"] == name);
    let figure = figure.unwrap_or_else(|| panic!("`{scenario}` has the figure `{name}`"));
    let [median, min, max] =
        ["median", "min", "max"].map(|part| number(figure[part].as_f64().expect("a number")));
    format!("{median} ({min} to {max})")
}

/// At most three digits that count, with separators of thousands.
fn number(value: f64) -> String {
    match value {
        small if small < 10.0 => format!("{small:.1}"),
        large => {
            let unit = 10_f64.powi((large.log10().floor() as i32 - 2).max(0));
            let digits = format!("{:.0}", (large / unit).round() * unit);
            let mut text = String::new();
            for (at, digit) in digits.chars().enumerate() {
                if at > 0 && (digits.len() - at).is_multiple_of(3) {
                    text.push(',');
                }
                text.push(digit);
            }
            text
        }
    }
}
