//! The OpenAPI document of the API, as far as it does not follow from the routes.

use utoipa::{
    OpenApi,
    openapi::{
        self, KnownFormat, Object, RefOr, Required, Schema, SchemaFormat,
        path::{Parameter, ParameterIn},
        schema::{SchemaType, Type},
    },
};

use super::model::Problem;

/// Pattern of an id's characters: no control characters, and no text that URL normalization removes
/// from a path.
pub(super) const ID: &str = r"^(?!\.{1,2}$)[^\x00-\x1f\x7f-\x9f]+$";

/// Maximum number of characters in an id. The limit in bytes is the same number, so an id with
/// characters outside ASCII may have fewer, 512 in the worst case.
const LONGEST_ID: usize = 2048;

/// Operations whose body may be omitted, because `{}` is sufficient.
const OPTIONAL_BODIES: [&str; 8] = [
    "promises_resolve",
    "promises_reject",
    "invocations_replay",
    "invocations_release",
    "invocations_restart",
    "invocations_proceed",
    "queries_post",
    "updates_send",
];

/// The beginning of the document. Routes add their paths and schemas.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Segno",
        description = "Durable functions as WebAssembly components: upload, start, look, settle, replay. \
                       Errors are problem documents (RFC 9457) with a stable `code`."
    ),
    components(schemas(Problem)),
    tags(
        (name = "modules", description = "Components, by alias and digest"),
        (name = "invocations", description = "Runs of functions"),
        (name = "graphs", description = "Plans: graphs of steps, and their runs"),
        (name = "objects", description = "Objects: state by key, which one invocation at a time writes"),
        (name = "limits", description = "How many executions of a function may run, and how fast they begin"),
        (name = "resources", description = "Values that several writers share, under fencing tokens"),
        (name = "schedules", description = "Starting functions at the occurrences of cron expressions"),
        (name = "tasks", description = "Tasks: their holders and their leases"),
        (name = "promises", description = "Values that are not known yet, some of them settled from outside"),
        (name = "events", description = "Published events, until they are acknowledged"),
        (name = "sessions", description = "Sessions of browsers, which replace a token"),
        (name = "host", description = "The process itself"),
    )
)]
pub(crate) struct OpenApiDocument;

/// Adds the rules that hold for all operations.
pub(crate) fn complete(mut document: openapi::OpenApi) -> openapi::OpenApi {
    for item in document.paths.paths.values_mut() {
        let operations =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            // Functions of several modules have the same names, but an operation's id must be
            // unique.
            let tag = operation.tags.iter().flatten().next().cloned().unwrap_or_default();
            let name = operation.operation_id.take().unwrap_or_default();
            operation.operation_id = Some(format!("{tag}_{name}"));
            if let Some(RefOr::T(body)) = &mut operation.request_body
                && OPTIONAL_BODIES.contains(&operation.operation_id.as_deref().unwrap_or_default())
            {
                body.required = Some(Required::False);
            }
            for response in operation.responses.responses.values_mut() {
                if let RefOr::T(response) = response
                    && response.description.is_empty()
                {
                    "It is done.".clone_into(&mut response.description);
                }
            }
            for parameter in operation.parameters.iter_mut().flatten() {
                if let RefOr::T(parameter) = parameter {
                    bound_parameter(parameter);
                }
            }
        }
    }
    document
}

/// Adds the rules for parameters of a location: a path segment is an id, and a query has no nulls.
fn bound_parameter(parameter: &mut Parameter) {
    let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema else { return };
    match parameter.parameter_in {
        ParameterIn::Path => {
            schema.min_length = Some(1);
            schema.max_length = Some(LONGEST_ID);
            schema.pattern = Some(ID.to_owned());
        }
        ParameterIn::Query => {
            if let SchemaType::Array(types) = &schema.schema_type
                && let Some(of_values) = types.iter().find(|kind| **kind != Type::Null)
            {
                schema.schema_type = SchemaType::Type(of_values.clone());
            }
            bound(schema);
        }
        ParameterIn::QueryString | ParameterIn::Header | ParameterIn::Cookie => {}
    }
}

/// Adds the maximum to an unsigned number: OpenAPI defines no formats for unsigned numbers, and
/// those of signed ones end earlier.
fn bound(schema: &mut Object) {
    let (format, largest) = match &schema.format {
        Some(SchemaFormat::KnownFormat(KnownFormat::Int32)) => ("uint32", u64::from(u32::MAX)),
        Some(SchemaFormat::KnownFormat(KnownFormat::Int64)) => ("uint64", u64::MAX),
        Some(SchemaFormat::KnownFormat(_) | SchemaFormat::Custom(_)) | None => return,
    };
    if schema.minimum.is_some() && schema.maximum.is_none() {
        schema.format = Some(SchemaFormat::Custom(format.to_owned()));
        schema.maximum = usize::try_from(largest).ok().map(utoipa::Number::UInt);
    }
}
