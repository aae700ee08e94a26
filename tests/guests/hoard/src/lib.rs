//! Writes and reads blobs, for the suites.

use segno::{ActivityContext, Blob, Context, Error, Result};

const MEBIBYTE: usize = 1 << 20;

/// What is known of a blob that was written and read.
#[segno::data]
pub struct Measured {
    /// The blob.
    blob: Blob,
    /// Number of bytes that were read.
    bytes: u64,
    /// Sum of the bytes that were read.
    sum: u64,
}

/// Writes a blob of so many MiB in one activity, and reads it in another.
#[segno::workflow]
pub async fn store(ctx: Context, mebibytes: u64) -> Result<Measured> {
    let blob = ctx.call(write, &mebibytes).await?;
    ctx.call(measure, &blob).await
}

/// Writes a blob of so many MiB: each mebibyte has its number in every byte.
#[segno::activity]
pub async fn write(ctx: ActivityContext, mebibytes: u64) -> Result<Blob> {
    let mut writer = ctx.blobs().create("application/x-numbers")?;
    for number in 0..mebibytes {
        writer.write(vec![number as u8; MEBIBYTE])?;
    }
    writer.finish()
}

/// Reads a blob in pieces.
#[segno::activity]
pub async fn measure(ctx: ActivityContext, blob: Blob) -> Result<Measured> {
    let (mut bytes, mut sum) = (0, 0);
    for piece in ctx.blobs().pieces(&blob) {
        let piece = piece?;
        bytes += piece.len() as u64;
        sum += piece.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    }
    Ok(Measured { blob, bytes, sum })
}

/// Lets an activity read a blob.
#[segno::workflow]
pub async fn sum(ctx: Context, blob: Blob) -> Result<Measured> {
    ctx.call(measure, &blob).await
}

/// Keeps references.
#[segno::workflow]
pub async fn hold(_ctx: Context, blobs: Vec<Blob>) -> Result<usize> {
    Ok(blobs.len())
}

/// Gives a blob to an activity that reads it as text.
#[segno::workflow]
pub async fn tell(ctx: Context, blob: Blob) -> Result<String> {
    ctx.call(text, &blob).await
}

/// Reads a blob as text, and its last three bytes again. Failures of the place are tried again at
/// once.
#[segno::activity(retry(initial = "50ms", factor = 1, jitter = 0))]
pub async fn text(ctx: ActivityContext, blob: Blob) -> Result<String> {
    let text = ctx.blobs().read_text(&blob)?;
    let end = ctx.blobs().read_part(&blob, blob.bytes().saturating_sub(3), 99)?;
    match text.as_bytes().ends_with(&end) {
        true => Ok(text),
        false => Err(Error::terminal(422, "the parts of a blob differ from the whole")),
    }
}

/// Breaks the rule that its input names.
#[segno::workflow]
pub async fn breach(ctx: Context, rule: String) -> Result<()> {
    ctx.call(broken, &rule).await
}

/// The activity of [`breach`].
#[segno::activity(retry(max_attempts = 1))]
pub async fn broken(ctx: ActivityContext, rule: String) -> Result<()> {
    let blobs = ctx.blobs();
    match rule.as_str() {
        "type" => blobs.write("nonsense", b"").map(drop),
        "large" => blobs.write("a/b", vec![0; 3 * MEBIBYTE]).map(drop),
        "writers" => {
            let writers: Result<Vec<_>> = (0..17).map(|_| blobs.create("a/b")).collect();
            writers.map(drop)
        }
        // A secret that is cut at each place by the end of a piece.
        "cut-secret" => {
            let secret = ctx.secret("key")?.expose().to_owned();
            for at in 0..=secret.len() {
                let mut writer = blobs.create("a/b")?;
                let written = writer
                    .write(vec![b'-'; MEBIBYTE - at])
                    .and_then(|()| writer.write(secret.as_bytes()))
                    .and_then(|()| writer.finish());
                match written {
                    Err(refused) if refused.code() == 422 => {}
                    other => return Err(Error::terminal(500, format!("cut at {at}: {other:?}"))),
                }
            }
            Ok(())
        }
        "secret" => blobs.write("a/b", ctx.secret("key")?.expose()).map(drop),
        "abandoned" => {
            let mut writer = blobs.create("a/b")?;
            writer.write(vec![0; MEBIBYTE])
        }
        _ => blobs.write("a/b", b"x").map(drop),
    }
}

segno::module!(store, write, measure, sum, hold, tell, text, breach, broken);
