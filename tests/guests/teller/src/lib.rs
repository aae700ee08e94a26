//! Writes streams, for the suites.

use std::time::Duration;

use segno::{ActivityContext, Context, Error, Result, State};

/// A number of items, and where the writer stops for a moment.
#[segno::data]
pub struct Telling {
    /// Number of items.
    items: u64,
    /// Number of items after which a workflow sleeps, and an attempt of an activity fails. Zero:
    /// never.
    #[serde(default)]
    pause_every: u64,
    /// Milliseconds of each sleep of a workflow.
    #[serde(default)]
    pause_ms: u64,
}

/// Appends the numbers from 0 to the stream `numbers`, and sleeps in between.
#[segno::workflow]
pub async fn tell(ctx: Context, telling: Telling) -> Result<u64> {
    let numbers = ctx.stream("numbers");
    for number in 0..telling.items {
        numbers.append(&number)?;
        if telling.pause_every > 0 && (number + 1) % telling.pause_every == 0 {
            ctx.sleep(Duration::from_millis(telling.pause_ms)).await?;
        }
    }
    Ok(telling.items)
}

/// Lets the activity `produce` write the stream `tokens`, and says in `log` when it began and
/// ended.
#[segno::workflow]
pub async fn relay(ctx: Context, telling: Telling) -> Result<u64> {
    let log = ctx.stream("log").content_type("text/plain");
    log.append("begin\n")?;
    let produced = ctx.call(produce, &telling).await?;
    log.append("end\n")?;
    log.close();
    Ok(produced)
}

/// Appends to `results` that it begins, what the activity `produce` returned, and that it ends.
#[segno::workflow]
pub async fn report(ctx: Context, telling: Telling) -> Result<u64> {
    let results = ctx.stream("results");
    results.append("begin")?;
    let produced = ctx.call(produce, &telling).await?;
    results.append(&produced)?;
    results.append("end")?;
    Ok(produced)
}

/// Appends the numbers from 0 to `tokens`, from where the last attempt ended. Each attempt fails
/// after `pause_every` items.
#[segno::activity(retry(initial = "20ms", factor = 1, jitter = 0))]
pub async fn produce(ctx: ActivityContext, telling: Telling) -> Result<u64> {
    let tokens = ctx.stream("tokens");
    let kept = tokens.kept()?;
    for number in kept..telling.items {
        tokens.append(&number)?;
        let is_pause = telling.pause_every > 0 && (number + 1) % telling.pause_every == 0;
        if is_pause && number + 1 < telling.items {
            return Err(Error::retryable("the connection to the model broke"));
        }
    }
    Ok(kept)
}

/// A stream to read.
#[segno::data]
pub struct Source {
    invocation: String,
    stream: String,
}

/// Adds up the numbers of a stream, from its beginning to its end, and counts the parts.
#[segno::workflow]
pub async fn listen(ctx: Context, source: Source) -> Result<(u64, u64)> {
    let mut numbers = ctx.read_stream(&source.invocation, &source.stream);
    let (mut sum, mut parts) = (0, 0);
    while let Some(part) = numbers.next::<u64>().await? {
        sum += part.iter().sum::<u64>();
        parts += 1;
    }
    Ok((sum, parts))
}

/// The text of a stream.
#[segno::workflow]
pub async fn quote(ctx: Context, source: Source) -> Result<String> {
    let mut log = ctx.read_stream(&source.invocation, &source.stream);
    let mut text = String::new();
    while let Some(part) = log.next_text().await? {
        text.push_str(&part);
    }
    Ok(text)
}

/// Breaks the rule that its input names.
#[segno::workflow]
pub async fn breach(ctx: Context, rule: String) -> Result<()> {
    let stream = ctx.stream("rules");
    stream.append(&1)?;
    match rule.as_str() {
        "closed" => {
            stream.close();
            stream.append(&2)?;
        }
        "type" => ctx.stream("rules").content_type("text/plain").append("text")?,
        "name" => ctx.stream("a/b").append(&1)?,
        "bytes" => stream.append_bytes(b"raw")?,
        _ => {}
    }
    ctx.sleep(Duration::from_millis(1)).await
}

/// Numbers that the executions of a key append to one stream, in turn.
#[segno::object]
pub struct Ledger {
    next: State<u64>,
}

#[segno::object]
impl Ledger {
    /// Appends the next numbers to the stream `log`.
    async fn add(&mut self, ctx: Context, telling: Telling) -> Result<u64> {
        let log = ctx.object_stream("log");
        let first = self.next.get().await?.unwrap_or_default();
        for number in 0..telling.items {
            log.append(&(first + number))?;
            if telling.pause_every > 0 && (number + 1) % telling.pause_every == 0 {
                ctx.sleep(Duration::from_millis(telling.pause_ms)).await?;
            }
        }
        self.next.set(&(first + telling.items))?;
        Ok(first)
    }

    /// Ends the stream.
    async fn end(&mut self, ctx: Context) -> Result<()> {
        ctx.object_stream("log").close();
        Ok(())
    }

    /// Writes, which a shared function may not do.
    #[shared]
    async fn cheat(&self, ctx: Context) -> Result<()> {
        ctx.object_stream("log").append(&0)
    }
}

segno::module!(tell, relay, report, produce, listen, quote, breach, Ledger);
