//! Streams that a workflow and its activity write.

use segno::{ActivityContext, Context, Error, Result, serde_json::json};

use crate::{code, millis};

#[segno::activity(retry(initial = "10ms", jitter = 0, max_attempts = 3))]
pub async fn recite(ctx: ActivityContext, words: Vec<String>) -> Result<usize> {
    let (tokens, log) = (ctx.stream("tokens"), ctx.stream("log").content_type("text/plain"));
    let kept = usize::try_from(tokens.kept()?).unwrap_or(usize::MAX);
    for word in words.iter().skip(kept) {
        tokens.append(&json!({ "word": word }))?;
        log.append(&format!("{word}\n"))?;
        if word == "two" {
            return Err(Error::retryable("lost"));
        }
    }
    Ok(kept)
}

#[segno::workflow(name = "stream-write")]
pub async fn stream_write(ctx: Context) -> Result<(usize, u32)> {
    let (tokens, log) = (ctx.stream("tokens"), ctx.stream("log").content_type("text/plain"));
    tokens.append(&json!({ "begin": true }))?;
    log.append("grüß dich\n")?;
    ctx.sleep(millis(500)).await?;
    let words = ["one", "two", "three"].map(str::to_owned).to_vec();
    let kept = ctx.call(recite, &words).await?;
    tokens.append(&json!([1, null, "end"]))?;
    log.close();
    Ok((kept, code(log.append("late"))))
}
