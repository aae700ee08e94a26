//! `sys_service` and `sys_deployment`: registered services and deployments.

use segno_core::time::Timestamp;

use super::{
    super::{row::TableRow, rows::RowSender, value::RowValue},
    parts::kind_of_service,
};
use crate::front::{ServicesApi, admin::deployments, error::AdminResult};

/// Reads services.
pub(super) async fn read_services(api: &ServicesApi, rows: &RowSender) -> AdminResult<()> {
    for name in api.services.names().await? {
        let (_, deployment) = api.services.of_service(&name).await?;
        let Some(service) = deployment.service(&name) else { continue };
        rows.offer(TableRow::from([
            ("revision", RowValue::Number(deployment.revision(&name).into())),
            ("name", name.into()),
            ("public", (!service.ingress_private.unwrap_or_default()).into()),
            ("ty", kind_of_service(service.ty).into()),
            ("deployment_id", deployment.id().into()),
        ]))
        .await?;
    }
    Ok(())
}

/// Reads deployments.
pub(super) async fn read_deployments(api: &ServicesApi, rows: &RowSender) -> AdminResult<()> {
    for known in deployments::all(api).await? {
        let manifest = &known.deployment.manifest;
        rows.offer(TableRow::from([
            ("id", known.deployment.id().into()),
            ("ty", "http".into()),
            ("endpoint", known.deployment.uri.clone().into()),
            ("created_at", Timestamp(known.created_at_ms).into()),
            ("min_service_protocol_version", RowValue::count(manifest.min_protocol_version)),
            ("max_service_protocol_version", RowValue::count(manifest.max_protocol_version)),
        ]))
        .await?;
    }
    Ok(())
}
