//! `segno stream`.

use clap::Args;
use segno_api::model::StreamView;
use segno_client::{Client, ClientError, StreamData};
use serde_json::value::RawValue;

use super::{
    CliError, Console, Exit,
    console::DIM,
    show::plain,
    table::{TextCell, TextColumn, TextTable},
    text,
    time::{now_ms, relative},
};

/// Print a stream that an invocation writes, or list its streams
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno stream order-1001                     # which streams it has
  segno stream order-1001 tokens              # what is there
  segno stream order-1001 tokens --follow     # and what follows, until it is closed
  segno stream order-1001 tokens --offset now --follow

Messages are printed one per line, other data as it is.")]
pub(super) struct StreamArgs {
    /// Id of the invocation
    id: String,
    /// Name of the stream
    name: Option<String>,
    /// Wait for more until the stream is closed, which happens when the invocation ends at the
    /// latest
    #[arg(long, short, requires = "name")]
    follow: bool,
    /// Where to begin: an offset that was printed before, -1 for the beginning, now for the end
    #[arg(
        long,
        value_name = "OFFSET",
        default_value = "-1",
        allow_hyphen_values = true,
        requires = "name"
    )]
    offset: String,
}

impl StreamArgs {
    pub(super) async fn run(
        self,
        host: impl FnOnce() -> Result<Client, ClientError>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let (client, Self { id, name, follow, mut offset }) = (host()?, self);
        let Some(name) = name else { return list(&client, &id, console).await };
        loop {
            let data = client.stream(&id, &name, &offset, follow).await?;
            print(&data, console)?;
            let is_over = data.closed || !follow && data.up_to_date;
            offset = data.next_offset;
            if is_over {
                return Ok(Exit::Done);
            }
        }
    }
}

async fn list(client: &Client, id: &str, console: &mut Console) -> Result<Exit, CliError> {
    let streams = client.streams(id).await?;
    if console.json() {
        console.document(&streams)?;
        return Ok(Exit::Done);
    }
    if streams.streams.is_empty() {
        let line = console.paint(DIM, &format!("`{}` has written no stream", plain(id)));
        console.line(line)?;
        return Ok(Exit::Done);
    }
    let mut table = TextTable::new(&[
        TextColumn::whole("STREAM"),
        TextColumn::whole("TYPE"),
        TextColumn::number("LENGTH"),
        TextColumn::whole(""),
        TextColumn::whole("STATE"),
        TextColumn::whole("LAST").rank(1),
    ]);
    let now = now_ms();
    streams.streams.iter().for_each(|stream| table.row(row(stream, now)));
    console.table(&table)?;
    Ok(Exit::Done)
}

fn row(stream: &StreamView, now_ms: i64) -> [TextCell; 6] {
    let unit = if is_json(&stream.content_type) { "messages" } else { "bytes" };
    [
        TextCell::from(&stream.name),
        TextCell::from(&stream.content_type),
        TextCell::from(stream.length),
        TextCell::from(unit),
        TextCell::from(if stream.closed { "closed" } else { "open" }),
        TextCell::from(relative(stream.used_at_ms, now_ms)),
    ]
}

/// Prints messages one per line, text as text, and other data as it is.
///
/// # Errors
/// Other data would go to a terminal.
fn print(data: &StreamData, console: &mut Console) -> Result<(), CliError> {
    let StreamData { content_type, body, .. } = data;
    if body.is_empty() {
        return Ok(());
    }
    if is_json(content_type) {
        let messages: Vec<&RawValue> =
            serde_json::from_slice(body).map_err(std::io::Error::from)?;
        return messages.iter().try_for_each(|message| console.line(message.get()));
    }
    if console.width().is_none() {
        return console.raw(body);
    }
    if !content_type.starts_with("text/") {
        return Err(CliError::Usage(format!(
            "the stream is {}, which does not belong on a terminal: redirect the output to a file",
            plain(content_type)
        )));
    }
    let shown = String::from_utf8_lossy(body);
    let lines: Vec<_> = shown.split('\n').map(|line| text::tame(line, false)).collect();
    console.raw(lines.join("\n").as_bytes())
}

fn is_json(content_type: &str) -> bool {
    content_type.starts_with("application/json")
}
