//! A crowd's orders, of every fate.

use segno::demo::{
    chance::Chance,
    crowd::Wish,
    order::{Fate, Order},
};
use segno_core::time::Millis;

/// Nobody answers a forgotten order for so long.
pub const PATIENCE: Millis = Millis(3_000);

/// Orders of every fate, placed between the first blow and the last.
pub fn wishes(orders: usize, blows: usize, payments: &str, chance: &mut Chance) -> Vec<Wish> {
    let fate = |number| match number % 10 {
        3 => Fate::Rejected,
        6 => Fate::Forgotten,
        9 => Fate::TooDear,
        _ => Fate::Approved,
    };
    let wish = |number| Wish {
        order: Order::new(number, fate(number), payments, PATIENCE),
        stage: number * blows / orders,
        place_after: chance.length(0, 300),
        decide_after: chance.length(0, 2_000),
    };
    (0..orders).map(wish).collect()
}
