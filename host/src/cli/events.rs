//! `segno events`.

use clap::Args;
use segno_api::model::EventQuery;
use segno_client::Client;
use segno_engine::events::CloudEvent;

use super::{
    CliError, Console, Exit,
    console::{CYAN, DIM},
    text,
};

/// Print unacknowledged events, the oldest first
///
/// An event stays until it is acknowledged, with --ack or over the API, or until a receiver of
/// `serve --events-url` has accepted it. So an event may be printed more than once, always with the
/// same id.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno events
  segno events --topic 'order.*' --json | jq .data
  segno events --follow --ack --json | while read -r event; do handle \"$event\"; done")]
pub(super) struct EventsArgs {
    /// Pattern of topics; * matches any text
    #[arg(long, value_name = "PATTERN")]
    topic: Option<String>,
    /// Acknowledge the printed events, so that they are not printed again
    #[arg(long)]
    ack: bool,
    /// Wait for further events
    #[arg(long, short)]
    follow: bool,
    /// Maximum number of events
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Maximum number of events in a page.
const PAGE: usize = 500;
/// Maximum wait of one request, in milliseconds.
const WAIT_MS: u64 = 30_000;

impl EventsArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let mut left = self.limit.unwrap_or(usize::MAX);
        let mut cursor = None;
        while left > 0 {
            let query = EventQuery {
                topic: self.topic.clone(),
                cursor: cursor.clone(),
                limit: Some(PAGE.min(left) as u32),
                wait_ms: self.follow.then_some(WAIT_MS),
            };
            let page = client.events(&query).await?;
            for event in &page.events {
                print(event, console)?;
            }
            left -= page.events.len().min(left);
            let ids: Vec<String> = page.events.into_iter().map(|event| event.id).collect();
            let read = !ids.is_empty();
            if self.ack && read {
                client.acknowledge(ids).await?;
                // Acknowledged events are removed: reading from the beginning misses nothing, not
                // even late commits.
                continue;
            }
            match page.next {
                Some(next) => cursor = Some(next),
                None if self.follow => {}
                None => break,
            }
        }
        Ok(Exit::Done)
    }
}

fn print(event: &CloudEvent, console: &mut Console) -> Result<(), CliError> {
    if console.json() {
        let text = serde_json::to_string(event).map_err(std::io::Error::from)?;
        return console.line(text::tame_json(text));
    }
    let at = console.paint(DIM, &event.time);
    let id = console.paint(CYAN, &event.id);
    let data = match (&event.data, &event.data_base64) {
        (Some(data), _) => data.to_string(),
        (None, bytes) => format!("{} {}", event.datacontenttype, bytes.as_deref().unwrap_or("")),
    };
    console.line(format!("{at}  {id}  {}  {data}", event.topic))
}
