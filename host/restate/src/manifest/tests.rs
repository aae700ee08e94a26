//! Each rule of a manifest violated once, and manifests as SDKs write them.

use serde_json::{Value as Json, json};

use super::{
    ManifestVersion::{self, *},
    *,
};

/// The manifest of an SDK for TypeScript, shortened.
fn greeter() -> Json {
    json!({
        "protocolMode": "BIDI_STREAM",
        "minProtocolVersion": 5,
        "maxProtocolVersion": 7,
        "services": [
            {
                "name": "my.Greeter-2",
                "ty": "SERVICE",
                "handlers": [{
                    "name": "greet",
                    "input": { "required": false, "contentType": "application/json" },
                    "output": { "setContentTypeIfEmpty": false, "contentType": "application/json" },
                }],
            },
            {
                "name": "counter",
                "ty": "VIRTUAL_OBJECT",
                "handlers": [
                    { "name": "add" },
                    { "name": "get", "ty": "SHARED", "input": { "jsonSchema": null } },
                ],
            },
            {
                "name": "_1signup",
                "ty": "WORKFLOW",
                "handlers": [{ "name": "run" }, { "name": "status", "ty": "SHARED" }],
            },
        ],
    })
}

/// The manifest with one value replaced; `null` removes it.
fn changed(pointer: &str, value: Json) -> Json {
    let mut manifest = greeter();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = manifest.pointer_mut(parent).unwrap();
    match parent {
        Json::Object(fields) if value.is_null() => drop(fields.remove(key)),
        Json::Object(fields) => drop(fields.insert(key.to_owned(), value)),
        Json::Array(items) => items.push(value),
        _ => panic!("{pointer}"),
    }
    manifest
}

fn read(json: &Json, version: ManifestVersion) -> Result<Manifest, InvalidManifest> {
    Manifest::read(json.to_string().as_bytes(), version)
}

#[test]
fn a_manifest_is_written_as_it_is_read() {
    let manifest = read(&greeter(), V1).unwrap();
    for version in ManifestVersion::ALL {
        let written: Json = serde_json::from_slice(&manifest.write(version)).unwrap();
        assert_eq!(written, greeter(), "{version}");
    }
    assert_eq!(manifest.protocol_versions().to_string(), "[5, 7]");
    let types: Vec<_> = manifest
        .services
        .iter()
        .flat_map(|service| service.handlers.iter().map(|handler| service.handler_type(handler)))
        .collect();
    let expected = [
        None,
        Some(HandlerType::Exclusive),
        Some(HandlerType::Shared),
        Some(HandlerType::Workflow),
        Some(HandlerType::Shared),
    ];
    assert_eq!(types, expected);
    let schemas = [&manifest.services[1].handlers[1], &manifest.services[1].handlers[0]]
        .map(|handler| handler.input.as_ref().and_then(|input| input.json_schema.clone()));
    assert_eq!(schemas, [Some(Json::Null), None]);
}

#[test]
fn a_name_is_matched_with_its_pattern() {
    let rows = [
        // Name; valid for a service; valid for a handler.
        ("a", true, true),
        ("Z9", true, true),
        ("_a", true, true),
        ("_9", true, true),
        ("a_b", true, true),
        ("a-b", true, false),
        ("a.b", true, false),
        ("a__", true, true),
        ("_", false, false),
        ("__", false, false),
        ("_-", false, false),
        ("9a", false, false),
        ("-a", false, false),
        (".a", false, false),
        ("", false, false),
        ("a b", false, false),
        ("a/b", false, false),
        ("ä", false, false),
        ("aä", false, false),
        ("a\n", false, false),
    ];
    for (name, service, handler) in rows {
        for (pointer, path, expected) in [
            ("/services/0/name", "services[0].name", service),
            ("/services/0/handlers/0/name", "services[0].handlers[0].name", handler),
        ] {
            let refused = read(&changed(pointer, name.into()), V1).err();
            assert_eq!(refused.is_none(), expected, "`{name}` as {path}: {refused:?}");
            if let Some(refused) = refused {
                assert!(refused.to_string().starts_with(&format!("{path}: ")), "{refused}");
            }
        }
    }
}

#[test]
fn every_breach_is_named_with_its_place() {
    let run = json!({ "name": "again" });
    let get = json!({ "name": "get", "ty": "SHARED" });
    let service = json!({ "name": "counter", "ty": "SERVICE", "handlers": [] });
    let rows = [
        ("/minProtocolVersion", json!(0), "minProtocolVersion", "between"),
        ("/maxProtocolVersion", json!(2147483648u32), "maxProtocolVersion", "between"),
        ("/minProtocolVersion", json!(8), "minProtocolVersion", "above"),
        ("/minProtocolVersion", json!(null), ".", "missing field"),
        ("/maxProtocolVersion", json!("7"), "maxProtocolVersion", "invalid type"),
        ("/services", json!(null), ".", "missing field"),
        ("/protocolMode", json!("bidi"), "protocolMode", "unknown variant"),
        ("/extra", json!(1), "extra", "unknown field"),
        ("/lambdaCompression", json!("gzip"), "lambdaCompression", "unknown variant"),
        ("/services/0/ty", json!("service"), "services[0].ty", "unknown variant"),
        ("/services/0/extra", json!(1), "services[0].extra", "unknown field"),
        ("/services/-", service, "services[3].name", "twice"),
        ("/services/1/handlers/-", get, "services[1].handlers[2].name", "twice"),
        ("/services/2/handlers/-", run, "services[2].handlers", "not 2"),
        ("/services/2/handlers/0/ty", json!("SHARED"), "services[2].handlers", "not 0"),
        ("/services/0/handlers/0/ty", json!("SHARED"), "services[0].handlers[0].ty", "SERVICE"),
        (
            "/services/1/handlers/0/ty",
            json!("WORKFLOW"),
            "services[1].handlers[0].ty",
            "VIRTUAL_OBJECT",
        ),
        ("/services/2/handlers/1/ty", json!("EXCLUSIVE"), "services[2].handlers[1].ty", "WORKFLOW"),
        (
            "/services/2/handlers/0/idempotencyRetention",
            json!(1),
            "services[2].handlers[0].idempotencyRetention",
            "not of a WORKFLOW",
        ),
        (
            "/services/2/handlers/1/workflowCompletionRetention",
            json!(1),
            "services[2].handlers[1].workflowCompletionRetention",
            "alone",
        ),
        (
            "/services/1/handlers/0/workflowCompletionRetention",
            json!(1),
            "services[1].handlers[0].workflowCompletionRetention",
            "alone",
        ),
        ("/services/1/abortTimeout", json!(-1), "services[1].abortTimeout", "invalid value"),
        ("/services/1/metadata", json!({ "a": 1 }), "services[1].metadata.a", "invalid type"),
        (
            "/services/1/retryPolicyExponentiationFactor",
            json!(0),
            "services[1].retryPolicyExponentiationFactor",
            "above 0",
        ),
        (
            "/services/0/handlers/0/retryPolicyOnMaxAttempts",
            json!("STOP"),
            "services[0].handlers[0].retryPolicyOnMaxAttempts",
            "unknown variant",
        ),
        (
            "/services/0/handlers/0/input/extra",
            json!(1),
            "services[0].handlers[0].input.extra",
            "unknown field",
        ),
    ];
    for (pointer, value, path, what) in rows {
        let refused = read(&changed(pointer, value), V4).expect_err(pointer);
        let [fault] = &refused.faults[..] else { panic!("{pointer}: {refused}") };
        assert_eq!(fault.path, path, "{fault}");
        assert!(fault.what.contains(what), "{fault} is not about {what}");
    }
    let refused = Manifest::read(b"{", V4).unwrap_err();
    assert!(refused.to_string().contains("EOF"), "{refused}");
    let twice = format!("{}{{}}", greeter());
    assert!(Manifest::read(twice.as_bytes(), V4).is_err());
}

#[test]
fn all_breaches_are_found_at_once() {
    let mut manifest = changed("/services/0/name", "0".into());
    manifest["services"][1]["handlers"][0]["name"] = json!("a-b");
    let refused = read(&manifest, V1).unwrap_err();
    let places: Vec<_> = refused.faults.iter().map(|fault| &fault.path[..]).collect();
    assert_eq!(places, ["services[0].name", "services[1].handlers[0].name"]);
}

/// The fields introduced later, according to the published schemas and the checks of SDKs.
const LATER: [(&str, ManifestVersion, bool); 13] = [
    // Name; first version; true if services have the field too.
    ("documentation", V2, true),
    ("metadata", V2, true),
    ("inactivityTimeout", V3, true),
    ("abortTimeout", V3, true),
    ("journalRetention", V3, true),
    ("idempotencyRetention", V3, true),
    ("workflowCompletionRetention", V3, false),
    ("enableLazyState", V3, true),
    ("ingressPrivate", V3, true),
    ("retryPolicyInitialInterval", V4, true),
    ("retryPolicyMaxInterval", V4, true),
    ("retryPolicyMaxAttempts", V4, true),
    ("retryPolicyExponentiationFactor", V4, true),
];

fn value_of(field: &str) -> Json {
    match field {
        "documentation" => json!("# text"),
        "metadata" => json!({ "team": "a" }),
        "enableLazyState" | "ingressPrivate" => json!(true),
        "retryPolicyExponentiationFactor" => json!(1.5),
        "retryPolicyOnMaxAttempts" => json!("PAUSE"),
        "lambdaCompression" => json!("zstd"),
        _ => json!(60_000),
    }
}

#[test]
fn a_field_is_read_and_written_from_its_version_on() {
    let mut rows = vec![
        ("/lambdaCompression".to_owned(), "lambdaCompression", V4),
        ("/services/0/retryPolicyOnMaxAttempts".to_owned(), "retryPolicyOnMaxAttempts", V4),
        (
            "/services/0/handlers/0/retryPolicyOnMaxAttempts".to_owned(),
            "retryPolicyOnMaxAttempts",
            V4,
        ),
    ];
    for (field, since, of_service) in LATER {
        // For the workflow's run, except for a field that the run lacks.
        let handler = if field == "idempotencyRetention" { 1 } else { 0 };
        rows.push((format!("/services/2/handlers/{handler}/{field}"), field, since));
        if of_service {
            rows.push((format!("/services/2/{field}"), field, since));
        }
    }
    assert_eq!(rows.len(), 28, "3, 13 of handlers and 12 of services");
    for (pointer, field, since) in rows {
        let json = changed(&pointer, value_of(field));
        let manifest = read(&json, V4).unwrap_or_else(|refused| panic!("{pointer}: {refused}"));
        for version in ManifestVersion::ALL {
            let refused = read(&json, version).err();
            assert_eq!(refused.is_none(), version >= since, "{pointer} in {version}");
            if let Some(refused) = refused {
                assert!(refused.to_string().contains(&format!("but of {since}")), "{refused}");
            }
            let written: Json = serde_json::from_slice(&manifest.write(version)).unwrap();
            let expected = if version >= since { &json } else { &greeter() };
            assert_eq!(&written, expected, "{pointer} in {version}");
        }
    }
}
