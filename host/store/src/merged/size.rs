//! The disk usage of several databases.

use std::{cmp::Reverse, collections::BTreeMap};

use crate::{FunctionSize, ModuleSize, PartSize, SizeReport};

/// Adds up the reports of the databases. A tree lies in one database, and every database has a copy
/// of each module. Each report names its own largest functions, so the sum of a function that is
/// not among the largest everywhere is too small.
pub(super) fn sum(reports: Vec<SizeReport>, top: usize) -> SizeReport {
    let mut all = SizeReport::default();
    let mut parts: BTreeMap<String, PartSize> = BTreeMap::new();
    let mut modules: BTreeMap<String, ModuleSize> = BTreeMap::new();
    let mut functions: BTreeMap<String, FunctionSize> = BTreeMap::new();
    for report in reports {
        all.bytes += report.bytes;
        all.free_bytes += report.free_bytes;
        all.trees.extend(report.trees);
        for part in report.parts {
            let empty = || PartSize { name: part.name.clone(), rows: 0, bytes: 0 };
            let sum = parts.entry(part.name.clone()).or_insert_with(empty);
            sum.rows += part.rows;
            sum.bytes += part.bytes;
        }
        for function in report.functions {
            let target = function.target.clone();
            let empty = || FunctionSize { target: target.clone(), invocations: 0, bytes: 0 };
            let sum = functions.entry(function.target).or_insert_with(empty);
            sum.invocations += function.invocations;
            sum.bytes += function.bytes;
        }
        // The first database decides which aliases a module has.
        for module in report.modules {
            modules.entry(module.digest.clone()).or_insert(module);
        }
    }
    all.parts = parts.into_values().collect();
    all.parts.sort_by_key(|part| Reverse(part.bytes));
    all.trees.sort_by_key(|tree| Reverse(tree.bytes));
    all.trees.truncate(top);
    all.modules = modules.into_values().collect();
    all.modules.sort_by_key(|module| Reverse(module.bytes));
    all.modules.truncate(top);
    all.functions = functions.into_values().collect();
    all.functions.sort_by_key(|function| Reverse(function.bytes));
    all.functions.truncate(top);
    all
}
