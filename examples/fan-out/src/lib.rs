//! Many children in parallel.
//!
//! It shows that a call is a future like any other, so a thousand of them are one `try_join_all`.
//! All are issued before the workflow waits, and the host stores them in one commit.

use segno::{ActivityContext, Context, Result};

/// The width of the fan-out.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Width {
    /// The number of children. Default: 1,000.
    #[serde(default = "thousand")]
    pub children: u64,
}

fn thousand() -> u64 {
    1_000
}

/// Squares the numbers from 1 to the number of children, each in a child, and adds up the results.
#[segno::workflow]
pub async fn fan_out(ctx: Context, width: Width) -> Result<u64> {
    let squares =
        segno::try_join_all((1..=width.children).map(|number| ctx.call(square, &number))).await?;
    Ok(squares.into_iter().sum())
}

/// One child's share of the work.
#[segno::activity]
pub async fn square(_ctx: ActivityContext, number: u64) -> Result<u64> {
    Ok(number * number)
}

segno::module!(fan_out, square);

#[cfg(test)]
mod tests {
    use segno::{serde_json::json, testing::Test};

    use super::*;

    #[test]
    fn a_thousand_squares_are_added() {
        let mut test = Test::new();
        assert_eq!(test.run_json(fan_out, &json!({})).unwrap(), 333_833_500);
        assert_eq!(test.calls(square).len(), 1_000);
        test.replay_check();
    }

    #[test]
    fn no_children_are_a_sum_too() {
        assert_eq!(Test::new().run(fan_out, &Width { children: 0 }).unwrap(), 0);
    }
}
