//! `sys_service` and `sys_deployment`: registered services and deployments.

use segno_core::time::Timestamp;
use segno_restate::manifest::ServiceType;

use super::{
    super::{
        row::Row,
        rows::Rows,
        value::{
            Kind::{Bool, Number, Text, Time},
            Value,
        },
    },
    Column,
};
use crate::front::{Api, admin::deployments, error::AdminError};

/// Columns of `sys_service`.
pub const SERVICES: [Column; 5] = [
    Column::new("name", Text),
    Column::new("revision", Number),
    Column::new("public", Bool),
    Column::new("ty", Text),
    Column::new("deployment_id", Text),
];

/// Columns of `sys_deployment`.
pub const DEPLOYMENTS: [Column; 6] = [
    Column::new("id", Text),
    Column::new("ty", Text),
    Column::new("endpoint", Text),
    Column::new("created_at", Time),
    Column::new("min_service_protocol_version", Number),
    Column::new("max_service_protocol_version", Number),
];

/// Reads services.
pub async fn read_services(api: &Api, rows: &Rows) -> Result<(), AdminError> {
    for name in api.services.names().await? {
        let (_, deployment) = api.services.of_service(&name).await?;
        let Some(service) = deployment.service(&name) else { continue };
        let ty = match service.ty {
            ServiceType::Service => "service",
            ServiceType::VirtualObject => "virtual_object",
            ServiceType::Workflow => "workflow",
        };
        rows.offer(Row::from([
            ("revision", Value::Number(deployment.revision(&name).into())),
            ("name", Value::Text(name)),
            ("public", Value::Bool(!service.ingress_private.unwrap_or_default())),
            ("ty", Value::Text(ty.to_owned())),
            ("deployment_id", Value::Text(deployment.id())),
        ]))
        .await?;
    }
    Ok(())
}

/// Reads deployments.
pub async fn read_deployments(api: &Api, rows: &Rows) -> Result<(), AdminError> {
    for known in deployments::all(api).await? {
        let manifest = &known.deployment.manifest;
        rows.offer(Row::from([
            ("id", Value::Text(known.deployment.id())),
            ("ty", Value::Text("http".to_owned())),
            ("endpoint", Value::Text(known.deployment.uri.clone())),
            ("created_at", Value::Time(Timestamp(known.created_at_ms))),
            ("min_service_protocol_version", Value::count(manifest.min_protocol_version)),
            ("max_service_protocol_version", Value::count(manifest.max_protocol_version)),
        ]))
        .await?;
    }
    Ok(())
}
