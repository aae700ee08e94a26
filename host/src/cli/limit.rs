//! `segno limit`.

use std::{collections::BTreeMap, str::FromStr, time::Duration};

use clap::{Args, Subcommand, ValueEnum};
use segno_api::model::{
    LimitChanged, LimitItem, LimitKey, LimitListQuery, LimitQuery, LimitSource, LimitView, SetLimit,
};
use segno_client::Client;
use segno_core::{
    limit::{
        AdmissionBounds, AdmissionRate, AdmissionRule, DebounceRule, PriorityOrder, PriorityRule,
        SingletonPolicy,
    },
    time::Millis,
    value::Text,
};

use super::{
    CliError, Console, Exit, behind,
    console::CYAN,
    input::read_json,
    item_table::ItemTable,
    limit_words::limit_words,
    pages::{self, PageOptions},
    show::{facts, plain},
    table::TextColumn,
    time::{as_ms, now_ms, read_length, relative},
};

/// Show and set limits on the concurrency and rate of a function's executions
///
/// Executions beyond a limit wait, and begin in the order in which they arrived: keys take turns,
/// and a higher priority goes first. A limit set here overrides the one that the module declares.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno limit list
  segno limit show shop/order --keys
  segno limit set shop/order --key customer.id --concurrency 5
  segno limit set shop/Cart/add --rate 10/s --burst 20
  segno limit clear shop/order       # back to what the module declares")]
pub(super) struct LimitArgs {
    #[command(subcommand)]
    what: LimitCommand,
}

#[derive(Debug, Subcommand)]
enum LimitCommand {
    List(LimitListArgs),
    Show(LimitShowArgs),
    Set(Box<LimitSetArgs>),
    Clear(LimitClearArgs),
}

/// List the limits that modules declare or operators set
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno limit list
  segno limit list --all --json | jq '.items[] | select(.waiting > 0)'")]
struct LimitListArgs {
    #[command(flatten)]
    pages: PageOptions,
}

/// Show a limit: its rule and origin, the running and the waiting executions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno limit show shop/order
  segno limit show shop/order --keys --all
  segno limit show shop/order --keys --json | jq '.keys[] | {key, waiting}'")]
struct LimitShowArgs {
    /// Function: MODULE/FUNCTION, or MODULE/OBJECT/FUNCTION
    #[arg(value_name = "MODULE/FUNCTION")]
    name: LimitedFunction,
    /// Show the keys with running or waiting executions, or with too few tokens
    #[arg(long)]
    keys: bool,
    #[command(flatten)]
    pages: PageOptions,
}

/// Set the limit of a function: the whole rule, which replaces the previous one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno limit set shop/order --concurrency 100
  segno limit set shop/order --key customer.id --concurrency 5 --total-concurrency 100
  segno limit set shop/order --key customer.id --rate 10/s --burst 20 --weight acme=5
  segno limit set shop/order --concurrency 5 --priority urgency
  segno limit set reports/build --key account --singleton skip
  segno limit set index/update --key page --debounce 5s --debounce-longest 1m
  segno limit set shop/order --file rule.json     # as `segno limit show --json` has it in `rule`")]
struct LimitSetArgs {
    /// Function: MODULE/FUNCTION, or MODULE/OBJECT/FUNCTION
    #[arg(value_name = "MODULE/FUNCTION")]
    name: LimitedFunction,
    /// Path of the key in the input, as customer.id; without it all executions have one key
    #[arg(long, value_name = "PATH")]
    key: Option<String>,
    /// Maximum number of concurrent executions of a key
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// Maximum rate of starts of a key: 10/s, 100/m, 5/10s
    #[arg(long, value_name = "COUNT/TIME", value_parser = read_rate)]
    rate: Option<AdmissionRate>,
    /// Maximum burst of starts of a key (default: COUNT)
    #[arg(long, value_name = "N", requires = "rate")]
    burst: Option<u32>,
    /// Maximum number of concurrent executions of all keys
    #[arg(long, value_name = "N")]
    total_concurrency: Option<u32>,
    /// Maximum rate of starts of all keys
    #[arg(long, value_name = "COUNT/TIME", value_parser = read_rate)]
    total_rate: Option<AdmissionRate>,
    /// Maximum burst of starts of all keys (default: COUNT)
    #[arg(long, value_name = "N", requires = "total_rate")]
    total_burst: Option<u32>,
    /// Path of the priority in the input, a number from 0 to 9; a higher one goes first
    #[arg(long, value_name = "PATH")]
    priority: Option<String>,
    /// A higher priority gets more turns, instead of all turns
    #[arg(long, requires = "priority")]
    weighted: bool,
    /// Number of turns of a key for each turn of the others; may be repeated
    #[arg(long = "weight", value_name = "KEY=N", value_parser = read_weight)]
    weights: Vec<(String, u32)>,
    /// Rule for a new execution whose key already has one
    #[arg(long, value_enum, value_name = "RULE", conflicts_with = "debounce")]
    singleton: Option<SingletonChoice>,
    /// Begin only the last of several executions of a key, once none has arrived for this long
    #[arg(long, value_name = "LENGTH", value_parser = read_length)]
    debounce: Option<Duration>,
    /// Maximum delay by --debounce since the first of them
    #[arg(long, value_name = "LENGTH", value_parser = read_length, requires = "debounce")]
    debounce_longest: Option<Duration>,
    /// File with the rule as JSON, or - for standard input, instead of options
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "key", "concurrency", "rate", "total_concurrency", "total_rate", "priority", "weights",
            "singleton", "debounce"
        ]
    )]
    file: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SingletonChoice {
    /// The new execution does not begin
    Skip,
    /// The other execution is cancelled, and the new one begins when it has ended
    Replace,
}

/// Return to the limit that the module declares, or to none
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno limit clear shop/order")]
struct LimitClearArgs {
    /// Function: MODULE/FUNCTION, or MODULE/OBJECT/FUNCTION
    #[arg(value_name = "MODULE/FUNCTION")]
    name: LimitedFunction,
}

/// The name of the limited function.
#[derive(Debug, Clone)]
struct LimitedFunction {
    module: String,
    function: String,
}

impl FromStr for LimitedFunction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('@') {
            let reason = "a limit is of all objects of a kind: write MODULE/OBJECT/FUNCTION, without @KEY, such as cart/Cart/add";
            return Err(reason.to_owned());
        }
        let parts = text.strip_prefix("wasm://").unwrap_or(text).split_once('/');
        let whole = parts.filter(|(module, function)| !module.is_empty() && !function.is_empty());
        let (module, function) =
            whole.ok_or("write MODULE/FUNCTION, such as shop/order".to_owned())?;
        Ok(Self { module: module.into(), function: function.into() })
    }
}

impl LimitedFunction {
    fn parts(&self) -> [&str; 2] {
        [&self.module, &self.function]
    }
}

/// Parses `10/s`, `100/m` or `5/10s`; the burst defaults to the count.
fn read_rate(text: &str) -> Result<AdmissionRate, String> {
    let wrong = "write COUNT/TIME, such as 10/s, 100/m or 5/10s";
    let (count, time) = text.split_once('/').ok_or(wrong)?;
    let count: u32 = count.trim().parse().map_err(|_| wrong)?;
    let time = time.trim();
    let length = match time.starts_with(|first: char| first.is_ascii_digit()) {
        true => read_length(time),
        false => read_length(&format!("1{time}")),
    };
    let period = length.map_err(|_| wrong)?.as_millis();
    let period_ms = Millis(i64::try_from(period).unwrap_or(i64::MAX));
    Ok(AdmissionRate { count, period_ms, burst: count })
}

/// Parses `KEY=N`; the key may contain an equals sign.
fn read_weight(text: &str) -> Result<(String, u32), String> {
    let wrong = "write KEY=N, such as acme=5";
    let (key, weight) = text.rsplit_once('=').ok_or(wrong)?;
    Ok((key.to_owned(), weight.parse().map_err(|_| wrong)?))
}

impl LimitArgs {
    pub(super) async fn run(
        self: Box<Self>,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        match self.what {
            LimitCommand::List(list) => list.run(client, console).await?,
            LimitCommand::Show(show) => show.run(client, console).await?,
            LimitCommand::Set(set) => {
                let (name, rule) = (set.name.clone(), set.rule()?);
                changed(&client.set_limit(name.parts(), Some(&rule)).await?, console)?;
            }
            LimitCommand::Clear(LimitClearArgs { name }) => {
                changed(&client.set_limit(name.parts(), None).await?, console)?;
            }
        }
        Ok(Exit::Done)
    }
}

impl LimitListArgs {
    async fn run(self, client: &Client, console: &mut Console) -> Result<(), CliError> {
        let ask = async |after, limit, partial| {
            client.limits(&LimitListQuery { partial, after, limit: Some(limit) }).await
        };
        let found = self.pages.read_present(ask).await?;
        ItemTable::new()
            .column(TextColumn::id("FUNCTION"), |item: &LimitItem| plain(&item.limit))
            .column(TextColumn::number("RUNNING"), |item| item.running)
            .column(TextColumn::number("WAITING"), |item| item.waiting)
            .column(TextColumn::whole("SET BY").rank(1), |item| item.source.map_or("-", source))
            .column(TextColumn::prose("LIMIT"), |item| words(item.rule.as_ref()))
            .print("no limits; set one with `segno limit set MODULE/FUNCTION`", &found, console)
    }
}

impl LimitShowArgs {
    async fn run(self, client: &Client, console: &mut Console) -> Result<(), CliError> {
        let ask = async |after, limit| {
            client.limit(self.name.parts(), &LimitQuery { after, limit: Some(limit) }).await
        };
        let pages = if self.keys { self.pages } else { PageOptions::first(1) };
        let view = pages.read(ask).await?;
        if console.json() {
            return match self.keys {
                true => console.document(&view),
                false => console.document(&view.limit),
            };
        }
        head(&view, console)?;
        if self.keys {
            keys(&view, console)?;
        }
        Ok(())
    }
}

impl LimitSetArgs {
    /// The rule from the options, or from the file.
    fn rule(self) -> Result<SetLimit, CliError> {
        if let Some(file) = &self.file {
            let source = if file == "-" { file.clone() } else { format!("@{file}") };
            return serde_json::from_value(read_json(&source)?).map_err(|error| {
                CliError::Usage(format!(
                    "{file} is no rule of a limit: {error}; `segno limit show MODULE/FUNCTION --json` prints one in `rule`"
                ))
            });
        }
        let text = |path: String| Text::from(path.as_str());
        let with = |rate: Option<AdmissionRate>, burst: Option<u32>| {
            rate.map(|rate| AdmissionRate { burst: burst.unwrap_or(rate.burst), ..rate })
        };
        let order = if self.weighted { PriorityOrder::Weighted } else { PriorityOrder::Strict };
        let weights = self.weights.into_iter().map(|(key, weight)| (text(key), weight));
        let longest_ms = self.debounce_longest.map(millis).transpose()?;
        let debounce = self.debounce.map(millis).transpose()?;
        Ok(SetLimit(AdmissionRule {
            key: self.key.map(text),
            per_key: AdmissionBounds {
                concurrency: self.concurrency,
                rate: with(self.rate, self.burst),
            },
            total: AdmissionBounds {
                concurrency: self.total_concurrency,
                rate: with(self.total_rate, self.total_burst),
            },
            priority: self.priority.map(|path| PriorityRule { path: text(path), order }),
            weights: weights.collect::<BTreeMap<_, _>>(),
            singleton: self.singleton.map(|another| match another {
                SingletonChoice::Skip => SingletonPolicy::Skip,
                SingletonChoice::Replace => SingletonPolicy::Replace,
            }),
            debounce: debounce.map(|period_ms| DebounceRule { period_ms, longest_ms }),
        }))
    }
}

fn millis(length: Duration) -> Result<Millis, CliError> {
    Ok(Millis(i64::try_from(as_ms(length)?).unwrap_or(i64::MAX)))
}

fn changed(changed: &LimitChanged, console: &mut Console) -> Result<(), CliError> {
    if console.json() {
        return console.document(changed);
    }
    let item = &changed.limit;
    title(item, console)?;
    let before = words(changed.before.rule.as_ref());
    let before = match changed.before.source {
        Some(LimitSource::Operator) => format!("{before} (set by an operator)"),
        Some(LimitSource::Module) => format!("{before} (declared by the module)"),
        None => before,
    };
    let mut lines = vec![("before", before)];
    lines.extend(origin(item));
    lines.extend(counts(item));
    facts(lines, console)
}

fn title(item: &LimitItem, console: &mut Console) -> Result<(), CliError> {
    let name = console.paint(CYAN, &plain(&item.limit));
    console.paragraph("", &format!("{name}  {}", words(item.rule.as_ref())), 2)
}

fn head(view: &LimitView, console: &mut Console) -> Result<(), CliError> {
    let (item, now) = (&view.limit, now_ms());
    title(item, console)?;
    let Some(rule) = &item.rule else {
        let hint = format!("`segno limit set {}` limits it", plain(&item.limit));
        let lines = if item.running + item.waiting > 0 { counts(item) } else { Vec::new() };
        facts(lines, console)?;
        console.remark(&hint);
        return Ok(());
    };
    let mut lines: Vec<_> = origin(item).into_iter().collect();
    if !rule.weights.is_empty() {
        let weights = rule.weights.iter().map(|(key, weight)| format!("{}={weight}", plain(key)));
        lines.push(("weights", weights.collect::<Vec<_>>().join(" ")));
    }
    lines.extend(counts(item));
    // With a single key, its tokens are those of the limit.
    let only = view.keys.first().filter(|_| rule.key.is_none());
    let (bounds, tokens, next) = match (&rule.key, only) {
        (Some(_), _) => (rule.total, item.tokens, item.next_token_at_ms),
        (None, Some(key)) => (rule.of_key(), key.tokens, key.next_token_at_ms),
        (None, None) => (rule.of_key(), None, None),
    };
    if let Some(rate) = bounds.rate {
        let tokens = tokens.unwrap_or(rate.burst);
        let next = next.map(|at| format!(", the next {}", relative(at, now)));
        lines.push(("tokens", format!("{tokens} of {}{}", rate.burst, next.unwrap_or_default())));
    }
    let debounced = only.and_then(|key| key.debounced_until_ms);
    lines
        .extend(debounced.map(|at| ("debounce", format!("the last begins {}", relative(at, now)))));
    facts(lines, console)
}

/// The origin of the effective rule.
fn origin(item: &LimitItem) -> Option<(&'static str, String)> {
    let said = match (item.source?, &item.declared) {
        (LimitSource::Module, _) => "declared by the module".to_owned(),
        (LimitSource::Operator, None) => "set by an operator".to_owned(),
        (LimitSource::Operator, Some(declared)) => {
            format!("set by an operator; the module declares: {}", limit_words(declared))
        }
    };
    Some(("rule", said))
}

fn counts(item: &LimitItem) -> Vec<(&'static str, String)> {
    vec![("running", item.running.to_string()), ("waiting", item.waiting.to_string())]
}

fn keys(view: &LimitView, console: &mut Console) -> Result<(), CliError> {
    let now = now_ms();
    if view.keys.is_empty() {
        console.remark("no key has an execution that runs or waits");
        return Ok(());
    }
    let has = |what: fn(&LimitKey) -> bool| view.keys.iter().any(what);
    let has_next = has(|key| key.next_token_at_ms.is_some() || key.debounced_until_ms.is_some());
    let table = ItemTable::new()
        .column(TextColumn::id("KEY"), |key: &LimitKey| match key.key.as_str() {
            "" => "(all)".to_owned(),
            name => plain(name),
        })
        .column(TextColumn::number("RUNNING"), |key| key.running)
        .column(TextColumn::number("WAITING"), |key| key.waiting)
        .column_if(
            has(|key| !key.priorities.is_empty()),
            TextColumn::text("BY PRIORITY").rank(2),
            |key| {
                // Highest first, since it goes first.
                let by_priority = key.priorities.iter().rev();
                let words = by_priority.map(|(priority, waiting)| format!("{priority}: {waiting}"));
                words.collect::<Vec<_>>().join(", ")
            },
        )
        .column_if(has(|key| key.tokens.is_some()), TextColumn::number("TOKENS"), |key| {
            key.tokens.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string())
        })
        .column_if(has_next, TextColumn::whole("NEXT"), |key| {
            let at = key.debounced_until_ms.max(key.next_token_at_ms);
            at.map_or_else(|| "-".to_owned(), |at| relative(at, now))
        })
        .column_if(has(|key| !key.holders.is_empty()), TextColumn::text("HELD BY").rank(1), |key| {
            let more = if key.running > 3 { ", …" } else { "" };
            format!("{}{more}", behind::holders(&key.holders))
        })
        .rows(&view.keys);
    console.line("")?;
    console.table(&table)?;
    pages::say_more(view.next.as_deref(), console);
    Ok(())
}

fn source(source: LimitSource) -> &'static str {
    match source {
        LimitSource::Operator => "operator",
        LimitSource::Module => "module",
    }
}

fn words(rule: Option<&AdmissionRule>) -> String {
    rule.map_or_else(|| "not limited".to_owned(), |rule| plain(&limit_words(rule)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_a_count_and_a_time() {
        let read =
            |text: &str| read_rate(text).map(|rate| (rate.count, rate.period_ms.0, rate.burst));
        for (text, expected) in [
            ("10/s", (10, 1_000, 10)),
            ("100/m", (100, 60_000, 100)),
            ("3/h", (3, 3_600_000, 3)),
            ("1/d", (1, 86_400_000, 1)),
            ("5/10s", (5, 10_000, 5)),
            ("5/500ms", (5, 500, 5)),
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
        for wrong in ["10", "x/s", "10/", "10/x", "-1/s", "1.5/s", ""] {
            assert!(read(wrong).expect_err(wrong).contains("such as 10/s"), "{wrong}");
        }
    }

    #[test]
    fn names_and_weights_say_how_they_are_written() {
        assert_eq!(
            "wasm://shop/Cart/add".parse::<LimitedFunction>().map(|name| name.function),
            Ok("Cart/add".to_owned())
        );
        assert!(
            "cart/Cart@ada/add"
                .parse::<LimitedFunction>()
                .expect_err("a key")
                .contains("without @KEY")
        );
        for wrong in ["shop", "/order", "shop/"] {
            assert!(
                wrong.parse::<LimitedFunction>().expect_err(wrong).contains("such as shop/order")
            );
        }
        assert_eq!(read_weight("a=b=3"), Ok(("a=b".to_owned(), 3)));
        assert!(read_weight("acme").expect_err("no number").contains("KEY=N"));
    }
}
