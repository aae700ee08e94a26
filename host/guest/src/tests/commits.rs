//! Workflows whose results are committed one by one, as a component describes them.

use super::{
    guests::{activity, workflow},
    *,
};
use crate::InvalidComponent;

/// Offset of the answer of `describe-commits`.
const COMMITS_AT: usize = 4_096;
/// Offset of the texts.
const TEXTS_AT: usize = 5_120;

/// A guest with the workflows `order` and `ship` and the activity `send`, whose `describe-commits`
/// lists `commits`, in the layout of the canonical ABI.
fn committing(commits: &[&str]) -> Guest {
    let (mut words, mut texts) = (vec![COMMITS_AT as u32 + 8, commits.len() as u32], Vec::new());
    for name in commits {
        words.extend([(TEXTS_AT + texts.len()) as u32, name.len() as u32]);
        texts.extend_from_slice(name.as_bytes());
    }
    let words = words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    let data: String = [(COMMITS_AT, words), (TEXTS_AT, texts)]
        .into_iter()
        .map(|(at, bytes)| {
            let escaped: String = bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
            format!(r#"(data (i32.const {at}) "{escaped}")"#)
        })
        .collect();
    let items = format!(
        r#"(func (export "segno:workflow/commits@0.2.0#describe-commits") (result i32)
             (i32.const {COMMITS_AT}))
           {data}"#
    );
    let functions = vec![workflow("order"), workflow("ship"), activity("send")];
    Guest { functions, items, describes: &["commits"], ..Guest::default() }
}

#[tokio::test]
async fn a_workflow_that_commits_each_result_is_so_in_its_report_and_its_description() {
    let component = committing(&["order"]).component();
    let wasm = host(&[&component]);
    let report = wasm.inspect(component.clone()).await.expect("it can be deployed");
    let each: Vec<bool> = report.functions.iter().map(|function| function.commits_each).collect();
    assert_eq!(each, [true, false, false]);
    let text = serde_json::to_string(&report).expect("it can be stored");
    assert_eq!(serde_json::from_str::<crate::ModuleReport>(&text).expect("it can be read"), report);
    let described = wasm.describe(Digest::of(&component)).await.expect("it describes itself");
    let each: Vec<bool> = described.iter().map(|function| function.commits_each).collect();
    assert_eq!(each, [true, false, false]);
}

#[tokio::test]
async fn a_function_whose_results_cannot_be_committed_one_by_one_is_refused_by_name() {
    for (commits, said) in [
        (
            &["pay"][..],
            "the results of `pay` cannot be committed one by one: the module has no such function",
        ),
        (&["send"], "it is an activity, which has no journal"),
        (&["order", "order"], "it is described twice"),
    ] {
        let refused = host(&[]).inspect(committing(commits).component()).await;
        let error = refused.expect_err("it is refused");
        assert!(matches!(error, InvalidComponent::BadCommit { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    }
}
