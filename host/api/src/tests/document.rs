//! The OpenAPI document is valid: according to the schema of OpenAPI 3.1
//! (`openapi-3.1.schema.json`, published by the OpenAPI Initiative under the Apache license 2.0),
//! to the schema of its own schemas, and to rules that neither expresses.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::document;

fn as_json() -> Value {
    serde_json::to_value(document()).expect("a document")
}

/// Visits every value of the document, with its JSON pointer.
fn walk<'a>(at: String, value: &'a Value, see: &mut impl FnMut(&str, &'a Value)) {
    see(&at, value);
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                walk(format!("{at}/{name}"), value, see);
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                walk(format!("{at}/{place}"), value, see);
            }
        }
        _ => {}
    }
}

#[test]
fn the_document_is_valid_openapi() {
    let schema = include_str!("openapi-3.1.schema.json");
    let schema: Value = serde_json::from_str(schema).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let document = as_json();
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, [""; 0]);
    // The schema refuses an invalid document.
    let mut broken = document;
    broken["paths"]["/health"]["get"]["responses"]["200"]["description"] = Value::Null;
    assert!(!validator.is_valid(&broken));
}

#[test]
fn every_schema_in_the_document_is_a_valid_schema() {
    let document = as_json();
    let mut seen = 0;
    walk(String::new(), &document, &mut |at, value| {
        let named = at.strip_prefix("/components/schemas/").is_some_and(|name| !name.contains('/'));
        if named || at.ends_with("/schema") {
            seen += 1;
            let meta = jsonschema::draft202012::meta::validate(value);
            assert!(
                meta.is_ok(),
                "{at}: {}",
                meta.err().map(|error| error.to_string()).unwrap_or_default()
            );
        }
    });
    assert!(seen > 100, "{seen}");
}

#[test]
fn every_reference_in_the_document_leads_somewhere() {
    let document = as_json();
    let mut seen = 0;
    walk(String::new(), &document, &mut |at, value| {
        let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return };
        seen += 1;
        let target = reference.strip_prefix('#').and_then(|target| document.pointer(target));
        assert!(target.is_some(), "{at} refers to {reference}");
    });
    assert!(seen > 100, "{seen}");
}

#[test]
fn operations_have_ids_of_their_own_and_the_parameters_of_their_paths() {
    let document = as_json();
    let mut ids = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let id = operation["operationId"].as_str().expect("an id");
            assert!(ids.insert(id.to_owned()), "{method} {path}: `{id}` is taken");
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let given = |place: &str| -> BTreeSet<String> {
                let placed = parameters.iter().filter(|parameter| parameter["in"] == place);
                placed
                    .map(|parameter| parameter["name"].as_str().unwrap_or_default().to_owned())
                    .collect()
            };
            let named: BTreeSet<String> = path
                .split('/')
                .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
                .map(str::to_owned)
                .collect();
            assert_eq!(given("path"), named, "{method} {path}");
        }
    }
}

#[test]
fn numbers_and_ids_end_where_the_host_refuses_them() {
    let document = as_json();
    let parameter = |path: &str, name: &str| {
        let parameters = document["paths"][path]["get"]["parameters"].as_array().expect("a list");
        let found = parameters.iter().find(|it| it["name"] == name).expect("a parameter");
        found["schema"].clone()
    };
    let from = parameter("/v1/invocations/{id}/journal", "from");
    assert_eq!((&from["maximum"], &from["format"]), (&u32::MAX.into(), &"uint32".into()));
    let wait = parameter("/v1/events", "wait_ms");
    assert_eq!((&wait["maximum"], &wait["format"]), (&u64::MAX.into(), &"uint64".into()));
    assert_eq!(parameter("/v1/promises/{id}", "id")["maxLength"], 2_048);
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["CreatePromise"]["properties"]["id"]["maxLength"], 2_048);
    assert_eq!(schemas["TakeResource"]["properties"]["holder"]["minLength"], 1);
}

/// The codes of faults of an uploaded module, which the document sums up.
const OF_MODULES: [&str; 19] = [
    "not-wasm",
    "core-module",
    "malformed-component",
    "runtime-missing",
    "sources-rejected",
    "unreadable-runtime",
    "component-too-large",
    "component-too-demanding",
    "missing-exports",
    "unknown-imports",
    "contract-mismatch",
    "unlisted-functions",
    "describe-failed",
    "invalid-commit",
    "invalid-exposure",
    "invalid-function-name",
    "invalid-schema",
    "invalid-retry",
    "not-checked",
];

/// The pairs of status and code in the table of problems of `docs/reference/api.md`, without faults
/// of modules.
fn codes_of_the_page() -> BTreeSet<(String, String)> {
    let page = include_str!("../../../../docs/reference/api.md");
    let problems = page.split("\n## Problems\n").nth(1).expect("the section about problems");
    let rows = problems.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let status = cells.next().filter(|status| status.parse::<u16>().is_ok())?;
        Some((status, cells.next()?))
    });
    rows.flat_map(|(status, codes)| quoted(codes).into_iter().map(|code| (status.to_owned(), code)))
        .filter(|(_, code)| !OF_MODULES.contains(&code.as_str()))
        .collect()
}

/// The parts of a text in backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_problems_of_the_page_are_those_of_the_document_under_their_status() {
    let document = as_json();
    let responses = &document["paths"]["/v1/invocations"]["post"]["responses"];
    let responses = responses.as_object().expect("there are responses");
    let described: BTreeSet<(String, String)> = responses
        .iter()
        .filter(|(status, _)| !status.starts_with('2'))
        .flat_map(|(status, response)| {
            let text = response["description"].as_str().expect("a description");
            quoted(text).into_iter().map(|code| (status.clone(), code))
        })
        .collect();
    let page = codes_of_the_page();
    assert!(page.len() > 50, "{}", page.len());
    let differences = (&page - &described, &described - &page);
    assert_eq!(differences, Default::default(), "on the page only, in the document only");
}
