//! `segno shards`.

use std::{ops::RangeInclusive, str::FromStr};

use clap::{Args, Subcommand};
use segno_core::shard::{DatabaseIndex, ShardMap};
use segno_store::{Store as _, postgres::MovedShard};
use serde_json::{Value, json};

use super::{
    CliError, Console, Exit, build::other, item_table::ItemTable, place::StoreOptions,
    table::TextColumn,
};

/// Show and move the shards of a store in several databases
///
/// A store in several databases is divided into 256 shards, each of which lies in one of them. All
/// hosts may run. Name every database of the store with --store.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno shards status --store postgres://a/segno --store postgres://b/segno
  segno shards add postgres://c/segno --store postgres://a/segno --store postgres://b/segno
  segno shards move 0-84 --to 3
  segno shards drain 2
  segno shards balance")]
pub(super) struct ShardsArgs {
    #[command(subcommand)]
    what: ShardsCommand,
}

#[derive(Debug, Subcommand)]
enum ShardsCommand {
    Status(StatusArgs),
    Add(AddArgs),
    Move(MoveArgs),
    Drain(DrainArgs),
    Balance(BalanceArgs),
}

/// Show the databases of a store, their shards, and what is unfinished
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno shards status --store postgres://a/segno --store postgres://b/segno
  segno shards status --json | jq '.databases[0].shards'")]
struct StatusArgs {
    #[command(flatten)]
    place: StoreOptions,
}

/// Add a new database to a store
///
/// No shard lies in it yet. Start every host again with all databases, then move shards to it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno shards add postgres://c/segno --store postgres://a/segno --store postgres://b/segno")]
struct AddArgs {
    /// Address of the new database, which must be empty
    #[arg(value_name = "ADDRESS")]
    address: String,
    #[command(flatten)]
    place: StoreOptions,
}

/// Move shards to another database
///
/// Hosts go on. Nothing can write to a shard while it is copied; commands for it wait. A move that
/// is interrupted leaves the shard where it was.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno shards move 17 --to 2
  segno shards move 0-84,200 --to 3")]
struct MoveArgs {
    /// Shards, such as 17 or 0-84,200
    #[arg(value_name = "SHARDS")]
    shards: ShardList,
    /// Number of the database to move them to, from 1
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=64))]
    to: u16,
    #[command(flatten)]
    place: StoreOptions,
}

/// Move all shards out of a database, to those with the fewest
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno shards drain 2")]
struct DrainArgs {
    /// Number of the database, from 1
    #[arg(value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=64))]
    database: u16,
    #[command(flatten)]
    place: StoreOptions,
}

/// Move shards until every database has equally many
///
/// As few shards as possible move. A database that hosts do not know yet must not receive any:
/// start every host with all databases first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno shards balance --store postgres://a/segno --store postgres://b/segno")]
struct BalanceArgs {
    #[command(flatten)]
    place: StoreOptions,
}

/// Shards as written on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ShardList(Vec<RangeInclusive<u16>>);

impl FromStr for ShardList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = first.trim().parse().ok()?..=last.trim().parse().ok()?;
            (!range.is_empty()).then_some(range)
        };
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        ranges.map(Self).ok_or_else(|| "write numbers and ranges, as in 0-84,200".to_owned())
    }
}

/// A database in the table of `segno shards status`.
struct DatabaseShards {
    /// From 1.
    number: usize,
    address: String,
    shards: Vec<u16>,
}

impl ShardsArgs {
    pub(super) async fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        match self.what {
            ShardsCommand::Status(args) => args.run(console).await,
            ShardsCommand::Add(args) => args.run(console).await,
            ShardsCommand::Move(args) => {
                let to = usize::from(args.to) - 1;
                let moves = |_: &ShardMap| {
                    args.shards.0.into_iter().flatten().map(|shard| (shard, to)).collect()
                };
                move_all(&args.place, moves, console).await
            }
            ShardsCommand::Drain(args) => {
                move_all(&args.place, |map| map.drained(args.database - 1), console).await
            }
            ShardsCommand::Balance(args) => {
                move_all(&args.place, ShardMap::balanced, console).await
            }
        }
    }
}

impl StatusArgs {
    async fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let store = self.place.sharded_present().await?;
        let (map, addresses, missing) = (store.shards(), store.addresses(), store.missing());
        let in_doubt = store.oldest_in_doubt().await;
        store.close().await;
        let of = |(place, address): (usize, String)| {
            let lies = (0..).zip(&map.places).filter(|(_, at)| usize::from(**at) == place);
            let shards = lies.map(|(shard, _)| shard).collect();
            DatabaseShards { number: place + 1, address, shards }
        };
        let databases: Vec<_> = addresses.into_iter().enumerate().map(of).collect();
        if console.json() {
            let moving = map.moving.as_ref();
            let moving = moving.map(|moves| {
                json!({ "shard": moves.shard, "to": moves.to + 1, "halted": moves.is_halted })
            });
            let database = |of: &DatabaseShards| json!({ "number": of.number, "address": of.address, "shards": of.shards });
            return console
                .document(&json!({
                    "epoch": map.epoch,
                    "databases": databases.iter().map(database).collect::<Vec<_>>(),
                    "missing": missing,
                    "moving": moving,
                    "in_doubt_ms": in_doubt.map(|age| age.0),
                }))
                .map(|()| Exit::Done);
        }
        let table = ItemTable::new()
            .column(TextColumn::number("DATABASE"), |of: &DatabaseShards| of.number)
            .column(TextColumn::id("ADDRESS"), |of| of.address.clone())
            .column(TextColumn::number("SHARDS"), |of| of.shards.len())
            .column(TextColumn::text(""), |of| ranges(&of.shards));
        console.table(&table.rows(&databases))?;
        for address in missing {
            console.warn(&format!("{address} does not answer"));
        }
        if let Some(moves) = &map.moving {
            let state = if moves.is_halted { "is halted and" } else { "" };
            console.line(format!(
                "\nshard {} {state} moves to database {}",
                moves.shard,
                moves.to + 1
            ))?;
        }
        if let Some(age) = in_doubt {
            console.line(format!(
                "\na transaction over several databases has been prepared for {age}; a host finishes it within seconds"
            ))?;
        }
        Ok(Exit::Done)
    }
}

impl AddArgs {
    async fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let store = self.place.sharded().await?;
        let added = store.add_database(&self.address).await;
        store.close().await;
        let number = added.map_err(|error| other("not-added", &error))?;
        if console.json() {
            console.document(&json!({ "database": number }))?;
        } else {
            console.line(format!(
                "database {number} is part of the store: start every host again with all {number} databases, then move \
                 shards to it"
            ))?;
        }
        Ok(Exit::Done)
    }
}

/// Moves shards one after the other. Those that are in their database already are left out.
async fn move_all(
    place: &StoreOptions,
    moves: impl FnOnce(&ShardMap) -> Vec<(u16, DatabaseIndex)>,
    console: &mut Console,
) -> Result<Exit, CliError> {
    let store = place.sharded().await?;
    let moves = moves(&store.shards());
    let mut documents: Vec<Value> = Vec::new();
    let mut written = Ok(());
    let moved = {
        let mut progress = Some(console.progress("announcing the move to all hosts"));
        let told = |shard, to, moved: MovedShard| {
            progress = None;
            if console.json() {
                documents.push(json!({
                    "shard": shard,
                    "to": to + 1,
                    "promises": moved.promises,
                    "rows": moved.rows,
                    "halted_ms": moved.halted.as_millis() as u64,
                }));
            } else {
                let line =
                    console.line(format!("shard {shard} is in database {}: {moved}", to + 1));
                written = std::mem::replace(&mut written, Ok(())).and(line);
                progress = Some(console.progress("moving the next shard"));
            }
        };
        store.move_shards(&moves, told).await
    };
    store.close().await;
    if console.json() {
        console.document(&json!({ "moved": documents }))?;
    }
    moved.map_err(|error| other("not-moved", &error))?;
    written?;
    if !console.json() && moves.is_empty() {
        console.line("there is no shard to move")?;
    }
    Ok(Exit::Done)
}

/// Shards as ranges, such as `0-84, 200`.
fn ranges(shards: &[u16]) -> String {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for shard in shards {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *shard => *last = *shard,
            _ => ranges.push((*shard, *shard)),
        }
    }
    let range = |(first, last): &(u16, u16)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_written_as_numbers_and_ranges() {
        let list = |text: &str| text.parse::<ShardList>().map(|list| list.0);
        assert_eq!(list("17"), Ok(vec![17..=17]));
        assert_eq!(list("0-84, 200"), Ok(vec![0..=84, 200..=200]));
        for wrong in ["", "x", "5-3", "1-", "1,,2"] {
            assert!(list(wrong).is_err(), "{wrong}");
        }
        assert_eq!(ranges(&[0, 1, 2, 7, 9, 10]), "0-2, 7, 9-10");
        assert_eq!(ranges(&[]), "");
    }
}
