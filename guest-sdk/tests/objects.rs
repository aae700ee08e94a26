//! Objects: state by key, with one writer at a time.

extern crate segno_sdk as segno;

use std::time::Duration;

use segno::{Context, Error, Result, State, StateMap, testing::Test};

/// The items that a customer wants to buy.
#[segno::object]
struct Cart {
    total: State<u64>,
    items: StateMap<u32>,
}

#[segno::object]
impl Cart {
    /// Adds one item, and answers how many there are of it.
    async fn add(&mut self, ctx: Context, item: String) -> Result<u32> {
        let (total, known) = segno::try_join(self.total.get(), self.items.get(&item)).await?;
        ctx.sleep(Duration::from_secs(1)).await?;
        let known = known.unwrap_or_default() + 1;
        self.items.set(&item, &known)?;
        self.total.set(&(total.unwrap_or_default() + 1))?;
        Ok(known)
    }

    async fn empty(&mut self, ctx: Context) -> Result<()> {
        ctx.clear_state();
        assert_eq!(self.total.get().await?, None);
        Ok(())
    }

    async fn forget(&mut self, _ctx: Context, item: String) -> Result<()> {
        self.items.remove(&item);
        Ok(())
    }

    #[shared]
    async fn list(&self, ctx: Context) -> Result<(String, u64, Vec<String>)> {
        let total = self.total.get().await?.unwrap_or_default();
        Ok((ctx.key(), total, self.items.keys().await?))
    }

    #[exclusive(timeout = "1s")]
    async fn fail(&mut self, _ctx: Context) -> Result<()> {
        Err(Error::terminal(422, "no"))
    }

    fn _of_no_concern_to_the_host() {}
}

#[segno::workflow]
async fn shop(ctx: Context, items: Vec<String>) -> Result<(String, u64, Vec<String>)> {
    let cart = ctx.object::<Cart>("ada");
    let counts = segno::try_join_all(items.iter().map(|item| cart.add(item))).await?;
    assert_eq!(counts.len(), items.len());
    assert_eq!(cart.fail().await.expect_err("it fails").code(), 422);
    cart.list().await
}

#[segno::workflow]
async fn start_only(ctx: Context) -> Result<String> {
    ctx.object::<Cart>("b/o@b").add(&"hat".to_owned()).send().await
}

segno::module!(shop, Cart, start_only);

fn items(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn calls_of_one_object_take_turns_and_see_each_others_state() {
    let mut test = Test::new();
    let list = test.run(shop, &items(&["hat", "coat", "hat"])).unwrap();
    assert_eq!(list, ("ada".to_owned(), 3, items(&["coat", "hat"])));
    assert_eq!(test.elapsed(), Duration::from_secs(3), "one after the other");
    assert_eq!(test.state_of::<u32>("Cart@ada", "items/hat"), Some(2));
    test.replay_check();
}

#[test]
fn state_is_set_before_a_run_and_stays_after_it() {
    let mut test = Test::new();
    test.state("Cart@ada", "total", &41);
    let known: u32 = test.run_object(Cart, "ada", "add", "hat").unwrap();
    assert_eq!((known, test.state_of::<u64>("Cart@ada", "total")), (1, Some(42)));
    test.replay_check();
    test.run_object::<_, ()>(Cart, "ada", "forget", "hat").unwrap();
    assert_eq!(test.state_of::<u32>("Cart@ada", "items/hat"), None);
    test.run_object::<_, ()>(Cart, "ada", "empty", &()).unwrap();
    assert_eq!(test.state_of::<u64>("Cart@ada", "total"), None);
    let error = test.run_object::<_, ()>(Cart, "ada", "fail", &()).unwrap_err();
    assert_eq!(error.code(), 422);
}

#[test]
fn a_call_that_nobody_waits_for_is_sent() {
    let mut test = Test::new();
    assert_eq!(test.run(start_only, &()).unwrap(), "test/0");
}

#[test]
fn the_module_describes_functions_of_objects_by_their_names() {
    let module = segno_module();
    let names: Vec<&str> = module.names().collect();
    let expected =
        ["shop", "Cart/add", "Cart/empty", "Cart/forget", "Cart/list", "Cart/fail", "start_only"];
    assert_eq!(names, expected);
    assert!(module.schemas("Cart/add").is_some());
}
