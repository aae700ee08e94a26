//! Reduction to the shortest script that still fails.

use super::script::ScriptOperation;

/// Removes operations, large pieces first, as long as the rest still fails. Runs at most `attempts`
/// scripts.
pub(super) async fn shortened(
    script: Vec<ScriptOperation>,
    mut attempts: usize,
    fails: impl AsyncFn(&[ScriptOperation]) -> bool,
) -> Vec<ScriptOperation> {
    let mut shortest = script;
    let mut piece = shortest.len().div_ceil(2);
    while piece > 0 {
        let mut from = 0;
        let before = shortest.len();
        while from < shortest.len() && attempts > 0 {
            attempts -= 1;
            let to = (from + piece).min(shortest.len());
            let without = [&shortest[..from], &shortest[to..]].concat();
            match fails(&without).await {
                true => shortest = without,
                false => from = to,
            }
        }
        // An operation that was necessary before may be superfluous now.
        if shortest.len() == before || piece > 1 {
            piece /= 2;
        }
    }
    shortest
}

#[tokio::test]
async fn only_what_is_needed_to_fail_is_left() {
    let asked = |at| ScriptOperation { at, kind: "promise.get", data: serde_json::Value::Null };
    let script: Vec<ScriptOperation> = (0..100).map(asked).collect();
    let fails = async |script: &[ScriptOperation]| {
        [7, 8, 93].iter().all(|needed| script.iter().any(|asked| asked.at == *needed))
    };
    let left = shortened(script, 10_000, fails).await;
    assert_eq!(left.iter().map(|asked| asked.at).collect::<Vec<_>>(), [7, 8, 93]);
}
