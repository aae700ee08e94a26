//! `segno doctor`.

use clap::Args;
use segno_core::config::Config;
use segno_engine::recovery::{Repair, RepairStep, class, describe, repair};
use segno_env::Env;
use segno_store::{Diagnosis, Scan, StoreProblem, examine};
use serde_json::{Value, json};

use super::{
    CliError, Console, Exit,
    build::other,
    console::{GREEN, RED},
    doctor_database as server,
    place::StoreOptions,
    table::{TextCell, TextColumn, TextTable},
};

/// Check a store: every invariant, and the damage that recovery can repair
///
/// Changes nothing without --repair, and may be used while a host runs. Reads a thousand promises
/// at a time, with their journals, so its memory does not grow with the store. With --repair it
/// takes the actions that `segno recovery policy` lists, and no others: it repairs facts that
/// follow from others, and halts an execution whose rows contradict each other.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno doctor
  segno doctor --store /var/lib/segno
  segno doctor --store /var/lib/segno --repair
  segno doctor --json | jq '.symptoms[] | {rule, ids}'
  segno doctor --database postgres://segno@db.example.org/segno

The exit code is 0 when nothing is wrong, 9 when something is (with --repair: still is).")]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    place: StoreOptions,
    /// Repair what the policy allows; no host may run on the data directory
    #[arg(long)]
    repair: bool,
    /// Examine the PostgreSQL server at this address instead of a store
    ///
    /// Says which of its abilities hosts can use, and runs the conformance scripts in a schema of
    /// their own, which is removed. The role must be allowed to create schemas.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "repair")]
    database: Option<String>,
    /// Number of commands of each script
    #[arg(long, value_name = "NUMBER", default_value_t = 200, requires = "database")]
    steps: usize,
}

impl DoctorArgs {
    pub(super) async fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        if let Some(address) = &self.database {
            return server::examine(address, self.steps, console).await;
        }
        if self.repair {
            return self.repair_store(console).await;
        }
        let look = self.place.look().await?;
        let diagnosis = diagnose(look.scan(), console).await;
        look.close().await;
        let diagnosis = diagnosis?;
        if console.json() {
            console.document(&document(&diagnosis))?;
        } else {
            self.tell(&diagnosis, console)?;
            if !diagnosis.is_clean() {
                console
                    .remark("`segno recovery policy` says what is done about it; --repair does it");
            }
        }
        Ok(exit(&diagnosis))
    }

    async fn repair_store(self, console: &mut Console) -> Result<Exit, CliError> {
        let store = self.place.open().await?;
        let scan = store.scan();
        let before = diagnose(scan, console).await?;
        let repaired = repair(&*store, &before).await.map_err(|error| other("store", &error))?;
        let after = diagnose(scan, console).await;
        store.close().await;
        let after = after?;
        if console.json() {
            let mut answer = document(&after);
            answer["mended"] = repaired.steps.iter().filter_map(step).collect();
            answer["found"] = json!(before.count);
            console.document(&answer)?;
            return Ok(exit(&after));
        }
        self.tell(&before, console)?;
        done(&repaired, console)?;
        if !before.is_clean() {
            let left = match after.count {
                0 => console.paint(GREEN, "nothing is wrong any more"),
                1 => console.paint(RED, "1 symptom is left"),
                left => console.paint(RED, &format!("{left} symptoms are left")),
            };
            console.line(format!("\nlooked again: {left}"))?;
            if !after.is_clean() {
                self.table(&after, console)?;
            }
        }
        Ok(exit(&after))
    }

    fn tell(&self, diagnosis: &Diagnosis, console: &mut Console) -> Result<(), CliError> {
        let looked = format!("{}: {} promises looked at", self.place.name(), diagnosis.promises);
        let verdict = match diagnosis.count {
            0 => console.paint(GREEN, "nothing is wrong"),
            1 => console.paint(RED, "1 symptom"),
            count => console.paint(RED, &format!("{count} symptoms")),
        };
        console.line(format!("{looked}, {verdict}"))?;
        if !diagnosis.is_clean() {
            self.table(diagnosis, console)?;
        }
        Ok(())
    }

    fn table(&self, diagnosis: &Diagnosis, console: &mut Console) -> Result<(), CliError> {
        let mut table = TextTable::new(&[
            TextColumn::prose("RULE"),
            TextColumn::id("WHERE"),
            TextColumn::prose("WHAT IS WRONG"),
        ]);
        for finding in diagnosis.findings.iter().take(SHOWN) {
            let (rule, ids) = place(finding);
            table.row([rule, ids.join(", "), describe(finding)].map(TextCell::from));
        }
        console.table(&table)?;
        let more = diagnosis.count.saturating_sub(SHOWN as u64);
        if more > 0 {
            console.remark(&format!("and {more} more; --json shows them"));
        }
        Ok(())
    }
}

/// Maximum number of symptoms printed for people.
const SHOWN: usize = 50;

async fn diagnose(scan: &dyn Scan, console: &Console) -> Result<Diagnosis, CliError> {
    let progress = console.progress("looking at promises");
    let now = Env::system().clock.now();
    let seen = |promises| progress.say(format!("{promises} promises looked at"));
    examine(scan, now, &Config::default(), seen).await.map_err(|error| other("store", &error))
}

fn done(repaired: &Repair, console: &mut Console) -> Result<(), CliError> {
    if repaired.steps.is_empty() {
        return Ok(());
    }
    console.line("")?;
    let mut table = TextTable::new(&[
        TextColumn::prose("MENDED"),
        TextColumn::id("WHERE"),
        TextColumn::prose("ACTION TAKEN"),
    ]);
    for found in &repaired.steps {
        if let RepairStep::Repaired { id, orphan } = found {
            let class = class(*orphan);
            table.row([class.class, id.as_str(), class.action.words()].map(TextCell::from));
        }
    }
    if !table.is_empty() {
        console.table(&table)?;
    }
    for row in repaired.unreadable() {
        console.warn(&format!("nothing was done about {row}"));
    }
    Ok(())
}

fn exit(diagnosis: &Diagnosis) -> Exit {
    if diagnosis.is_clean() { Exit::Done } else { Exit::Damaged }
}

/// The violated rule, and the places.
fn place(finding: &StoreProblem) -> (String, Vec<String>) {
    match finding {
        StoreProblem::Broken(violation) => {
            (violation.name.to_owned(), violation.ids.iter().map(ToString::to_string).collect())
        }
        StoreProblem::Orphan { id, orphan } => {
            (class(*orphan).class.to_owned(), vec![id.to_string()])
        }
        StoreProblem::Unreadable(_) => ("unreadable-row".to_owned(), Vec::new()),
        StoreProblem::Database(_) => ("database".to_owned(), Vec::new()),
    }
}

fn document(diagnosis: &Diagnosis) -> Value {
    let finding = |finding: &StoreProblem| {
        let (rule, ids) = place(finding);
        let action = match finding {
            StoreProblem::Orphan { orphan, .. } => Some(class(*orphan).action),
            StoreProblem::Broken(_) | StoreProblem::Unreadable(_) | StoreProblem::Database(_) => {
                None
            }
        };
        json!({ "rule": rule, "ids": ids, "detail": describe(finding), "action": action })
    };
    json!({
        "promises": diagnosis.promises,
        "clean": diagnosis.is_clean(),
        "count": diagnosis.count,
        "symptoms": diagnosis.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

fn step(step: &RepairStep) -> Option<Value> {
    match step {
        RepairStep::Repaired { id, orphan } => {
            let class = class(*orphan);
            Some(json!({ "id": id.as_str(), "class": class.class, "action": class.action }))
        }
        RepairStep::Unreadable { .. } => None,
    }
}
