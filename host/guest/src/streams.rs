//! The imports for streams in workflows, which record commands.

use segno_core::stream::OF_OBJECT;

use super::{
    Failure, Payload,
    bindings::segno::workflow::{activity_streams, streams},
    commands::{AppendStreamCommand, CloseStreamCommand},
    contract::size,
    trap::TrapCause,
    workflow::{WorkflowState, for_activities},
};

/// Maximum length of the name of a stream, in bytes.
const NAME_BYTES_MAX: usize = 1_024;
/// Maximum length of a content type, in bytes.
const TYPE_BYTES_MAX: usize = 256;
const INSTEAD: &str = "use `ctx.stream` (`segno:workflow/streams`)";

impl streams::Host for WorkflowState {
    fn append(
        &mut self,
        name: String,
        content_type: String,
        item: Payload,
    ) -> wasmtime::Result<u32> {
        self.check_stream(&name, &content_type)?;
        self.check(size(&item), || format!("item of the stream `{name}`"))?;
        self.command(AppendStreamCommand { name, content_type, item })
    }

    fn close(&mut self, name: String, content_type: String) -> wasmtime::Result<u32> {
        self.check_stream(&name, &content_type)?;
        self.command(CloseStreamCommand { name, content_type })
    }
}

impl WorkflowState {
    /// Checks the name and the content type of a stream of the invocation or of its object.
    fn check_stream(&self, name: &str, content_type: &str) -> wasmtime::Result<()> {
        let name = match name.strip_prefix(OF_OBJECT) {
            Some(name) => {
                self.writes("streams.append(object/…)")?;
                name
            }
            None => name,
        };
        Ok(check(name, content_type).map_err(TrapCause::Refused)?)
    }
}

impl activity_streams::Host for WorkflowState {
    async fn kept(&mut self, _: String) -> wasmtime::Result<Result<u64, Failure>> {
        Err(for_activities("activity-streams.kept", INSTEAD))
    }

    async fn append(
        &mut self,
        _: String,
        _: String,
        _: Payload,
    ) -> wasmtime::Result<Result<(), Failure>> {
        Err(for_activities("activity-streams.append", INSTEAD))
    }
}

/// Checks the name and the content type of a stream.
pub(super) fn check(name: &str, content_type: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains('/') {
        return Err(format!(
            "the name of a stream has 1 to {NAME_BYTES_MAX} bytes and no slash, and `{}` is none",
            name.chars().take(40).collect::<String>().escape_debug()
        ));
    }
    let is_media_type = |text: &str| {
        text.len() <= TYPE_BYTES_MAX
            && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
            && text.split_once('/').is_some_and(|(kind, rest)| !kind.is_empty() && !rest.is_empty())
    };
    if !is_media_type(content_type) {
        return Err(format!(
            "the content type of the stream `{name}` is `{}`: write one such as application/json or text/plain",
            content_type.chars().take(40).collect::<String>().escape_debug()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_content_types_are_checked() {
        assert_eq!(check("tokens", "application/json"), Ok(()));
        assert_eq!(check("a b", "text/plain; charset=utf-8"), Ok(()));
        for (name, content_type) in [
            ("", "text/plain"),
            ("a/b", "text/plain"),
            ("a", "text"),
            ("a", "/plain"),
            ("a", "text/"),
            ("a", "text/pl\nain"),
        ] {
            assert!(check(name, content_type).is_err(), "{name} {content_type}");
        }
        assert!(check(&"x".repeat(1_025), "text/plain").is_err());
    }
}
