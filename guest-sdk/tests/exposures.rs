//! Functions that their author offers to assistants, as a module describes them.

extern crate segno_sdk as segno;

use segno::{ActivityContext, Context, Result, State};

#[segno::workflow(expose = "mcp")]
async fn order(_ctx: Context) -> Result<u32> {
    Ok(1)
}

#[segno::activity(name = "dispatch", expose = "mcp")]
async fn ship(_ctx: ActivityContext) -> Result<u32> {
    Ok(1)
}

#[segno::workflow]
async fn refund(_ctx: Context) -> Result<u32> {
    Ok(1)
}

#[segno::object]
struct Cart {
    total: State<u32>,
}

#[segno::object]
impl Cart {
    async fn add(&mut self, _ctx: Context, cents: u32) -> Result<()> {
        self.total.set(&cents)
    }

    #[shared(expose = "mcp")]
    async fn total(&self, _ctx: Context) -> Result<Option<u32>> {
        self.total.get().await
    }
}

segno::module!(order, ship, refund, Cart);

#[test]
fn a_module_describes_what_it_offers() {
    let offers = segno_module().describe_exposures();
    let offers: Vec<_> =
        offers.iter().map(|offer| (offer.function.as_str(), offer.protocol.as_str())).collect();
    assert_eq!(offers, [("order", "mcp"), ("dispatch", "mcp"), ("Cart/total", "mcp")]);
}
