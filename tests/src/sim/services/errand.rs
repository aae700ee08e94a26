//! Operations of clients of services.

use segno_services::ids::HandlerTarget;
use segno_sim::BEGINNING;
use serde_json::{Value as Json, json};

use super::super::dice::Dice;

/// Keys of the object.
const STOCKS: [&str; 2] = ["tea", "milk"];
/// Keys of the workflow.
const SIGNERS: [&str; 2] = ["ada", "bob"];

/// An invocation that a client begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Errand {
    /// Places an order, which reserves, sends a note, and waits for the answer.
    Place {
        /// Key of the stock.
        stock: &'static str,
        /// Earliest time at which the order continues, in milliseconds after the start.
        at: i64,
    },
    /// Runs the workflow of a key.
    Run {
        /// Key of the workflow.
        key: &'static str,
    },
    /// Completes the promise that this workflow waits for.
    Sign {
        /// Key of the workflow.
        key: &'static str,
    },
    /// Calls a handler that also runs this workflow.
    Enroll {
        /// Key of the workflow.
        key: &'static str,
    },
}

impl Errand {
    /// Address of the handler.
    pub fn target(&self) -> String {
        match self {
            Self::Place { .. } => "restate://Order/place".to_owned(),
            Self::Run { key } => run(key).address(),
            Self::Sign { key } => format!("restate://Sign/{key}/sign"),
            Self::Enroll { .. } => "restate://Order/enroll".to_owned(),
        }
    }

    /// Input of the handler.
    pub fn input(&self) -> Json {
        match self {
            Self::Place { stock, at } => {
                let other = if *stock == STOCKS[0] { STOCKS[1] } else { STOCKS[0] };
                json!({ "stock": stock, "other": other, "at": BEGINNING.0 + at })
            }
            Self::Run { key } | Self::Sign { key } | Self::Enroll { key } => json!(key),
        }
    }

    /// True if the errand begins an invocation that other errands depend on.
    pub fn starts(&self) -> bool {
        matches!(self, Self::Place { .. } | Self::Run { .. })
    }

    /// Random errands of a scenario, with their instants and ids.
    pub fn some(dice: &mut Dice) -> Vec<(i64, String, Self)> {
        let mut errands = Vec::new();
        for number in 0..dice.between(1, 2) {
            let at = dice.between(0, 3_000);
            let place = Self::Place { stock: dice.pick(&STOCKS), at: at + dice.between(0, 900) };
            errands.push((at, format!("v{number}"), place));
        }
        if dice.chance(600) {
            errands.extend(Self::signed(dice.pick(&SIGNERS), dice));
        }
        errands
    }

    /// Errands for the workflow of a key: up to two further handlers that run it, and one that
    /// signs.
    fn signed(key: &'static str, dice: &mut Dice) -> Vec<(i64, String, Self)> {
        let id = run(key).run().to_string();
        let mut errands = vec![
            (dice.between(0, 3_000), id.clone(), Self::Run { key }),
            (dice.between(0, 5_000), format!("{id}.sign"), Self::Sign { key }),
        ];
        for number in 0..dice.below(3) {
            let enroll = Self::Enroll { key };
            errands.push((dice.between(0, 3_000), format!("{id}.enroll{number}"), enroll));
        }
        errands
    }

    /// One errand of each kind, for enumerations.
    pub fn each() -> Vec<(i64, String, Self)> {
        let (key, stock) = (SIGNERS[0], STOCKS[0]);
        let id = run(key).run().to_string();
        vec![
            (0, "v0".to_owned(), Self::Place { stock, at: 200 }),
            (0, id.clone(), Self::Run { key }),
            (20, format!("{id}.enroll0"), Self::Enroll { key }),
            (300, format!("{id}.sign"), Self::Sign { key }),
        ]
    }
}

/// Address of the run of a key.
fn run(key: &str) -> HandlerTarget<'_> {
    HandlerTarget { service: "Sign", scope: None, key: Some(key), handler: "run" }
}
