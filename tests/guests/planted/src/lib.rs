//! Workflows with one planted defect each, and the same workflows without the defect.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use segno::{ActivityContext, Context, Either, Error, OnUnknown, Result, Undo, http::Request};

/// State in a static. Replay does not restore it, because it does not run closures again.
static DRAWN: AtomicU32 = AtomicU32::new(0);

/// Calls an activity with a number from a static.
#[segno::workflow]
pub async fn counts_in_static(ctx: Context) -> Result<u32> {
    for _ in 0..2 {
        ctx.run("draw", || DRAWN.fetch_add(1, Ordering::Relaxed)).await?;
        ctx.call(work, &"a step".to_owned()).await?;
    }
    ctx.call(number, &DRAWN.load(Ordering::Relaxed)).await
}

/// Calls an activity with a number that is recorded.
#[segno::workflow]
pub async fn counts_in_results(ctx: Context) -> Result<u32> {
    let mut drawn = 0;
    for _ in 0..2 {
        drawn = ctx.run("draw", move || drawn + 1).await?;
        ctx.call(work, &"a step".to_owned()).await?;
    }
    ctx.call(number, &drawn).await
}

/// Returns a number from a static. No command depends on it, so no record shows the divergence.
#[segno::workflow]
pub async fn answers_from_static(ctx: Context) -> Result<u32> {
    ctx.run("draw", || DRAWN.fetch_add(1, Ordering::Relaxed)).await?;
    ctx.call(work, &"a step".to_owned()).await?;
    Ok(DRAWN.load(Ordering::Relaxed))
}

/// Returns the results in order of completion.
#[segno::workflow]
pub async fn first_come(ctx: Context, parts: Vec<String>) -> Result<Vec<String>> {
    let results = Mutex::new(Vec::new());
    segno::try_join_all(parts.iter().map(|part| async {
        let result = ctx.call(work, part).await?;
        results.lock().expect("one thread").push(result);
        Ok::<(), Error>(())
    }))
    .await?;
    Ok(results.into_inner().expect("one thread"))
}

/// Returns the results in the order of the calls.
#[segno::workflow]
pub async fn in_order(ctx: Context, parts: Vec<String>) -> Result<Vec<String>> {
    segno::try_join_all(parts.iter().map(|part| ctx.call(work, part))).await
}

/// Pays by an activity that sends no idempotency key.
#[segno::workflow]
pub async fn pays_without_key(ctx: Context) -> Result<String> {
    ctx.call(pay_without_key, &100).await
}

/// Pays by an activity that sends a new key in each attempt.
#[segno::workflow]
pub async fn pays_with_new_key(ctx: Context) -> Result<String> {
    ctx.call(pay_with_new_key, &100).await
}

/// Pays by an activity that sends the idempotency key of its call.
#[segno::workflow]
pub async fn pays_with_key(ctx: Context) -> Result<String> {
    ctx.call(pay_with_key, &100).await
}

/// Gives up after 60 s, and does not learn whether the room was booked.
#[segno::workflow]
pub async fn gives_up(ctx: Context) -> Result<String> {
    let room = ctx.call(book, &"room".to_owned());
    match segno::select(room, ctx.sleep(Duration::from_secs(60))).await {
        Either::Left(room) => room,
        Either::Right(_) => Ok("no room".to_owned()),
    }
}

/// Does the same as a step of a saga that is compensated if its outcome is unknown.
#[segno::workflow]
pub async fn gives_up_carefully(ctx: Context) -> Result<String> {
    let saga = ctx.saga("room");
    let room = saga.call(book, &"room".to_owned()).compensate(unbook);
    room.timeout(Duration::from_secs(60)).on_unknown(OnUnknown::Compensate).await
}

/// Assumes that the call completes within 60 s, and panics otherwise.
#[segno::workflow]
pub async fn expects_the_answer(ctx: Context) -> Result<String> {
    let mut answer = None;
    let call = async { answer = Some(ctx.call(work, &"a step".to_owned()).await) };
    segno::select(call, ctx.sleep(Duration::from_secs(60))).await;
    answer.expect("it was answered within a minute")
}

/// Books a room, and does not undo the booking if the payment fails.
#[segno::workflow]
pub async fn keeps_the_booking(ctx: Context, card: String) -> Result<String> {
    let room = ctx.call(book, &"room".to_owned()).await?;
    ctx.call(charge, &card).await?;
    Ok(room)
}

/// Books a room, and undoes the booking if the payment fails, but not on cancellation.
#[segno::workflow]
pub async fn undoes_failures_only(ctx: Context, card: String) -> Result<String> {
    let room = ctx.call(book, &"room".to_owned()).await?;
    match ctx.call(charge, &card).await {
        Ok(_) => Ok(room),
        Err(error) if error.is_cancelled() => Err(error),
        Err(error) => {
            ctx.call(cancel_booking, &room).await?;
            Err(error)
        }
    }
}

/// Books and pays as steps of a saga.
#[segno::workflow]
pub async fn undoes_everything(ctx: Context, card: String) -> Result<String> {
    let saga = ctx.saga("trip");
    let room = saga.call(book, &"room".to_owned()).compensate(unbook).await?;
    saga.call(charge, &card).compensate(uncharge).await?;
    Ok(room)
}

/// Waits for a promise that is never settled.
#[segno::workflow(promises(word: String))]
pub async fn waits_for_ever(ctx: Context) -> Result<String> {
    ctx.named_promise::<String>("word").await
}

/// Calls two children of two steps each. Their steps interleave in any order.
#[segno::workflow]
pub async fn two_children(ctx: Context) -> Result<Vec<String>> {
    let names = ["left".to_owned(), "right".to_owned()];
    segno::try_join_all(names.iter().map(|name| ctx.call(two_steps, name))).await
}

/// Two steps, one after the other.
#[segno::workflow]
pub async fn two_steps(ctx: Context, name: String) -> Result<String> {
    let first = ctx.call(work, &name).await?;
    ctx.call(work, &first).await
}

/// A placeholder for work.
#[segno::activity]
pub async fn work(_ctx: ActivityContext, part: String) -> Result<String> {
    Ok(format!("{part} done"))
}

/// Returns its input.
#[segno::activity]
pub async fn number(_ctx: ActivityContext, number: u32) -> Result<u32> {
    Ok(number)
}

/// Books a room.
#[segno::activity]
pub async fn book(_ctx: ActivityContext, what: String) -> Result<String> {
    Ok(format!("{what} booked"))
}

/// Undoes a booking.
#[segno::activity]
pub async fn cancel_booking(_ctx: ActivityContext, _room: String) -> Result<()> {
    Ok(())
}

/// Undoes a booking, as a step of a saga.
#[segno::activity]
pub async fn unbook(_ctx: ActivityContext, _undo: Undo<String, String>) -> Result<()> {
    Ok(())
}

/// Charges a card.
#[segno::activity]
pub async fn charge(_ctx: ActivityContext, card: String) -> Result<String> {
    match card.as_str() {
        "good" => Ok("charged".to_owned()),
        _ => Err(Error::terminal(402, "the card was declined")),
    }
}

/// Undoes a charge.
#[segno::activity]
pub async fn uncharge(_ctx: ActivityContext, _undo: Undo<String, String>) -> Result<()> {
    Ok(())
}

/// Pays without an idempotency key.
#[segno::activity]
pub async fn pay_without_key(ctx: ActivityContext, cents: u32) -> Result<String> {
    pay(&ctx, None, cents).await
}

/// Pays with a key that contains the fence token, and so differs in each attempt.
#[segno::activity]
pub async fn pay_with_new_key(ctx: ActivityContext, cents: u32) -> Result<String> {
    let key = format!("{}-{}", ctx.idempotency_key(), ctx.fence_token());
    pay(&ctx, Some(key), cents).await
}

/// Pays with the idempotency key of the call.
#[segno::activity]
pub async fn pay_with_key(ctx: ActivityContext, cents: u32) -> Result<String> {
    let key = ctx.idempotency_key().to_owned();
    pay(&ctx, Some(key), cents).await
}

async fn pay(ctx: &ActivityContext, key: Option<String>, cents: u32) -> Result<String> {
    let mut request = Request::post("http://payments/charges").json(&cents);
    if let Some(key) = key {
        request = request.header("Idempotency-Key", key);
    }
    ctx.http(request).await?.ok()?;
    Ok("paid".to_owned())
}

segno::module!(
    counts_in_static,
    counts_in_results,
    answers_from_static,
    first_come,
    in_order,
    pays_without_key,
    pays_with_new_key,
    pays_with_key,
    gives_up,
    gives_up_carefully,
    expects_the_answer,
    keeps_the_booking,
    undoes_failures_only,
    undoes_everything,
    waits_for_ever,
    two_children,
    two_steps,
    work,
    number,
    book,
    cancel_booking,
    unbook,
    charge,
    uncharge,
    pay_without_key,
    pay_with_new_key,
    pay_with_key,
);
