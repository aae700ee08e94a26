//! Workflows whose results are committed one by one, and functions that are offered to others, as a
//! component describes them.

use super::{
    guests::{activity, workflow},
    *,
};
use crate::InvalidComponent;

/// Offset of the list that the component answers with.
const LIST_AT: usize = 4_096;
/// Offset of the texts.
const TEXTS_AT: usize = 5_120;

/// A guest with the workflows `order` and `ship` and the activity `send`, whose `describe-NAMEs`
/// lists these texts, in the layout of the canonical ABI. An item has `width` of them.
fn describing(name: &'static str, texts: &[&str], width: usize) -> Guest {
    let (mut words, mut bytes) =
        (vec![LIST_AT as u32 + 8, (texts.len() / width) as u32], Vec::new());
    for text in texts {
        words.extend([(TEXTS_AT + bytes.len()) as u32, text.len() as u32]);
        bytes.extend_from_slice(text.as_bytes());
    }
    let words = words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    let data: String = [(LIST_AT, words), (TEXTS_AT, bytes)]
        .into_iter()
        .map(|(at, bytes)| {
            let escaped: String = bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
            format!(r#"(data (i32.const {at}) "{escaped}")"#)
        })
        .collect();
    let items = format!(
        r#"(func (export "segno:workflow/{name}@0.2.0#describe-{name}") (result i32)
             (i32.const {LIST_AT}))
           {data}"#
    );
    let functions = vec![workflow("order"), workflow("ship"), activity("send")];
    Guest { functions, items, describes: &[], ..Guest::default() }
}

fn committing(commits: &[&str]) -> Guest {
    Guest { describes: &["commits"], ..describing("commits", commits, 1) }
}

/// A guest whose `describe-exposures` lists these functions, each followed by its protocol.
fn offering(offers: &[&str]) -> Guest {
    Guest { describes: &["exposures"], ..describing("exposures", offers, 2) }
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

#[tokio::test]
async fn an_offer_is_in_the_report_by_any_protocol() {
    let offers = ["order", "mcp", "send", "mcp", "order", "of-tomorrow"];
    let component = offering(&offers).component();
    let report = host(&[]).inspect(component).await.expect("it can be deployed");
    let offered: Vec<&[String]> =
        report.functions.iter().map(|function| function.expose.as_slice()).collect();
    assert_eq!(
        offered,
        [&["mcp".to_owned(), "of-tomorrow".to_owned()][..], &[], &["mcp".to_owned()]]
    );
    let text = serde_json::to_string(&report).expect("it can be stored");
    assert_eq!(serde_json::from_str::<crate::ModuleReport>(&text).expect("it can be read"), report);
}

#[tokio::test]
async fn an_offer_that_cannot_be_is_refused_by_name() {
    for (offers, said) in [
        (&["pay", "mcp"][..], "`pay` cannot be offered by `mcp`: the module has no such function"),
        (&["order", "mcp", "order", "mcp"], "it is described twice"),
        (&["order", "m\ncp"], "the protocol"),
        (&["order", ""], "the protocol"),
    ] {
        let refused = host(&[]).inspect(offering(offers).component()).await;
        let error = refused.expect_err("it is refused");
        assert!(matches!(error, InvalidComponent::BadExposure { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    }
}
