//! Objects: executions of a few keys count, each in its turn. Whatever crashes, nothing is counted
//! twice, and nothing is lost between reading and writing.

use std::collections::BTreeMap;

use segno_core::{id::ObjectId, snapshot::Snapshot, value::Payload};

use crate::world::script::{Result, ScriptContext};

/// Name of the workflow.
pub(super) const FUNCTION: &str = "Tally/add";
/// Addresses at which it is called.
pub(super) const TARGETS: [&str; 2] = ["Tally@a/add", "Tally@b/add"];

/// Reads, does work that takes time, and writes two counters: of all executions, and of this one.
pub(super) async fn add(ctx: ScriptContext) -> Result {
    let mark = format!("by {}", ctx.context().invocation);
    let count = number(&ctx.done(ctx.get("count")).await?);
    let marked = number(&ctx.done(ctx.get(&mark)).await?);
    ctx.done(ctx.call("work", "1")).await?;
    ctx.set("count", &(count + 1).to_string());
    ctx.set(&mark, &(marked + 1).to_string());
    // The state is stored, and the execution still holds the key.
    ctx.done(ctx.sleep(200)).await?;
    Ok(ctx.input())
}

/// Violations in the state of the objects.
pub(super) fn end(rows: &Snapshot) -> Vec<String> {
    let mut objects: BTreeMap<&ObjectId, (u64, u64)> = BTreeMap::new();
    let tallies = rows.state.iter().filter(|((object, _), _)| object.as_str().contains("Tally@"));
    for ((object, name), value) in tallies {
        let Payload::Json(value) = value else { continue };
        let (count, marks) = objects.entry(object).or_default();
        match &**name {
            "count" => *count = number(value),
            _ => *marks += number(value),
        }
    }
    let wrong = objects.iter().filter(|(_, (count, marks))| count != marks);
    wrong
        .map(|(object, (count, marks))| {
            format!("object: {marks} have counted in `{object}`, and it says {count}")
        })
        .collect()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}
