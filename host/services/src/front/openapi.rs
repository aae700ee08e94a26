//! OpenAPI document of services: two operations for each handler, a call and a one-way call.
//! Private handlers are omitted.

use segno_restate::manifest::{ManifestHandler, Service, ServiceType};
use serde_json::{Map, Value as Json, json};

use crate::{HandlerConcurrency, kind};

/// Default content type of a handler's input and output.
const JSON: &str = "application/json";

/// Builds the document of these services.
pub(super) fn document(services: &[Service]) -> Json {
    let mut paths = Map::new();
    for service in services {
        for handler in &service.handlers {
            if handler.ingress_private.or(service.ingress_private).unwrap_or_default() {
                continue;
            }
            let path = match service.ty {
                ServiceType::Service => format!("/{}/{}", service.name, handler.name),
                ServiceType::VirtualObject | ServiceType::Workflow => {
                    format!("/{}/{{key}}/{}", service.name, handler.name)
                }
            };
            paths.insert(format!("{path}/send"), item(service, handler, false));
            paths.insert(path, item(service, handler, true));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Services", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": { "schemas": { "Failure": failure(), "Sent": sent() } },
    })
}

fn item(service: &Service, handler: &ManifestHandler, waits: bool) -> Json {
    let mut parameters = vec![
        json!({
            "name": "idempotency-key", "in": "header", "schema": { "type": "string" },
            "description": "Calls with the same key are one",
        }),
        json!({
            "name": "segno-budget", "in": "header", "schema": { "type": "string" },
            "description": "What the call and everything below it may cost: calls=20,usd=2.5",
        }),
    ];
    if service.ty != ServiceType::Service {
        parameters.push(json!({
            "name": "key", "in": "path", "required": true, "schema": { "type": "string" },
        }));
    }
    if !waits {
        parameters.push(json!({
            "name": "delay", "in": "query", "schema": { "type": "string" },
            "description": "When it begins: PT60S, 60s",
        }));
    }
    let end = if waits { "" } else { "-send" };
    let mut operation = json!({
        "operationId": format!("{}-{}{end}", service.name, handler.name),
        "tags": [service.name],
        "parameters": parameters,
        "responses": {
            "default": {
                "description": "The call was refused, or the handler failed",
                "content": content(JSON, json!({ "$ref": "#/components/schemas/Failure" })),
            },
        },
    });
    let (status, done) = match waits {
        true => ("200", output(handler)),
        false => {
            let sent = json!({ "$ref": "#/components/schemas/Sent" });
            let said = "Accepted: its result can be waited for by its id";
            ("202", json!({ "description": said, "content": content(JSON, sent) }))
        }
    };
    operation["responses"][status] = done;
    if let Some(text) = &handler.documentation {
        operation["description"] = text.as_str().into();
    }
    if kind(service, handler) == HandlerConcurrency::Run {
        operation["summary"] = "Runs once a key".into();
    }
    operation["requestBody"] = match &handler.input {
        Some(input) => {
            let takes = input.content_type.as_deref().unwrap_or(JSON);
            json!({
                "required": input.required.unwrap_or_default(),
                "content": content(takes, input.json_schema.clone().unwrap_or_else(any)),
            })
        }
        None => json!({ "required": false, "content": content("*/*", any()) }),
    };
    json!({ "post": operation })
}

fn output(handler: &ManifestHandler) -> Json {
    let output = handler.output.as_ref();
    let gives = output.and_then(|output| output.content_type.as_deref()).unwrap_or(JSON);
    let schema = output.and_then(|output| output.json_schema.clone()).unwrap_or_else(any);
    json!({ "description": "What the handler gives", "content": content(gives, schema) })
}

fn content(kind: &str, schema: Json) -> Json {
    Json::Object(Map::from_iter([(kind.to_owned(), json!({ "schema": schema }))]))
}

/// Schema that accepts any value.
fn any() -> Json {
    json!({})
}

fn failure() -> Json {
    json!({
        "type": "object",
        "required": ["message"],
        "properties": {
            "code": { "type": "integer" },
            "message": { "type": "string" },
            "source": { "enum": ["ingress", "invocation"] },
            "metadata": { "type": "object" },
        },
    })
}

fn sent() -> Json {
    json!({
        "type": "object",
        "required": ["invocationId", "status"],
        "properties": {
            "invocationId": { "type": "string" },
            "status": { "enum": ["Accepted", "PreviouslyAccepted"] },
            "executionTime": { "type": "string", "format": "date-time" },
        },
    })
}
