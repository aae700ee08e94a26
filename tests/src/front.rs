//! The native API of a host under test, behind which front ends stand.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use async_trait::async_trait;
use segno_api::{
    AccessControl, Api, ComponentInspector, ComponentRefusal, model::ModuleDescription,
};
use segno_engine::host::Host;

/// Refuses all uploads.
struct NoUploads;

#[async_trait]
impl ComponentInspector for NoUploads {
    async fn inspect(&self, _component: Arc<[u8]>) -> Result<ModuleDescription, ComponentRefusal> {
        let message = "nothing is uploaded to this host".into();
        Err(ComponentRefusal { code: "no-uploads".into(), message, report: None })
    }
}

/// The API of `host`, which takes no uploads.
pub(crate) fn api_of(host: &Host) -> Api {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 7_766));
    let access = AccessControl::new(address, None, false, Vec::new()).expect("loopback is safe");
    Api::new(host.clone(), Arc::new(NoUploads), access, 0)
}
