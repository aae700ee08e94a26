//! A proxy whose connections can be cut mid-stream.

use std::{net::SocketAddr, sync::Arc};

use segno_env::Env;
use tokio::{
    io,
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// A proxy that forwards connections to a host, until the runtime ends.
#[derive(Clone)]
pub struct Proxy {
    address: SocketAddr,
    cuts: Arc<watch::Sender<u64>>,
}

impl Proxy {
    /// Starts a proxy from a free port to `target`.
    ///
    /// # Panics
    /// If there is no free port.
    pub async fn start(target: SocketAddr, env: &Env) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("the listener is bound");
        let cuts = Arc::new(watch::Sender::new(0));
        let (told, runtime) = (cuts.clone(), env.runtime.clone());
        let accepting = async move {
            while let Ok((client, _)) = listener.accept().await {
                runtime.spawn("connection", Box::pin(forward(client, target, told.subscribe())));
            }
        };
        env.runtime.spawn("proxy", Box::pin(accepting));
        Self { address, cuts }
    }

    /// Address to which clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all connections, and drops the data in flight.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

async fn forward(mut client: TcpStream, target: SocketAddr, mut cut: watch::Receiver<u64>) {
    let Ok(mut host) = TcpStream::connect(target).await else { return };
    tokio::select! {
        biased;
        // An error means that the driver ends.
        _ = cut.changed() => {}
        // The client sees the end of its connection. The proxy ignores it.
        _ = io::copy_bidirectional(&mut client, &mut host) => {}
    }
}
