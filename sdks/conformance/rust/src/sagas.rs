//! Sagas: steps that are undone, the last one first.

use segno::{
    ActivityContext, Context, Error, OnUnknown, Result, Undo,
    http::{Request, Response, Sent},
};

use crate::HOUR;

#[segno::activity]
pub async fn book(_ctx: ActivityContext, item: String) -> Result<String> {
    if item == "hotel" {
        return Err(Error::terminal(404, "there is no hotel"));
    }
    Ok(format!("{item} 7"))
}

#[segno::activity]
pub async fn unbook(_ctx: ActivityContext, undo: Undo<String, String>) -> Result<()> {
    if undo.input == "ferry" {
        return Err(Error::terminal(422, "a ferry is not given back"));
    }
    Ok(())
}

#[segno::activity]
pub async fn refund(_ctx: ActivityContext, _undo: Undo<Sent, Response>) -> Result<()> {
    Ok(())
}

#[segno::workflow(name = "saga-undo")]
pub async fn saga_undo(ctx: Context) -> Result<String> {
    let saga = ctx.saga("trip");
    saga.call(book, &"flight".to_owned()).compensate(unbook).await?;
    let car = saga.call(book, &"car".to_owned()).compensate(unbook);
    car.on_unknown(OnUnknown::Compensate).await?;
    saga.call(book, &"hotel".to_owned()).compensate(unbook).await?;
    Ok("booked".to_owned())
}

#[segno::workflow(name = "saga-done")]
pub async fn saga_done(ctx: Context) -> Result<()> {
    let saga = ctx.saga("trip");
    let flight = saga.call(book, &"flight".to_owned()).compensate(unbook).await?;
    saga.complete();
    Err(Error::terminal(409, format!("{flight} stays")))
}

#[segno::workflow(name = "saga-abort")]
pub async fn saga_abort(ctx: Context) -> Result<()> {
    let saga = ctx.saga("trip");
    saga.call(book, &"flight".to_owned()).compensate(unbook).await?;
    Err(saga.abort("nobody wants to go").await)
}

#[segno::workflow(name = "saga-nested")]
pub async fn saga_nested(ctx: Context) -> Result<Vec<String>> {
    let outer = ctx.saga("outer");
    let flight = outer.call(book, &"flight".to_owned()).compensate(unbook).await?;
    let inner = ctx.saga("inner");
    let steps = inner.scope(async {
        inner.call(book, &"car".to_owned()).compensate(unbook).await?;
        inner.call(book, &"hotel".to_owned()).compensate(unbook).await
    });
    match steps.await {
        Ok(_) => Ok(Vec::new()),
        Err(error) => Ok(vec![flight, error.message().to_owned()]),
    }
}

#[segno::workflow(name = "saga-undo-fails")]
pub async fn saga_undo_fails(ctx: Context) -> Result<()> {
    let saga = ctx.saga("trip");
    for item in ["flight", "ferry", "hotel"] {
        saga.call(book, &item.to_owned()).compensate(unbook).await?;
    }
    Ok(())
}

#[segno::workflow(name = "saga-cancelled")]
pub async fn saga_cancelled(ctx: Context) -> Result<()> {
    let saga = ctx.saga("trip");
    saga.call(book, &"flight".to_owned()).compensate(unbook).await?;
    ctx.sleep(HOUR).await
}

#[segno::workflow(name = "saga-http")]
pub async fn saga_http(ctx: Context, url: String) -> Result<()> {
    let saga = ctx.saga("pay");
    saga.http(Request::post(format!("{url}/pay"))).compensate(refund).await?;
    Err(Error::terminal(409, "changed my mind"))
}
