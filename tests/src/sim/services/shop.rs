//! The services: orders, which reserve from a stock and are noted, and a workflow that is signed.
//!
//! An invocation stays with the deployment at which it began.
//!
//! ```text
//! deployment 0   Order: place, note, price, enroll
//! deployment 1   Stock (an object): reserve        Sign (a workflow): run, sign
//! ```

use std::sync::Arc;

use segno_restate::wire::Failure;
use serde_json::{Value as Json, json};

use super::{DEPLOYMENTS, Mode, witness::Witness};
use crate::world::deployment::{HandlerContext, TestDeployment};

/// Time without a frame after which attempts are suspended, in milliseconds. Shorter than the stall
/// limit of a guest.
const INACTIVITY: u64 = 900;
/// Time after that until attempts are aborted, in milliseconds.
const ABORT: u64 = 900;

type Ended = Result<Json, Failure>;

/// Manifest of a deployment.
pub(super) fn manifest(number: usize, mode: Mode) -> Json {
    let service = |name: &str, ty: &str, handlers: Json| {
        json!({
            "name": name,
            "ty": ty,
            "handlers": handlers,
            "inactivityTimeout": INACTIVITY,
            "abortTimeout": ABORT,
            "retryPolicyInitialInterval": 50,
            "retryPolicyMaxInterval": 1_000,
        })
    };
    let plain = |name: &str| json!({ "name": name });
    let services = match number {
        0 => {
            let handlers = ["place", "note", "price", "enroll"].map(plain);
            json!([service("Order", "SERVICE", json!(handlers))])
        }
        _ => {
            let run = json!({ "name": "run", "ty": "WORKFLOW" });
            let sign = json!({ "name": "sign", "ty": "SHARED" });
            json!([
                service("Stock", "VIRTUAL_OBJECT", json!([plain("reserve")])),
                service("Sign", "WORKFLOW", json!([run, sign])),
            ])
        }
    };
    json!({
        "protocolMode": if mode.whole { "REQUEST_RESPONSE" } else { "BIDI_STREAM" },
        "minProtocolVersion": mode.version,
        "maxProtocolVersion": mode.version,
        "services": services,
    })
}

/// Handlers of a deployment.
pub(super) fn deployment(number: usize, witness: &Arc<Witness>) -> TestDeployment {
    macro_rules! with {
        ($deployment:expr, $($name:literal => $handler:expr),*) => {
            $deployment$(.with($name, {
                let witness = witness.clone();
                move |ctx| {
                    let witness = witness.clone();
                    async move {
                        witness.saw(&format!("the deployment of {}", ctx.id()), &json!(number));
                        $handler(&ctx, &witness).await
                    }
                }
            }))*
        };
    }
    match number % DEPLOYMENTS {
        0 => with!(
            TestDeployment::default(),
            "Order/place" => place,
            "Order/note" => note,
            "Order/price" => price,
            "Order/enroll" => enroll
        ),
        _ => with!(
            TestDeployment::default(),
            "Stock/reserve" => reserve,
            "Sign/run" => run,
            "Sign/sign" => sign
        ),
    }
}

/// Makes an external effect, and records the receipt of the run that counts.
async fn effect(ctx: &HandlerContext, witness: &Witness, what: &str) -> Ended {
    let name = format!("{} {what}", ctx.id());
    let receipt = ctx.run_with(&name, |run| Ok(json!({ "key": name, "run": run }))).await?;
    witness.saw(&name, &receipt);
    Ok(receipt)
}

/// Records the result of a caller's run, as the callee received it.
fn told(witness: &Witness, receipt: &Json) {
    witness.saw(receipt["key"].as_str().unwrap_or_default(), receipt);
}

fn reserves(stock: &Json) -> String {
    format!("Stock/{}/reserve", stock.as_str().unwrap_or_default())
}

async fn place(ctx: &HandlerContext, witness: &Witness) -> Ended {
    let order = ctx.input();
    let charged = effect(ctx, witness, "charge").await?;
    ctx.sleep_until(order["at"].as_u64().unwrap_or_default()).await;
    let stock = reserves(&order["stock"]);
    ctx.call(&stock, &json!({ "amount": 2, "by": charged, "priced": true })).await?;
    let (answer, told) = ctx.awakeable().await;
    let note = json!({ "answer": answer, "stock": order["other"], "by": charged });
    ctx.send("Order/note", &note).await;
    ctx.call(&stock, &json!({ "amount": 3, "by": charged })).await?;
    let noted = ctx.value(told).await?;
    effect(ctx, witness, "ship").await?;
    Ok(json!({ "order": order, "noted": noted }))
}

async fn note(ctx: &HandlerContext, witness: &Witness) -> Ended {
    let note = ctx.input();
    told(witness, &note["by"]);
    ctx.call(&reserves(&note["stock"]), &json!({ "amount": 5, "by": note["by"] })).await?;
    ctx.complete_awakeable(note["answer"].as_str().unwrap_or_default(), &json!("noted")).await;
    Ok(json!(null))
}

async fn price(ctx: &HandlerContext, witness: &Witness) -> Ended {
    effect(ctx, witness, "price").await?;
    Ok(json!(ctx.input().as_i64().unwrap_or_default() * 7))
}

/// Reserves from a stock. From the first read to the last write, also while it waits for the price,
/// no other invocation may be inside. A cancelled reservation leaves everything unchanged.
async fn reserve(ctx: &HandlerContext, witness: &Witness) -> Ended {
    let asked = ctx.input();
    told(witness, &asked["by"]);
    let inside = ctx.state("inside").await;
    if !inside.is_null() {
        witness.wrong(format_args!("`{}` has its turn while {inside} has it", ctx.id()));
    }
    let before = ctx.state("reserved").await.as_i64().unwrap_or_default();
    ctx.set_state("inside", &json!(ctx.id())).await;
    let after = before + asked["amount"].as_i64().unwrap_or_default();
    let booked = book(ctx, witness, &asked).await;
    if booked.is_ok() {
        ctx.set_state("reserved", &json!(after)).await;
    }
    ctx.set_state("inside", &json!(null)).await;
    booked.map(|_| json!({ "before": before, "after": after }))
}

async fn book(ctx: &HandlerContext, witness: &Witness, asked: &Json) -> Ended {
    if asked["priced"] == json!(true) {
        ctx.call("Order/price", &asked["amount"]).await?;
    }
    effect(ctx, witness, "book").await
}

/// Runs the workflow. A 409 for a key that has already run counts as enrolled.
async fn enroll(ctx: &HandlerContext, _: &Witness) -> Ended {
    let key = ctx.input();
    let run = format!("Sign/{}/run", key.as_str().unwrap_or_default());
    match ctx.call(&run, &key).await {
        Ok(_) | Err(Failure { code: 409, .. }) => Ok(json!("enrolled")),
        Err(failure) => Err(failure),
    }
}

async fn run(ctx: &HandlerContext, witness: &Witness) -> Ended {
    let key = ctx.input();
    witness.saw(&format!("the run of {key}"), &json!(ctx.id()));
    effect(ctx, witness, "begin").await?;
    ctx.set_state("status", &json!("asked")).await;
    let signed = ctx.promise("signed").await?;
    effect(ctx, witness, "end").await?;
    Ok(json!({ "signed": signed }))
}

async fn sign(ctx: &HandlerContext, _: &Witness) -> Ended {
    ctx.complete_promise("signed", &ctx.input()).await
}
