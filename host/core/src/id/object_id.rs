//! Object ids, and the ids of promises that belong to objects.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{PromiseId, StreamId};
use crate::value::Text;

/// Name of the promise that the streams of an object belong to. It stays pending, and exists as
/// long as the object's content, so its streams do.
const STREAMS: &str = "segno:streams";

/// Id of an object: `MODULE/OBJECT@KEY`, where the module declares the object type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ObjectId(Text);

impl ObjectId {
    /// An object by its full name, `MODULE/OBJECT@KEY`.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(Text::from(id.into()))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The key: the part after the first `@`.
    pub fn key(&self) -> &str {
        self.as_str().split_once('@').map_or("", |(_, key)| key)
    }

    /// The promise with this name in the object.
    pub fn promise(&self, name: &str) -> PromiseId {
        PromiseId::new(format!("{}/p/{name}", self.in_ids()))
    }

    /// The promise that the streams of the object belong to.
    pub fn streams(&self) -> PromiseId {
        self.promise(STREAMS)
    }

    /// The stream with this name of the object.
    pub fn stream(&self, name: &str) -> StreamId {
        StreamId::of_execution(&self.streams(), name)
    }

    /// The object whose streams belong to this promise. `None` for any other promise.
    pub fn of_streams(id: &PromiseId) -> Option<Self> {
        let object = id.as_str().strip_suffix(STREAMS)?.strip_suffix("/p/")?;
        let (kind, escaped) = object.split_once('@')?;
        let mut parts = escaped.split('%');
        let mut key = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let code = part.get(..2).and_then(|code| u32::from_str_radix(code, 16).ok())?;
            key.push(char::from_u32(code)?);
            key.push_str(&part[2..]);
        }
        Self::parse(&format!("{kind}@{key}")).filter(|object| object.streams() == *id)
    }

    /// Parses the name of an object, `MODULE/OBJECT@KEY`. `None` if the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, key) = text.split_once('@')?;
        let (module, kind) = kind.split_once('/')?;
        let is_whole = ![module, kind, key].contains(&"");
        is_whole.then(|| Self::new(text))
    }

    /// Exclusive bounds around the ids of all promises of the object.
    pub fn promises(&self) -> [PromiseId; 2] {
        let object = self.in_ids();
        // `0` is the character after `/`.
        ["/", "0"].map(|end| PromiseId::new(format!("{object}/p{end}")))
    }

    /// Name of a promise within the object. `None` if the promise does not belong to it.
    pub fn name_of<'a>(&self, promise: &'a PromiseId) -> Option<&'a str> {
        let rest = promise.as_str().strip_prefix(&self.in_ids())?.strip_prefix("/p/")?;
        Some(rest).filter(|name| !name.is_empty())
    }

    /// Default id of the run of this key by a function.
    pub fn run(&self, function: &str) -> PromiseId {
        PromiseId::new(format!("{}/{function}", self.in_ids()))
    }

    /// The object's name, escaped for use as a prefix of ids.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_one_object_is_never_that_of_another() {
        let id = |key: &str| ObjectId::new(format!("web/Signup@{key}"));
        assert_eq!(id("ada").promise("mail").as_str(), "web/Signup@ada/p/mail");
        assert_eq!(id("ada").run("run").as_str(), "web/Signup@ada/run");
        assert_eq!(id("a/b%2F").run("run").as_str(), "web/Signup@a%2Fb%252F/run");
        assert_eq!(id("é \n").run("run").as_str(), "web/Signup@é %0A/run");
        // Promises of the run of `ada`, compared with those of keys that look like a part of such
        // ids.
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
        let log = id("a/b").stream("log");
        assert_eq!(log.as_str(), "web/Signup@a%2Fb/p/segno:streams/stream/log");
        assert_eq!((log.owner(), log.name()), (Some(id("a/b").streams()), "log"));
        assert_eq!(
            ObjectId::of_streams(
                &id("a/b%2F
")
                .streams()
            ),
            Some(id("a/b%2F
"))
        );
        assert!(log.is_of_object() && after < id("ada").streams() && id("ada").streams() < before);
        for other in [
            "web/Signup@ada",
            "w/p/segno:streams",
            "a/b@1/2/p/segno:streams",
            "a/b@%zz/p/segno:streams",
        ] {
            assert_eq!(ObjectId::of_streams(&other.into()), None, "{other}");
        }
        assert_eq!(ObjectId::parse("web/Signup@a/b"), Some(id("a/b")));
        for other in ["Signup@ada", "web/Signup@", "web/@ada", "order-1", "/Signup@ada"] {
            assert_eq!(ObjectId::parse(other), None, "{other}");
        }
        assert!(after < ours && ours < before);
        for other in [id("ada").run("run"), id("adam").promise("x"), id("ada/p").promise("x")] {
            assert!(other <= after || other >= before, "{other}");
        }
    }
}
