//! The edits.

use super::{
    Breaks::{self, AtTheEnd, Never, Once, Panics},
    Edit,
};

const fn edit(
    name: &'static str,
    breaks: Breaks,
    changes: &'static [(&'static str, &'static str)],
) -> Edit {
    Edit { name, changes, manifest: "", breaks }
}

/// Activity that some edits add.
const NOTIFY: (&str, &str) = (
    "segno::module!(order, reserve, release, ship);",
    "/// Tells the customer.
#[segno::activity]
pub async fn notify(ctx: ActivityContext, order: String) -> Result<()> {
    segno::info!(ctx, \"{order} is told\");
    Ok(())
}

segno::module!(order, reserve, release, ship, notify);",
);

/// Changes to `examples/order` that people make while orders are in flight.
pub const EDITS: [Edit; 22] = [
    edit(
        "rename-a-step",
        Once("call reserve"),
        &[
            ("ctx.call(reserve, &reservation)", "ctx.call(set_aside, &reservation)"),
            ("pub async fn reserve(", "pub async fn set_aside("),
            ("segno::module!(order, reserve,", "segno::module!(order, set_aside,"),
        ],
    ),
    edit(
        "swap-two-steps",
        Once("call reserve"),
        &[(
            "    if let Err(error) = ctx.call(reserve, &reservation).await {
        if error.is_cancelled() {
            ctx.call(release, &reservation.name).await?;
        }
        return Err(error);
    }
    let charge = match charge(&ctx, &order).await {
        Ok(charge) => charge,
        Err(error) => {
            if error.is_cancelled() {
                give_back(&ctx, &order).await?;
            }
            ctx.call(release, &reservation.name).await?;
            return Err(error);
        }
    };",
            "    let charge = charge(&ctx, &order).await?;
    if let Err(error) = ctx.call(reserve, &reservation).await {
        refund(&ctx, &order, &charge).await?;
        return Err(error);
    }",
        )],
    ),
    edit(
        "change-an-argument",
        Once("http POST"),
        &[(
            "\"amount_cents\": amount(order) });",
            "\"amount_cents\": amount(order), \"currency\": \"EUR\" });",
        )],
    ),
    edit(
        "change-the-argument-of-a-parallel-step",
        Once("call ship"),
        &[(
            "    segno::try_join_all(order.items.iter().map(|item| ctx.call(ship, item))).await\n",
            "    let more = |item: &Item| Item { quantity: item.quantity + 1, ..item.clone() };
    let items: Vec<Item> = order.items.iter().map(more).collect();
    segno::try_join_all(items.iter().map(|item| ctx.call(ship, item))).await\n",
        )],
    ),
    edit(
        "add-a-step-at-the-end",
        AtTheEnd,
        &[
            (
                "            let amount_cents = amount(&order);\n",
                "            ctx.call(notify, &order.id).await?;\n            let amount_cents = amount(&order);\n",
            ),
            NOTIFY,
        ],
    ),
    edit(
        "add-a-step-before-the-approval",
        Once("promise approval"),
        &[
            (
                "    approved(ctx, order).await?;\n",
                "    ctx.call(notify, &order.id).await?;\n    approved(ctx, order).await?;\n",
            ),
            NOTIFY,
        ],
    ),
    edit("add-a-function-that-nobody-calls", Never, &[NOTIFY]),
    edit(
        "remove-a-timer",
        Once("promise approval"),
        &[(
            "ctx.named_promise::<bool>(\"approval\").timeout(limit).await",
            "{
        let _ = limit;
        ctx.named_promise::<bool>(\"approval\").await
    }",
        )],
    ),
    edit(
        "rename-a-promise",
        Once("promise approval"),
        &[
            ("ctx.named_promise::<bool>(\"approval\")", "ctx.named_promise::<bool>(\"consent\")"),
            ("promises(approval: bool)", "promises(consent: bool)"),
        ],
    ),
    // The field that old orders lack is written into the arguments of steps.
    edit(
        "add-a-field-that-is-always-written",
        Once("call reserve"),
        &[(
            "    pub price_cents: u64,\n}",
            "    pub price_cents: u64,\n    /// Whether it is wrapped.\n    #[serde(default)]\n    pub gift: bool,\n}",
        )],
    ),
    // The same field, left out if it is not set, so that old arguments stay unchanged.
    edit(
        "add-a-field-compatibly",
        Never,
        &[(
            "    pub price_cents: u64,\n}",
            "    pub price_cents: u64,\n    /// Whether it is wrapped.\n    #[serde(default, skip_serializing_if = \"std::ops::Not::not\")]\n    pub gift: bool,\n}",
        )],
    ),
    edit(
        "widen-a-type",
        Never,
        &[
            ("    pub quantity: u32,", "    pub quantity: u64,"),
            ("u64::from(item.quantity) * item.price_cents", "item.quantity * item.price_cents"),
        ],
    ),
    edit(
        "add-a-field-to-the-result",
        AtTheEnd,
        &[
            (
                "    pub shipments: Vec<String>,\n}",
                "    pub shipments: Vec<String>,\n    /// How many parcels.\n    pub parcels: usize,\n}",
            ),
            ("amount_cents, shipments })", "amount_cents, parcels: shipments.len(), shipments })"),
        ],
    ),
    edit(
        "refactor-without-change",
        Never,
        &[
            (
                "    match approve_and_ship(&ctx, &order).await {",
                "    let shipped = async {
        approved(&ctx, &order).await?;
        let parcels: Vec<_> = order.items.iter().map(|item| ctx.call(ship, item)).collect();
        segno::try_join_all(parcels).await
    };
    match shipped.await {",
            ),
            (
                "async fn approve_and_ship(ctx: &Context, order: &Order) -> Result<Vec<String>> {
    approved(ctx, order).await?;
    segno::try_join_all(order.items.iter().map(|item| ctx.call(ship, item))).await
}

",
                "",
            ),
        ],
    ),
    edit(
        "ship-one-after-the-other",
        // The first parcel is requested as before. The second is no longer requested concurrently.
        Once("4 call ship"),
        &[(
            "    segno::try_join_all(order.items.iter().map(|item| ctx.call(ship, item))).await\n",
            "    let mut parcels = Vec::new();
    for item in &order.items {
        parcels.push(ctx.call(ship, item).await?);
    }
    Ok(parcels)\n",
        )],
    ),
    edit(
        "ship-in-another-order",
        Once("call ship"),
        &[(
            "order.items.iter().map(|item| ctx.call(ship, item))",
            "order.items.iter().rev().map(|item| ctx.call(ship, item))",
        )],
    ),
    edit(
        "log-another-line",
        Never,
        &[("\"order {} shipped in {} parcels\"", "\"order {} left in {} parcels\"")],
    ),
    edit(
        "change-what-a-step-does",
        Never,
        &[(
            "Ok(format!(\"parcel-{}\", ctx.idempotency_key()))",
            "Ok(format!(\"box-{}\", ctx.idempotency_key()))",
        )],
    ),
    edit(
        "forget-a-compensation",
        Once("call release"),
        &[(
            "            segno::try_join(refund(&ctx, &order, &charge), ctx.call(release, &reservation.name))
                .await?;\n",
            "            refund(&ctx, &order, &charge).await?;\n",
        )],
    ),
    edit(
        "panic-after-the-approval",
        Panics("call ship"),
        &[(
            "    approved(ctx, order).await?;\n",
            "    approved(ctx, order).await?;\n    assert!(order.items.is_empty(), \"nothing is shipped any more\");\n",
        )],
    ),
    Edit {
        name: "add-a-dependency",
        changes: &[(
            "order.items.iter().map(|item| u64::from(item.quantity) * item.price_cents).sum()",
            "order.items.iter().map(|item| tariff::times(item.quantity, item.price_cents)).sum()",
        )],
        manifest: "tariff = { path = \"../tariff\" }\n",
        breaks: Never,
    },
    edit("compiled-otherwise", Never, &[]),
];
