//! What clients want of services.

use segno::services::ids::Called;
use serde_json::{Value as Json, json};

use super::super::dice::Dice;
use crate::world::BEGINNING;

/// The keys of the object.
const STOCKS: [&str; 2] = ["tea", "milk"];
/// The keys of the workflow.
const SIGNERS: [&str; 2] = ["ada", "bob"];

/// An invocation that a client begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Errand {
    /// An order is placed: it reserves, sends a note, and waits for the answer.
    Place {
        /// What is reserved.
        stock: &'static str,
        /// When it goes on at the earliest, in milliseconds after the beginning.
        at: i64,
    },
    /// The workflow of a key runs.
    Run {
        /// The key.
        key: &'static str,
    },
    /// The promise that this workflow waits for is completed.
    Sign {
        /// The key.
        key: &'static str,
    },
    /// A handler has that workflow run as well.
    Enroll {
        /// The key.
        key: &'static str,
    },
}

impl Errand {
    /// The address of its handler.
    pub fn target(&self) -> String {
        match self {
            Self::Place { .. } => "restate://Order/place".to_owned(),
            Self::Run { key } => run(key).address(),
            Self::Sign { key } => format!("restate://Sign/{key}/sign"),
            Self::Enroll { .. } => "restate://Order/enroll".to_owned(),
        }
    }

    /// Its input.
    pub fn input(&self) -> Json {
        match self {
            Self::Place { stock, at } => {
                let other = if *stock == STOCKS[0] { STOCKS[1] } else { STOCKS[0] };
                json!({ "stock": stock, "other": other, "at": BEGINNING.0 + at })
            }
            Self::Run { key } | Self::Sign { key } | Self::Enroll { key } => json!(key),
        }
    }

    /// Whether it begins something that others belong to.
    pub fn starts(&self) -> bool {
        matches!(self, Self::Place { .. } | Self::Run { .. })
    }

    /// What the clients of a scenario want, when, and under which ids.
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

    /// The workflow of a key, which is asked for by up to three, and the one who signs.
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

    /// One of each, for what is enumerated.
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

/// The run of a key.
fn run(key: &str) -> Called<'_> {
    Called { service: "Sign", scope: None, key: Some(key), handler: "run" }
}
