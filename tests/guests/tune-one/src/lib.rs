//! The module's first revision. `tune-two` is the second.

use segno::{ActivityContext, Context, Result};

/// Plays a note, waits for its promise `go`, and plays another.
#[segno::workflow]
pub async fn play(ctx: Context, tune: String) -> Result<Vec<String>> {
    let first = ctx.call(sound, &"do".to_owned()).await?;
    ctx.named_promise::<bool>("go").await?;
    let second = ctx.call(sound, &"mi".to_owned()).await?;
    Ok(vec![tune, "one".to_owned(), first, second])
}

/// Plays two notes. Panics if the input lacks the second.
#[segno::workflow]
pub async fn encore(ctx: Context, tune: String) -> Result<Vec<String>> {
    let first = ctx.call(sound, &"do".to_owned()).await?;
    let second = tune.split(' ').nth(1).expect("there is no second note");
    Ok(vec![first, second.to_owned()])
}

/// Panics at its start.
#[segno::workflow]
pub async fn overture(_ctx: Context, _tune: String) -> Result<String> {
    panic!("nothing is written yet")
}

/// Sounds a note.
#[segno::activity]
pub async fn sound(_ctx: ActivityContext, note: String) -> Result<String> {
    Ok(note)
}

segno::module!(play, encore, overture, sound);
