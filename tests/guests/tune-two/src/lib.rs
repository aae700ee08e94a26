//! The second revision of `tune-one`, with another first note.

use segno::{ActivityContext, Context, Result};

/// Plays a note, waits for its promise `go`, and plays another.
#[segno::workflow]
pub async fn play(ctx: Context, tune: String) -> Result<Vec<String>> {
    let first = ctx.call(sound, &"re".to_owned()).await?;
    ctx.named_promise::<bool>("go").await?;
    let second = ctx.call(sound, &"mi".to_owned()).await?;
    Ok(vec![tune, "two".to_owned(), first, second])
}

/// Plays two notes. The defect of `tune-one` is fixed.
#[segno::workflow]
pub async fn encore(ctx: Context, _tune: String) -> Result<Vec<String>> {
    let first = ctx.call(sound, &"do".to_owned()).await?;
    let second = ctx.call(sound, &"mi".to_owned()).await?;
    Ok(vec![first, second])
}

/// Returns its input. The defect of `tune-one` is fixed.
#[segno::workflow]
pub async fn overture(_ctx: Context, tune: String) -> Result<String> {
    Ok(tune)
}

/// Sounds a note.
#[segno::activity]
pub async fn sound(_ctx: ActivityContext, note: String) -> Result<String> {
    Ok(note)
}

segno::module!(play, encore, overture, sound);
