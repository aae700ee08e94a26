//! Instructions are counted exactly, and only if requested.

use super::*;
use crate::Cost;

/// Counts down from `from`: three instructions that cost something, and a branch.
fn counting_down(from: u32) -> Guest {
    Guest {
        items: format!(
            "(func $down (local $left i32) (local.set $left (i32.const {from}))
                (loop $again
                    (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                    (br_if $again (local.get $left))))"
        ),
        ..Guest::starting("(call $down)")
    }
}

async fn cost_of(guests: &dyn Guests, component: &Arc<[u8]>) -> Option<Cost> {
    let mut instance = guests.instantiate(Digest::of(component), None).await.expect("it is there");
    let script = Script::default();
    instance.start(script.shared(), "main", json("1"), context(1)).await.expect("it starts");
    instance.cost()
}

#[tokio::test]
async fn instructions_are_counted_the_same_each_time() {
    let [short, long] = [10, 1_010].map(|from| counting_down(from).component());
    let wasm = host(&[&short, &long]);
    assert_eq!(cost_of(&wasm, &short).await, None, "an ordinary engine counts nothing");
    let counting = wasm.counting().expect("it can be set up");
    let counted = [
        cost_of(&*counting, &short).await,
        cost_of(&*counting, &short).await,
        cost_of(&*counting, &long).await,
    ];
    let [first, again, long] = counted.map(|cost| cost.expect("it is counted"));
    assert_eq!(first, again);
    // Get, constant, subtract, set, get, branch: six a round.
    assert_eq!(long.instructions - first.instructions, 6 * 1_000);
    assert_eq!(long.memory_bytes, first.memory_bytes);
}

#[tokio::test]
async fn an_engine_that_counts_keeps_its_code_beside_the_other() {
    let component = counting_down(10).component();
    let folder = tempfile::tempdir().expect("there is room");
    let cache_dir = Some(folder.path().to_owned());
    let wasm = host_with(&[&component], |config| config.cache_dir = cache_dir);
    let counting = wasm.counting().expect("it can be set up");
    for _ in 0..2 {
        assert!(cost_of(&*counting, &component).await.is_some());
        assert_eq!(cost_of(&wasm, &component).await, None);
    }
    let folders = std::fs::read_dir(folder.path()).expect("it is there").flatten();
    let names = folders.map(|folder| folder.file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.filter(|name| name != "snapshots").collect();
    // Each engine has code, accessible code, code of runtimes, and images that fit these.
    let of = |form: &str| names.iter().filter(|name| name.contains(form)).count();
    let counts = (names.len(), of("-accessible"), of("-runtimes"), of("-images"));
    assert_eq!(counts, (8, 2, 4, 2), "{names:?}");
}
