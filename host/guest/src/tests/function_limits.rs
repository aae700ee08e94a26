//! Limits that a component declares, read from its memory.

use segno_core::limit::{AdmissionRule, PriorityOrder};

use super::{guests::workflow, *};
use crate::InvalidComponent;

/// Offset of the answer of `describe-limits`.
const LIMITS_AT: usize = 4_096;
/// Offset of the only `function-limits` in that answer.
const LIMIT_AT: usize = LIMITS_AT + 8;
/// Offset of the texts.
const TEXTS_AT: usize = 5_120;

/// A guest whose `describe-limits` lists one limit with every field except a singleton, in the
/// layout of the canonical ABI.
fn limited(function: &str, concurrency: u32) -> Guest {
    let mut record = vec![0; 160];
    let mut texts = Vec::new();
    let mut put = |at: usize, words: &[u32]| {
        for (place, word) in words.iter().enumerate() {
            record[at + 4 * place..][..4].copy_from_slice(&word.to_le_bytes());
        }
    };
    let mut keep = |text: &str| {
        let at = TEXTS_AT + texts.len();
        texts.extend_from_slice(text.as_bytes());
        [at as u32, text.len() as u32]
    };
    put(0, &keep(function));
    let [at, length] = keep("customer.id");
    put(8, &[1, at, length]);
    // `per-key`, with a rate of 10 in 1,000 ms and a burst of 20; `total`.
    put(24, &[1, concurrency, 1, 0, 10, 0, 1_000, 0, 20]);
    put(64, &[1, 100]);
    let [at, length] = keep("urgency");
    put(104, &[1, at, length, 1]);
    put(128, &[1, 0, 5_000, 0, 1, 0, 60_000, 0]);
    let list = [LIMIT_AT as u32, 1].map(u32::to_le_bytes).concat();
    let data: String = [(LIMITS_AT, list), (LIMIT_AT, record), (TEXTS_AT, texts)]
        .into_iter()
        .map(|(at, bytes)| {
            let escaped: String = bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
            format!(r#"(data (i32.const {at}) "{escaped}")"#)
        })
        .collect();
    let items = format!(
        r#"(func (export "segno:workflow/limits@0.2.0#describe-limits") (result i32)
             (i32.const {LIMITS_AT}))
           {data}"#
    );
    Guest { functions: vec![workflow("main")], items, describes: &["limits"], ..Guest::default() }
}

#[tokio::test]
async fn a_limit_that_a_component_declares_is_in_its_report() {
    let report = host(&[]).inspect(limited("main", 5).component()).await;
    let report = report.expect("it can be deployed");
    let rule: AdmissionRule = report.functions[0].limit.clone().expect("it has one");
    assert_eq!(rule.order(), Some(PriorityOrder::Weighted));
    let expected = r#"{"key":"customer.id","per_key":{"concurrency":5,"rate":{"count":10,"period_ms":1000,"burst":20}},"total":{"concurrency":100},"priority":{"path":"urgency","order":"weighted"},"debounce":{"period_ms":5000,"longest_ms":60000}}"#;
    assert_eq!(serde_json::to_string(&rule).expect("JSON"), expected);
    let text = serde_json::to_string(&report).expect("it can be stored");
    assert_eq!(serde_json::from_str::<crate::ModuleReport>(&text).expect("it can be read"), report);
}

#[tokio::test]
async fn a_component_with_a_limit_that_makes_no_sense_is_refused() {
    for (guest, said) in [
        (limited("main", 0), "the limit of `main` cannot be used: a concurrency of 0"),
        (limited("order", 1), "the limit of `order` cannot be used: the module has no such"),
    ] {
        let refused = host(&[]).inspect(guest.component()).await;
        let error = refused.expect_err("it is refused");
        assert!(matches!(error, InvalidComponent::BadLimit { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[tokio::test]
async fn a_component_that_does_not_say_has_no_limits() {
    let report = host(&[]).inspect(Guest::default().component()).await;
    let report = report.expect("it can be deployed");
    assert!(report.functions.iter().all(|function| function.limit.is_none()));
}
