//! Workflows whose results are committed one by one, as a module describes them.

extern crate segno_sdk as segno;

use segno::{Context, Result, State};

#[segno::workflow(commit = "each")]
async fn order(ctx: Context) -> Result<u32> {
    ctx.run("number", || 1_u32).await
}

#[segno::workflow(commit = "gathered")]
async fn ship(ctx: Context) -> Result<u32> {
    ctx.run("number", || 1_u32).await
}

#[segno::object]
struct Cart {
    total: State<u32>,
}

#[segno::object]
impl Cart {
    #[exclusive(commit = "each")]
    async fn add(&mut self, _ctx: Context, cents: u32) -> Result<()> {
        self.total.set(&cents)
    }

    #[shared]
    async fn total(&self, _ctx: Context) -> Result<Option<u32>> {
        self.total.get().await
    }
}

segno::module!(order, ship, Cart);

#[test]
fn a_module_describes_the_workflows_that_commit_each_result() {
    assert_eq!(segno_module().describe_commits(), ["order", "Cart/add"]);
}
