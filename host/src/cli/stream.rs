//! `segno stream`.

use std::path::PathBuf;

use clap::Args;
use segno_api::model::{StreamList, StreamView};
use segno_client::{Client, ClientError, StreamData};
use segno_core::id::ObjectId;
use serde_json::value::RawValue;

use super::{
    CliError, Console, Exit,
    bundled::{self, LoadedBundles},
    console::{CYAN, DIM},
    show::{plain, size},
    table::{TextCell, TextColumn, TextTable},
    text,
    time::{now_ms, relative},
};

/// Print a stream that an invocation or an object writes, or list its streams
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno stream order-1001                     # which streams it has
  segno stream order-1001 tokens              # what is there
  segno stream order-1001 tokens --follow     # and what follows, until it is closed
  segno stream order-1001 tokens --offset now --follow
  segno stream bank/Account@4711 history      # a stream of an object
  segno stream order-1001.segno-bundle tokens # from a bundle: no host, no network

Messages are printed one per line, other data as it is.")]
pub(super) struct StreamArgs {
    /// Id of the invocation, an object, or a bundle
    #[arg(value_name = "ID|OBJECT|FILE.segno-bundle")]
    id: String,
    /// Name of the stream
    name: Option<String>,
    /// Wait for more until the stream is closed, which happens when its invocation ends at the
    /// latest
    #[arg(long, short, requires = "name")]
    follow: bool,
    /// In a bundle: the id of the execution, if several have such a stream
    #[arg(long, value_name = "ID")]
    of: Option<String>,
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
        let (client, ids) = match bundled::named(&self.id) {
            Some(file) => self.in_bundle(file, console).await?,
            None => (self.on_host(host)?, vec![self.id.clone()]),
        };
        let Self { id: asked, name, follow, mut offset, .. } = self;
        let Some(name) = name else { return list(&client, &asked, &ids, console).await };
        let id = owner(&client, ids.first().map_or(asked.as_str(), String::as_str)).await?;
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

impl StreamArgs {
    fn on_host(
        &self,
        host: impl FnOnce() -> Result<Client, ClientError>,
    ) -> Result<Client, CliError> {
        match &self.of {
            None => Ok(host()?),
            Some(_) => Err(CliError::Usage(format!(
                "`{}` is no bundle: --of is for a bundle with several executions",
                plain(&self.id)
            ))),
        }
    }

    /// A client of the bundle, and the executions with the asked streams: one, if a name is given.
    async fn in_bundle(
        &self,
        file: PathBuf,
        console: &mut Console,
    ) -> Result<(Client, Vec<String>), CliError> {
        if self.follow {
            let message = "--follow is for what a host runs: a bundle does not change".to_owned();
            return Err(CliError::Usage(message));
        }
        let bundled = LoadedBundles::read(&[file])?;
        let of = self.of.as_deref().map(|of| bundled.subject(Some(of))).transpose()?;
        let mut ids: Vec<String> = Vec::new();
        for (id, name) in bundled.contents().streams() {
            let is_asked = of.as_deref().is_none_or(|of| of == id.as_str())
                && self.name.as_deref().is_none_or(|asked| asked == name);
            if is_asked && ids.last().is_none_or(|last| last != id.as_str()) {
                ids.push(id.to_string());
            }
        }
        if let Some(name) = &self.name {
            one_of(name, &ids)?;
        }
        bundled.remarks(console);
        Ok((bundled.client().await?, ids))
    }
}

/// The id that the streams belong to: that of the execution, or the one of an object's streams.
async fn owner(client: &Client, asked: &str) -> Result<String, CliError> {
    let Some(object) = ObjectId::parse(asked) else { return Ok(asked.to_owned()) };
    match client.invocation(asked).await {
        Ok(_) => Ok(asked.to_owned()),
        Err(error) if error.code() == "unknown-invocation" => Ok(object.streams().to_string()),
        Err(error) => Err(error.into()),
    }
}

/// Checks that exactly one execution has the stream.
fn one_of(name: &str, ids: &[String]) -> Result<(), CliError> {
    let name = plain(name);
    match ids {
        [_] => Ok(()),
        [] => Err(CliError::Other {
            code: "unknown-stream",
            message: format!(
                "the bundle has no stream `{name}`; `segno stream FILE` lists those that it has"
            ),
        }),
        [first, ..] => Err(CliError::Usage(format!(
            "{} executions in the bundle have a stream `{name}`: name one, as in `--of {}`",
            ids.len(),
            plain(first)
        ))),
    }
}

async fn list(
    client: &Client,
    asked: &str,
    ids: &[String],
    console: &mut Console,
) -> Result<Exit, CliError> {
    let mut found = Vec::new();
    for id in ids {
        found.push((id, client.streams(id).await?.streams));
    }
    if console.json() {
        let streams = found.into_iter().flat_map(|(_, streams)| streams).collect();
        console.document(&StreamList { streams })?;
        return Ok(Exit::Done);
    }
    if found.iter().all(|(_, streams)| streams.is_empty()) {
        let text = match bundled::named(asked) {
            Some(_) => "the bundle has no stream".to_owned(),
            None => format!("`{}` has written no stream", plain(asked)),
        };
        let line = console.paint(DIM, &text);
        console.line(line)?;
        return Ok(Exit::Done);
    }
    let is_one = found.len() == 1;
    for (number, (id, streams)) in found.iter().enumerate() {
        if !is_one {
            if number > 0 {
                console.line("")?;
            }
            let head = console.paint(CYAN, &plain(id));
            console.line(head)?;
        }
        table(streams, console)?;
    }
    Ok(Exit::Done)
}

/// The streams of an invocation that exists. Those of a generation are not here if the first one is
/// not, as in a bundle of the generation alone.
pub(super) async fn streams_of(client: &Client, id: &str) -> Result<Vec<StreamView>, ClientError> {
    match client.streams(id).await {
        Ok(list) => Ok(list.streams),
        Err(ClientError::Refused(problem)) if problem.code == "unknown-invocation" => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// Prints a table of streams.
pub(super) fn table(streams: &[StreamView], console: &mut Console) -> Result<(), CliError> {
    let mut table = TextTable::new(&[
        TextColumn::whole("STREAM"),
        TextColumn::whole("TYPE"),
        TextColumn::number("LENGTH"),
        TextColumn::whole(""),
        TextColumn::whole("STATE"),
        TextColumn::whole("LAST").rank(1),
        TextColumn::number("SIZE").rank(2),
    ]);
    let now = now_ms();
    streams.iter().for_each(|stream| table.row(row(stream, now)));
    console.table(&table)
}

fn row(stream: &StreamView, now_ms: i64) -> [TextCell; 7] {
    let unit = if is_json(&stream.content_type) { "messages" } else { "bytes" };
    [
        TextCell::from(&stream.name),
        TextCell::from(&stream.content_type),
        TextCell::from(stream.length),
        TextCell::from(unit),
        TextCell::from(if stream.closed { "closed" } else { "open" }),
        TextCell::from(relative(stream.used_at_ms, now_ms)),
        TextCell::from(size(stream.bytes)),
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
