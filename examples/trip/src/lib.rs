//! A trip that is booked as a whole or not at all.
//!
//! It shows a saga, whose steps have compensations; a step that is an HTTP request; a step that is
//! undone even if its effect is unknown; and the report of the undone steps.

use std::time::Duration;

use segno::{
    ActivityContext, Context, Error, OnUnknown, Result, Undo,
    http::{Request, Response, Sent},
};

/// A trip to book.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Trip {
    /// The name of the traveller.
    pub traveller: String,
    /// The destination.
    pub city: String,
    /// Number of nights.
    pub nights: u32,
    /// The address of the payment service, such as `http://127.0.0.1:9000`.
    pub payments: String,
}

/// The booked trip.
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

/// Books flight, hotel and car, and pays. If a step fails, the earlier ones are undone, last first,
/// and the failure reports them.
#[segno::workflow]
pub async fn trip(ctx: Context, trip: Trip) -> Result<Booking> {
    let saga = ctx.saga("booking");
    let flight = saga.call(book_flight, &trip).compensate(cancel_flight).await?;
    // The hotel responds slowly. After a minute the effect is unknown, and the booking is
    // cancelled: cancelling one that does not exist is harmless.
    let hotel = saga.call(book_hotel, &trip).compensate(cancel_hotel);
    let hotel = hotel.timeout(Duration::from_secs(60)).on_unknown(OnUnknown::Compensate).await?;
    let car = saga.call(rent_car, &trip).compensate(return_car).await?;
    let charge = pay(&saga, &trip).await?;
    if trip.nights > 30 {
        return Err(saga.abort("it takes a visa, and there is none").await);
    }
    Ok(Booking { flight, hotel, car, charge })
}

/// The payment service's response.
#[segno::data]
struct Charge {
    charge: String,
    accepted: bool,
}

/// Sends the payment by the host. It is undone after any response; `refund` inspects the response.
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

/// Cancels the seat.
#[segno::activity]
pub async fn cancel_flight(ctx: ActivityContext, undo: Undo<Trip, String>) -> Result<()> {
    segno::info!(ctx, "{:?} of {} is cancelled", undo.output, undo.input.traveller);
    Ok(())
}

/// Cancels the room, if it exists: the hotel looks it up by the traveller's name.
#[segno::activity]
pub async fn cancel_hotel(ctx: ActivityContext, undo: Undo<Trip, String>) -> Result<()> {
    segno::info!(ctx, "the room of {} is cancelled, if there is one", undo.input.traveller);
    Ok(())
}

/// Cancels the car.
#[segno::activity]
pub async fn return_car(ctx: ActivityContext, undo: Undo<Trip, String>) -> Result<()> {
    segno::info!(ctx, "{:?} is returned", undo.output);
    Ok(())
}

/// Refunds the charge.
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
