//! `sys_service` and `sys_deployment`: registered services and deployments.

use segno_core::time::Timestamp;
use segno_restate::manifest::ServiceType;

use super::{
    super::{
        row::TableRow,
        rows::RowSender,
        value::{
            ColumnType::{Bool, Number, Text, Time},
            RowValue,
        },
    },
    TableColumn,
};
use crate::front::{ServicesApi, admin::deployments, error::AdminError};

/// Columns of `sys_service`.
pub const SERVICES: [TableColumn; 5] = [
    TableColumn::new("name", Text),
    TableColumn::new("revision", Number),
    TableColumn::new("public", Bool),
    TableColumn::new("ty", Text),
    TableColumn::new("deployment_id", Text),
];

/// Columns of `sys_deployment`.
pub const DEPLOYMENTS: [TableColumn; 6] = [
    TableColumn::new("id", Text),
    TableColumn::new("ty", Text),
    TableColumn::new("endpoint", Text),
    TableColumn::new("created_at", Time),
    TableColumn::new("min_service_protocol_version", Number),
    TableColumn::new("max_service_protocol_version", Number),
];

/// Reads services.
pub async fn read_services(api: &ServicesApi, rows: &RowSender) -> Result<(), AdminError> {
    for name in api.services.names().await? {
        let (_, deployment) = api.services.of_service(&name).await?;
        let Some(service) = deployment.service(&name) else { continue };
        let ty = match service.ty {
            ServiceType::Service => "service",
            ServiceType::VirtualObject => "virtual_object",
            ServiceType::Workflow => "workflow",
        };
        rows.offer(TableRow::from([
            ("revision", RowValue::Number(deployment.revision(&name).into())),
            ("name", RowValue::Text(name)),
            ("public", RowValue::Bool(!service.ingress_private.unwrap_or_default())),
            ("ty", RowValue::Text(ty.to_owned())),
            ("deployment_id", RowValue::Text(deployment.id())),
        ]))
        .await?;
    }
    Ok(())
}

/// Reads deployments.
pub async fn read_deployments(api: &ServicesApi, rows: &RowSender) -> Result<(), AdminError> {
    for known in deployments::all(api).await? {
        let manifest = &known.deployment.manifest;
        rows.offer(TableRow::from([
            ("id", RowValue::Text(known.deployment.id())),
            ("ty", RowValue::Text("http".to_owned())),
            ("endpoint", RowValue::Text(known.deployment.uri.clone())),
            ("created_at", RowValue::Time(Timestamp(known.created_at_ms))),
            ("min_service_protocol_version", RowValue::count(manifest.min_protocol_version)),
            ("max_service_protocol_version", RowValue::count(manifest.max_protocol_version)),
        ]))
        .await?;
    }
    Ok(())
}
