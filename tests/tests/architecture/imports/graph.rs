//! Import cycles ("circles") between files, and the imports whose removal breaks them best.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::{Path, PathBuf},
};

/// Files, and the names that they import from each other.
#[derive(Debug, Clone)]
pub(super) struct Graph {
    files: Vec<PathBuf>,
    /// The imported names, by importing and defining file.
    imports: BTreeMap<(usize, usize), BTreeSet<String>>,
}

/// Files that all import each other, directly or through other files: a strongly connected
/// component.
pub(super) type Circle = BTreeSet<usize>;

impl Graph {
    pub(super) fn new(files: &[PathBuf]) -> Self {
        Self { files: files.to_vec(), imports: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, from: usize, to: usize, name: String) {
        self.imports.entry((from, to)).or_default().insert(name);
    }

    /// The circles of two files or more, the largest first.
    pub(super) fn circles(&self) -> Vec<Circle> {
        let mut circles = Vec::new();
        let mut rest: Circle = self.imports.keys().map(|(from, _)| *from).collect();
        while let Some(file) = rest.first().copied() {
            let below = self.reached(file, |(from, to)| (from, to));
            let above = self.reached(file, |(from, to)| (to, from));
            let circle: Circle = below.intersection(&above).copied().collect();
            rest.retain(|file| !circle.contains(file));
            if circle.len() > 1 {
                circles.push(circle);
            }
        }
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }

    /// The file, and all files that it reaches along the imports in one direction.
    fn reached(&self, file: usize, direction: fn((usize, usize)) -> (usize, usize)) -> Circle {
        let mut next: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for edge in self.imports.keys() {
            let (from, to) = direction(*edge);
            next.entry(from).or_default().push(to);
        }
        let mut reached = Circle::from([file]);
        let mut open = vec![file];
        while let Some(file) = open.pop() {
            let found = next.get(&file).into_iter().flatten();
            open.extend(found.filter(|file| reached.insert(**file)));
        }
        reached
    }

    /// The imports inside a circle.
    fn inside(&self, circle: &Circle) -> Self {
        let mut inside = self.clone();
        inside.imports.retain(|(from, to), _| circle.contains(from) && circle.contains(to));
        inside
    }

    /// Describes a circle: its files and its imports. Imports whose removal leaves the smallest
    /// circle come first.
    pub(super) fn describe(&self, circle: &Circle, folder: &Path) -> String {
        let inside = self.inside(circle);
        let name = |file: usize| {
            let path = &self.files[file];
            path.strip_prefix(folder).unwrap_or(path).display().to_string()
        };
        let files: Vec<String> = circle.iter().map(|file| name(*file)).collect();
        let mut text = format!("{} files: {}\n", circle.len(), files.join(", "));
        let cuts = inside.imports.iter().map(|(edge, names)| {
            let mut without = inside.clone();
            without.imports.remove(edge);
            let left = without.circles().first().map_or(0, Circle::len);
            (left, *edge, names)
        });
        let mut cuts: Vec<_> = cuts.collect();
        cuts.sort();
        for (left, (from, to), names) in cuts {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let (from, to, names) = (name(from), name(to), names.join(", "));
            writeln!(text, "  {from} → {to}: {names} (without it: {left})")
                .expect("a text takes all");
        }
        text
    }
}
