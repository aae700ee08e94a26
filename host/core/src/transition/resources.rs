//! Resources: leases, and writes under tokens.

use super::draft::DecisionDraft;
use crate::{
    effect::Metric,
    id::{ResourceName, check_name, fits},
    promise::{FenceToken, LONGEST_LEASE, Resource, ResourceLease},
    reply::{Conflict, Refusal, Reply},
    time::Millis,
    value::{Text, Value},
};

pub(super) fn get(draft: &mut DecisionDraft<'_>, name: &ResourceName) -> Result<Reply, Refusal> {
    Ok(shown(draft, name))
}

/// Leases a resource. Every lease has a new token, even if the same holder renews it: a lost reply
/// only costs a number.
pub(super) fn lease(
    draft: &mut DecisionDraft<'_>,
    name: &ResourceName,
    holder: &Text,
    ttl: Millis,
) -> Result<Reply, Refusal> {
    named(draft, name)?;
    if holder.is_empty() || ttl < Millis::ZERO || ttl > LONGEST_LEASE {
        let message = format!(
            "a lease on the resource `{name}` needs a holder, and lasts 0 to {} ms",
            LONGEST_LEASE.0
        );
        return Err(Refusal::BadRequest(message));
    }
    let before = draft.view.resource_lease(name);
    if let Some(before) = before.filter(|lease| lease.until > draft.now && lease.holder != *holder)
    {
        let (holder, until) = (before.holder.clone(), before.until);
        return Err(Conflict::Busy { name: name.clone(), holder, until }.into());
    }
    // The token must exceed that of every write, including writes without a lease.
    let written = draft.view.resource(name).map(|resource| resource.token);
    let token = before.map(|lease| lease.token).max(written).unwrap_or_default().next();
    if token > FenceToken::LAST {
        return Err(Refusal::Unprocessable(format!(
            "`{name}` was written under the largest token there is, so no lease can have a larger one: use another name"
        )));
    }
    let (holder, until) = (holder.clone(), draft.now + ttl);
    let lease = ResourceLease { name: name.clone(), token, holder, until };
    draft.delta.resource_leases.insert(name.clone(), lease);
    Ok(shown(draft, name))
}

pub(super) fn put(
    draft: &mut DecisionDraft<'_>,
    name: &ResourceName,
    value: &Value,
    token: FenceToken,
) -> Result<Reply, Refusal> {
    draft.fenced_put(name, value, token)?;
    Ok(shown(draft, name))
}

/// Validates the name of a new resource. An existing one keeps its name.
fn named(draft: &DecisionDraft<'_>, name: &ResourceName) -> Result<(), Refusal> {
    if draft.view.resource(name).is_some() || draft.view.resource_lease(name).is_some() {
        return Ok(());
    }
    check_name("the name of the resource", name.as_str())?;
    Ok(fits("the name of the resource", name.as_str())?)
}

fn shown(draft: &DecisionDraft<'_>, name: &ResourceName) -> Reply {
    let resource = draft.delta.resources.get(name).or_else(|| draft.view.resource(name));
    let lease = draft.delta.resource_leases.get(name).or_else(|| draft.view.resource_lease(name));
    Reply::Resource {
        resource: resource.cloned().map(Box::new),
        lease: lease.cloned().map(Box::new),
    }
}

impl DecisionDraft<'_> {
    /// Writes a resource, unless an equal or larger token has written it. A repetition of the same
    /// write has no effect.
    pub(super) fn fenced_put(
        &mut self,
        name: &ResourceName,
        value: &Value,
        token: FenceToken,
    ) -> Result<(), Refusal> {
        named(self, name)?;
        if token > FenceToken::LARGEST {
            return Err(Refusal::BadRequest(format!(
                "the token {token} is too large: {} is the largest under which `{name}` can be written",
                FenceToken::LARGEST
            )));
        }
        let stored = self.delta.resources.get(name).or_else(|| self.view.resource(name));
        if let Some(stored) = stored.filter(|stored| stored.token >= token) {
            if stored.token == token && stored.value == *value {
                return Ok(());
            }
            let current = stored.token;
            self.count(Metric::FencingRejected);
            return Err(Conflict::StaleToken { name: name.clone(), given: token, current }.into());
        }
        let resource = Resource { name: name.clone(), value: value.clone(), token };
        self.delta.resources.insert(name.clone(), resource);
        Ok(())
    }
}
