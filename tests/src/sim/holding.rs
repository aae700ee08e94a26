//! Resources: clients lease one in turn, and write it under their tokens, in time or too late.

use segno_core::{
    command::Command,
    id::ResourceName,
    reply::{Conflict, Refusal, Reply},
    time::Millis,
    value::{Text, Value},
};

use super::{dice::Dice, outside::Outside};

/// Number of times that each client takes the resource.
const ROUNDS: u32 = 3;

impl Outside {
    /// Leases a resource a few times, and writes it each time.
    pub(super) async fn hold(&self, name: &str, client: u64) {
        let mut dice = Dice::new(self.network.seed, &format!("hold {name} {client}"));
        let (name, holder) = (ResourceName::from(name), Text::from(format!("c{client}")));
        for round in 0..ROUNDS {
            let ttl = Millis(dice.between(50, 1_500));
            let take =
                || Command::ResourceLease { name: name.clone(), holder: holder.clone(), ttl };
            let token = loop {
                match self.clients.insist(take()).await {
                    Reply::Resource { lease: Some(lease), .. } => break lease.token,
                    Reply::Refused(Refusal::Conflict(Conflict::Busy { .. })) => {
                        self.network.log.count("resources found taken");
                        self.sleep(70).await;
                    }
                    reply => {
                        let log = &self.network.log;
                        return log.finding(format_args!("a lease was answered {reply:?}"));
                    }
                }
            };
            // May be longer than the lease.
            self.sleep(dice.between(0, 2_000)).await;
            let value = Value::of(format!("{client}.{round}").into_bytes());
            let write = Command::FencedPut { name: name.clone(), value, token };
            match self.clients.insist(write).await {
                Reply::Resource { .. } => {
                    self.network.log.count("resources written under a lease");
                }
                Reply::Refused(Refusal::Conflict(Conflict::StaleToken { .. })) => {
                    self.network.log.count("resources not written, since a later lease did");
                }
                reply => self.network.log.finding(format_args!("a write was answered {reply:?}")),
            }
        }
    }
}
