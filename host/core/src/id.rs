//! Names of things: promises, modules, hosts, claims. A client's id is opaque; only ids the engine
//! mints have a form.
//!
//! ```text
//! {inv}/{k}         the promise of command k of invocation inv
//! {inv}/p/{name}    a named promise
//! {inv}/s/{n}       its n-th signal
//! {inv}/c/{saga}/{seq}   the compensation of a step of one of its sagas
//! {inv}/u/{saga}/{seq}   what a person says of a step whose effect is unknown
//! {run}/n/{node}/{k}     attempt k of a node of a graph run
//! {run}/sig/{name}  a signal to a graph run
//! {object}/p/{name} a promise of an object, which belongs to no execution
//! {object}/{function}    the run of a key, if its starter gives it no other id
//! ```
//!
//! There, an object is `MODULE/OBJECT@KEY` with `%2F` for each slash of the key, `%25` for each percent sign,
//! and the same for control characters: a key may contain anything, and no two objects have ids in common.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::value::Text;

/// The most bytes, as they are stored, of what a client names: the id of a promise or a schedule,
/// the key of a signal, the name of a resource, a holder, a module.
///
/// Every store looks names up in an index, and PostgreSQL's hold about 2,700 bytes a key, whatever
/// the text. So the limit is the same everywhere, and a name beyond it is refused when something is
/// made under it. What an earlier version made under a longer one is read and worked on as ever.
pub const LONGEST: usize = 2_048;

/// The most bytes of an id that lies under an invocation: its steps have room under the longest id
/// of a client's.
pub const LONGEST_MINTED: usize = 2_560;

/// A name with more bytes than a store looks up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} (`{begins}…`) is too long: it takes {bytes} bytes, and {limit} are the most")]
pub struct TooLong {
    /// What it names.
    pub what: &'static str,
    /// How it begins.
    pub begins: String,
    /// Its bytes, as they are stored.
    pub bytes: usize,
    /// The limit.
    pub limit: usize,
}

/// Checks that stores can look up what a client named `text`.
///
/// # Errors
/// [`TooLong`].
pub fn fits(what: &'static str, text: &str) -> Result<(), TooLong> {
    fits_within(what, text, LONGEST)
}

/// Checks that stores can look up `id`, which lies under `owner`.
///
/// # Errors
/// [`TooLong`].
pub fn fits_under(owner: &PromiseId, id: &PromiseId) -> Result<(), TooLong> {
    // An owner beyond the limit was made by an earlier version, in a store that takes such ids; it
    // goes on.
    let before = Some(stored_bytes(owner.as_str())).filter(|bytes| *bytes > LONGEST_MINTED);
    let limit = before.map_or(LONGEST_MINTED, |bytes| bytes + LONGEST);
    fits_within("the id of a step", id.as_str(), limit)
}

/// Checks that what a client named `text` has at most `limit` bytes.
///
/// # Errors
/// [`TooLong`].
pub fn fits_within(what: &'static str, text: &str, limit: usize) -> Result<(), TooLong> {
    let bytes = stored_bytes(text);
    if bytes <= limit {
        return Ok(());
    }
    Err(TooLong { what, begins: text.chars().take(40).collect(), bytes, limit })
}

/// The bytes of a text in the store that needs most: U+0000 and U+0001 take two there.
fn stored_bytes(text: &str) -> usize {
    text.len() + text.bytes().filter(|byte| *byte <= 1).count()
}

/// The id of a promise, of its task and of its invocation: they share it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PromiseId(Text);

/// A SHA-256 digest; it names a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Digest(pub [u8; 32]);

/// A host machine, stable over restarts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeName(Text);

/// A schedule.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScheduleId(Text);

/// Something that several writers share: its value is written under fencing tokens.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResourceName(Text);

/// An object: a key of a kind of object that a module declares, `MODULE/OBJECT@KEY`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ObjectId(Text);

/// One life of one host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Holder {
    /// The machine.
    pub node: NodeName,
    /// How many times it had started.
    pub incarnation: u64,
}

/// Before the name of a external worker, where hosts stand under their own.
const WORKER: &str = "worker:";

/// The fencing token of a task: raised whenever its claim changes hands.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Version(pub u64);

/// One claim on a task: every write made for the task presents it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Claim {
    /// The task.
    pub id: PromiseId,
    /// Its version under this claim.
    pub version: Version,
}

impl Claim {
    /// The claim of the holder that makes a task, where tasks are born at the version `born`
    /// ([`View::first_version`](crate::view::View::first_version)).
    pub fn first(id: PromiseId, born: Version) -> Self {
        Self { id, version: born.next() }
    }
}

/// The number of a command within its invocation, from 0.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CommandIndex(pub u32);

/// Text that is not a SHA-256 digest in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digest: it takes 64 hexadecimal digits")]
pub struct NotADigest(String);

impl PromiseId {
    /// An id as a client chose it; every text is accepted.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(Text::from(id.into()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The promise of command `index` of this invocation.
    pub fn command(&self, index: CommandIndex) -> Self {
        Self::new(format!("{self}/{}", index.0))
    }

    /// The promise this invocation knows as `name`.
    pub fn named(&self, name: &str) -> Self {
        Self::new(format!("{self}/p/{name}"))
    }

    /// The promise of the `n`-th signal to this invocation.
    pub fn signal(&self, n: u32) -> Self {
        Self::new(format!("{self}/s/{n}"))
    }

    /// The promise of the answer of the update that is the `n`-th signal to this invocation.
    pub fn answer(&self, n: u32) -> Self {
        Self::new(format!("{self}/a/{n}"))
    }

    /// The promise of the compensation of a step of a saga of this invocation.
    pub fn compensation(&self, saga: &str, seq: u32) -> Self {
        Self::new(format!("{self}/c/{saga}/{seq}"))
    }

    /// The saga and the step that this is the compensation of, if it is one of `invocation`'s.
    pub fn compensates(&self, invocation: &Self) -> Option<(Text, u32)> {
        let rest = self.as_str().strip_prefix(invocation.as_str())?.strip_prefix("/c/")?;
        let (saga, seq) = rest.rsplit_once('/')?;
        let seq = seq.parse().ok()?;
        (invocation.compensation(saga, seq) == *self).then(|| (Text::from(saga), seq))
    }

    /// The promise by which a person says whether a step of a saga of this invocation acted.
    pub fn verdict_on(&self, saga: &str, seq: u32) -> Self {
        Self::new(format!("{self}/u/{saga}/{seq}"))
    }

    /// The saga and the step about which `promise` asks, if it is one of [`Self::verdict_on`].
    pub fn asked_about<'a>(&self, promise: &'a str) -> Option<(&'a str, &'a str)> {
        promise.strip_prefix(self.as_str())?.strip_prefix("/u/")?.rsplit_once('/')
    }

    /// An attempt of a node of this graph run.
    pub fn attempt(&self, node: &str, attempt: u32) -> Self {
        Self::new(format!("{self}/n/{node}/{attempt}"))
    }

    /// The node that this is an attempt of, if it is one of `run`'s.
    pub fn node_of(&self, run: &Self) -> Option<&str> {
        let rest = self.as_str().strip_prefix(run.as_str())?.strip_prefix("/n/")?;
        Some(rest.split_once('/')?.0)
    }

    /// The promise of this graph run's signal with a name.
    pub fn run_signal(&self, name: &str) -> Self {
        Self::new(format!("{self}/sig/{name}"))
    }

    /// Whether it belongs to the tree below `root` in any of the ways in which clients write that.
    pub fn lies_under(&self, root: &str) -> bool {
        let rest = self.as_str().strip_prefix(root);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':', '/']))
    }

    /// Whether this id lies under `owner`, where only `owner` may make promises.
    pub fn is_minted_by(&self, owner: &Self) -> bool {
        self.as_str()
            .strip_prefix(owner.as_str())
            .is_some_and(|rest| rest.starts_with('/') && rest.len() > 1)
    }
}

impl Version {
    /// The version after one more change of hands.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl CommandIndex {
    /// The command after this one.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of several parts, each told apart from its neighbours by its length.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }
}

impl Holder {
    /// A external worker, by the name it gives itself.
    pub fn worker(pid: &str) -> Self {
        Self { node: NodeName::new(format!("{WORKER}{pid}")), incarnation: 0 }
    }

    /// The name a external worker gave itself; none: a host.
    pub fn worker_pid(&self) -> Option<&str> {
        self.node.worker_pid()
    }
}

impl NodeName {
    /// The name a external worker gave itself; none: a host.
    pub fn worker_pid(&self) -> Option<&str> {
        self.as_str().strip_prefix(WORKER)
    }

    /// A node's name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(Text::from(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl ScheduleId {
    /// An id as a client chose it.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(Text::from(id.into()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl ResourceName {
    /// A name as a client chose it.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(Text::from(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl ObjectId {
    /// An object by its full name, `MODULE/OBJECT@KEY`.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(Text::from(id.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Its key: what follows the first `@`.
    pub fn key(&self) -> &str {
        self.as_str().split_once('@').map_or("", |(_, key)| key)
    }

    /// The promise that this object knows as `name`.
    pub fn promise(&self, name: &str) -> PromiseId {
        PromiseId::new(format!("{}/p/{name}", self.in_ids()))
    }

    /// What the ids of all its promises lie between, these two not included.
    pub fn promises(&self) -> [PromiseId; 2] {
        let object = self.in_ids();
        // `0` follows the slash.
        ["/", "0"].map(|end| PromiseId::new(format!("{object}/p{end}")))
    }

    /// The name under which this object knows a promise, if it is one of its own.
    pub fn name_of<'a>(&self, promise: &'a PromiseId) -> Option<&'a str> {
        let rest = promise.as_str().strip_prefix(&self.in_ids())?.strip_prefix("/p/")?;
        Some(rest).filter(|name| !name.is_empty())
    }

    /// The run of its key by a function, if its starter gives it no other id.
    pub fn run(&self, function: &str) -> PromiseId {
        PromiseId::new(format!("{}/{function}", self.in_ids()))
    }

    /// As it stands before what belongs to it.
    fn in_ids(&self) -> String {
        let Some((kind, key)) = self.as_str().split_once('@') else { return self.to_string() };
        let mut object = format!("{kind}@");
        for letter in key.chars() {
            match letter {
                letter if matches!(letter, '%' | '/') || letter.is_control() => {
                    object.push_str(&format!("%{:02X}", letter as u32));
                }
                letter => object.push(letter),
            }
        }
        object
    }
}

impl From<&str> for ObjectId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl From<&str> for ResourceName {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<&str> for ScheduleId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl From<&str> for PromiseId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl From<&str> for NodeName {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl FromStr for Digest {
    type Err = NotADigest;
    fn from_str(hex: &str) -> Result<Self, NotADigest> {
        let refuse = || NotADigest(hex.to_owned());
        if hex.len() != 64 || !hex.is_ascii() {
            return Err(refuse());
        }
        let mut bytes = [0; 32];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * place..2 * place + 2], 16).map_err(|_| refuse())?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! shown_as_text {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), f)
            }
        }
    )*};
}
pub(crate) use shown_as_text;
shown_as_text!(PromiseId, NodeName, ScheduleId, ResourceName, ObjectId);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for CommandIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.node, self.incarnation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minted_ids_lie_under_their_owner() {
        let owner = PromiseId::from("order/42");
        assert_eq!(owner.command(CommandIndex(7)).as_str(), "order/42/7");
        assert_eq!(owner.named("approval").as_str(), "order/42/p/approval");
        assert_eq!(owner.signal(0).as_str(), "order/42/s/0");
        assert!(owner.signal(0).is_minted_by(&owner));
        assert_eq!(owner.attempt("load", 2).node_of(&owner), Some("load"));
        assert_eq!(owner.command(CommandIndex(7)).node_of(&owner), None);
        for stranger in ["order/42", "order/42/", "order/421", "order/421/0", "x"] {
            assert!(!PromiseId::from(stranger).is_minted_by(&owner), "{stranger}");
        }
    }

    #[test]
    fn what_belongs_to_one_object_is_never_that_of_another() {
        let id = |key: &str| ObjectId::new(format!("web/Signup@{key}"));
        assert_eq!(id("ada").promise("mail").as_str(), "web/Signup@ada/p/mail");
        assert_eq!(id("ada").run("run").as_str(), "web/Signup@ada/run");
        assert_eq!(id("a/b%2F").run("run").as_str(), "web/Signup@a%2Fb%252F/run");
        assert_eq!(id("é \n").run("run").as_str(), "web/Signup@é %0A/run");
        // What the run of `ada` makes, and what belongs to keys that look like a part of that.
        let run = id("ada").run("run");
        assert_ne!(run.named("mail"), id("ada/run").promise("mail"));
        assert_ne!(id("ada").promise("run"), id("ada/p").run("run"));
        assert_ne!(id("a/b").promise("x"), id("a%2Fb").promise("x"));
        let ours = id("ada").promise("a/b");
        assert_eq!(id("ada").name_of(&ours), Some("a/b"));
        for other in ["ad", "ada/p", "adam"] {
            assert_eq!(id(other).name_of(&ours), None, "{other}");
        }
        let [after, before] = id("ada").promises();
        assert!(after < ours && ours < before);
        for other in [id("ada").run("run"), id("adam").promise("x"), id("ada/p").promise("x")] {
            assert!(other <= after || other >= before, "{other}");
        }
    }

    #[test]
    fn a_name_that_no_index_holds_does_not_fit() {
        assert_eq!(fits("the id", &"x".repeat(LONGEST)), Ok(()));
        let refused = fits("the id", &"é".repeat(LONGEST / 2 + 1)).expect_err("too long");
        assert_eq!((refused.bytes, refused.limit), (LONGEST + 2, LONGEST));
        assert!(refused.to_string().len() < 200, "{refused}");
        // As PostgreSQL stores them.
        assert!(fits("the id", &"\u{0}".repeat(LONGEST / 2 + 1)).is_err());
        assert_eq!(fits("the id", &"\u{1}".repeat(LONGEST / 2)), Ok(()));
        // The longest id of a client's has room for its steps; an older one, longer than any, has
        // as well.
        for length in [LONGEST, LONGEST_MINTED + 1, 9_000] {
            let owner = PromiseId::new("x".repeat(length));
            assert_eq!(fits_under(&owner, &owner.command(CommandIndex(u32::MAX))), Ok(()));
        }
        let owner = PromiseId::new("x".repeat(LONGEST_MINTED));
        assert!(fits_under(&owner, &owner.command(CommandIndex(0))).is_err());
    }

    #[test]
    fn a_tree_is_told_by_the_ids_of_its_members() {
        for id in ["root", "root.0", "root:0.1", "root:d1f", "root/7"] {
            assert!(PromiseId::from(id).lies_under("root"), "{id}");
        }
        for id in ["roots", "other:root", "roo", ""] {
            assert!(!PromiseId::from(id).lies_under("root"), "{id}");
        }
    }

    #[test]
    fn a_digest_reads_what_it_writes() {
        let digest = Digest::of(b"");
        assert_eq!(
            digest.to_string(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for wrong in ["", "e3", &"g".repeat(64), &"é".repeat(32)] {
            assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
        }
    }
}
