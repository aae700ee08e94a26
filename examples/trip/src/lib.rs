//! A trip that is booked as a whole or not at all.
//!
//! It teaches: a saga, whose steps say what undoes them; a step that is an HTTP request; a step that
//! is undone also if its effect is unknown; and the report of what was undone.

use std::time::Duration;

use segno::{
    ActivityContext, Context, Error, OnUnknown, Result, Undo,
    http::{Request, Response, Sent},
};

/// What a traveller wants.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Trip {
    /// Who travels.
    pub traveller: String,
    /// Where to.
    pub city: String,
    /// How long.
    pub nights: u32,
    /// The address of the payment service, such as `http://127.0.0.1:9000`.
    pub payments: String,
}

/// What was booked.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Booking {
    /// The number of the flight's ticket.
    pub flight: String,
    /// The number of the room.
    pub hotel: String,
    /// The number of the car's contract.
    pub car: String,
    /// The payment service's number.
    pub charge: String,
}

/// Books flight, hotel and car, and pays. If a step fails, the ones before it are undone, the last
/// one first, and the failure says what was.
#[segno::workflow]
pub async fn trip(ctx: Context, trip: Trip) -> Result<Booking> {
    let saga = ctx.saga("booking");
    let flight = saga.call(book_flight, &trip).compensate(cancel_flight).await?;
    // The hotel answers slowly. After a minute the effect is unknown, and the booking is cancelled:
    // to cancel one that does not exist does no harm.
    let hotel = saga.call(book_hotel, &trip).compensate(cancel_hotel);
    let hotel = hotel.timeout(Duration::from_secs(60)).on_unknown(OnUnknown::Compensate).await?;
    let car = saga.call(rent_car, &trip).compensate(return_car).await?;
    let charge = pay(&saga, &trip).await?;
    if trip.nights > 30 {
        return Err(saga.abort("it takes a visa, and there is none").await);
    }
    Ok(Booking { flight, hotel, car, charge })
}

/// The payment service's answer.
#[segno::data]
struct Charge {
    charge: String,
    accepted: bool,
}

/// A request by the host. It is undone if it was answered, whatever the answer; `refund` looks at
/// that.
async fn pay(saga: &segno::Saga, trip: &Trip) -> Result<String> {
    let body = segno::serde_json::json!({
        "order": trip.traveller,
        "amount_cents": trip.nights * 3_000,
    });
    let request = Request::post(format!("{}/charges", trip.payments)).json(&body);
    let answer = saga.http(request).compensate(refund).await?;
    let charge: Charge = answer.ok()?.json()?;
    match charge.accepted {
        true => Ok(charge.charge),
        false => Err(Error::terminal(402, "the payment was declined")),
    }
}

/// Books a seat. Activities stand for requests to other companies, which would be given the
/// idempotency key.
#[segno::activity(timeout = "10m")]
pub async fn book_flight(ctx: ActivityContext, trip: Trip) -> Result<String> {
    segno::info!(ctx, "a seat to {} for {}", trip.city, trip.traveller);
    Ok(format!("flight-{}", ctx.idempotency_key()))
}

/// Books a room.
#[segno::activity]
pub async fn book_hotel(ctx: ActivityContext, trip: Trip) -> Result<String> {
    if trip.city == "Atlantis" {
        return Err(Error::terminal(404, "there is no hotel in Atlantis"));
    }
    segno::info!(ctx, "{} nights for {}", trip.nights, trip.traveller);
    Ok(format!("room-{}", ctx.idempotency_key()))
}

/// Rents a car.
#[segno::activity]
pub async fn rent_car(ctx: ActivityContext, trip: Trip) -> Result<String> {
    if trip.city == "Venice" {
        return Err(Error::terminal(404, "there are no cars in Venice"));
    }
    Ok(format!("car-{}", ctx.idempotency_key()))
}

/// Gives the seat back.
#[segno::activity]
pub async fn cancel_flight(ctx: ActivityContext, undo: Undo<Trip, String>) -> Result<()> {
    segno::info!(ctx, "{:?} of {} is cancelled", undo.output, undo.input.traveller);
    Ok(())
}

/// Gives the room back, if there is one: the hotel is asked by the traveller's name.
#[segno::activity]
pub async fn cancel_hotel(ctx: ActivityContext, undo: Undo<Trip, String>) -> Result<()> {
    segno::info!(ctx, "the room of {} is cancelled, if there is one", undo.input.traveller);
    Ok(())
}

/// Gives the car back.
#[segno::activity]
pub async fn return_car(ctx: ActivityContext, undo: Undo<Trip, String>) -> Result<()> {
    segno::info!(ctx, "{:?} is returned", undo.output);
    Ok(())
}

/// Pays back what was charged.
#[segno::activity(retry(initial = "200ms", max = "30s"))]
pub async fn refund(ctx: ActivityContext, undo: Undo<Sent, Response>) -> Result<()> {
    let charge: Option<Charge> = undo.output.and_then(|answer| answer.ok().ok()?.json().ok());
    let Some(charge) = charge.filter(|charge| charge.accepted) else {
        segno::info!(ctx, "nothing was charged");
        return Ok(());
    };
    let refunds = undo.input.url.replace("/charges", "/refunds");
    let body = segno::serde_json::json!({ "charge": charge.charge });
    let request = Request::post(refunds).header("Idempotency-Key", ctx.idempotency_key());
    ctx.http(request.json(&body)).await?.ok()?;
    Ok(())
}

segno::module!(
    trip,
    book_flight,
    book_hotel,
    rent_car,
    cancel_flight,
    cancel_hotel,
    return_car,
    refund
);

#[cfg(test)]
mod tests;
