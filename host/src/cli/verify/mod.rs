//! `segno verify`.

mod show;
mod world;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use segno_env::{Clock as _, SystemClock};
use segno_guest::{HttpClient, HttpGate, HttpLimits, Outbound, Policy};
use segno_verify::{
    ExplorationBounds, FindingReport, RunSchedule, VerifiedComponent, VerifyError, VerifyReport,
    VerifyScript, VerifySetup, explore, repeat,
};
use serde::Serialize;

use self::world::BundledWorld;
use super::{
    CliError, Console, Exit,
    build::{self, other},
    compile,
    deploy::{name_of, read_component},
    input::read_json,
    runtimes::with_runtime,
};

/// Run a workflow under every fault the engine knows, in virtual time, on this machine
///
/// The engine itself runs the component, without a host: in every order in which results can arrive
/// while these are few, then with crashes at every wait and every commit, with activities delivered
/// twice, lost claims, cancellation at every wait, and timers that fire before results. Time is
/// virtual, and nothing is sent outside: activities are those of the component, or follow a script.
/// A finding comes with the shortest schedule that shows it, which repeats it exactly.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno verify target/order.wasm order --input @order.json --script verify.toml
  segno verify . order -i '{\"items\": []}'        # builds the project in this folder
  segno verify order.wasm order --schedule 'go:0 crash go:1'
  segno verify order.wasm order --runs 20000 --seed 7 --json
  segno verify --bundle order-1001.segno-bundle  # its recorded results, in every order
  segno verify next.wasm order --bundle order-1001.segno-bundle

The exit code is 0 if nothing was found and 10 if something was. The page verify.html of
`segno docs` says what each finding means, and what a script is.")]
pub(super) struct VerifyArgs {
    /// Component file, or the folder of a project, which is built
    #[arg(value_name = "COMPONENT.wasm|PROJECT", required_unless_present = "bundle")]
    component: Option<PathBuf>,
    /// Workflow
    #[arg(required_unless_present = "bundle")]
    function: Option<String>,
    /// A recorded execution: activities, requests and people answer as they did in it. It supplies
    /// its module, function and input unless they are given
    #[arg(long, value_name = "FILE.segno-bundle")]
    bundle: Option<PathBuf>,
    /// In the bundle: the id of the execution (default: the one that the bundle was made for)
    #[arg(long, value_name = "ID", requires = "bundle")]
    of: Option<String>,
    /// Input: JSON, @FILE, or - for standard input (default: null)
    #[arg(long, short, value_name = "JSON")]
    input: Option<String>,
    /// Script with the outcomes of activities and requests, and the items sent to the workflow
    /// (TOML)
    #[arg(long, value_name = "FILE.toml")]
    script: Option<PathBuf>,
    /// Another component, under the name by which the workflow calls it
    #[arg(long = "module", value_name = "NAME=FILE.wasm", value_parser = read_module)]
    modules: Vec<(String, PathBuf)>,
    /// Maximum number of runs
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    runs: usize,
    /// Seed of the samples that are drawn if there are more orders than runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Run only this schedule, as a finding prints it
    #[arg(long, value_name = "SCHEDULE")]
    schedule: Option<String>,
    /// Allow the outcome to depend on the order in which results arrive
    #[arg(long)]
    orders_may_differ: bool,
    /// Send requests that the script does not answer, as far as this policy allows (TOML)
    #[arg(long, value_name = "POLICY.toml")]
    real: Option<PathBuf>,
    #[command(flatten)]
    how: build::BuildFlags,
}

fn read_module(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), file.into()))
        }
        _ => Err("write it as NAME=FILE.wasm".to_owned()),
    }
}

/// The report, with the command that repeats each finding.
#[derive(Serialize)]
struct VerifyOutput<'a> {
    #[serde(flatten)]
    report: &'a VerifyReport,
    /// The command that repeats each of `failures`, in the same order.
    commands: Vec<String>,
    elapsed_ms: u128,
}

impl From<VerifyError> for CliError {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::NoFunction { .. } => {
                Self::Other { code: "no-such-function", message: error.to_string() }
            }
            VerifyError::Component { .. } => {
                Self::Other { code: "invalid-component", message: error.to_string() }
            }
            VerifyError::Host(_) => Self::Other { code: "internal", message: error.to_string() },
            VerifyError::NoAnswer { .. } => {
                Self::Other { code: "no-answer", message: error.to_string() }
            }
            VerifyError::Script(_) | VerifyError::NoSchedule(_) | VerifyError::Misfit { .. } => {
                Self::Usage(error.to_string())
            }
        }
    }
}

impl VerifyArgs {
    pub(super) async fn run(mut self, console: &mut Console) -> Result<Exit, CliError> {
        let schedule: Option<RunSchedule> = match &self.schedule {
            Some(text) => Some(text.parse().map_err(VerifyError::from)?),
            None => None,
        };
        let script = self.read_script()?;
        let setup = Arc::new(self.set_up(script, console).await?);
        let bounds = ExplorationBounds { runs: self.runs, seed: self.seed };
        let progress = console.progress("verifying");
        let clock = SystemClock::default();
        let begun = clock.elapsed();
        let exploring = tokio::task::spawn_blocking(move || {
            let mut tell = |runs, found| match found {
                0 => progress.say(format!("verifying: {runs} runs")),
                found => progress.say(format!("verifying: {runs} runs, {found} findings")),
            };
            match schedule {
                Some(schedule) => repeat(&setup, &schedule, bounds),
                None => explore(&setup, bounds, &mut tell),
            }
        });
        let report = exploring.await.map_err(|error| CliError::Other {
            code: "internal",
            message: format!("the exploration ended early: {error}"),
        })??;
        let elapsed = clock.elapsed().saturating_sub(begun);
        if console.json() {
            let commands = report.failures.iter().map(|failure| self.command(failure)).collect();
            console.document(&VerifyOutput {
                report: &report,
                commands,
                elapsed_ms: elapsed.as_millis(),
            })?;
        } else {
            self.show(&report, elapsed, console)?;
        }
        Ok(if report.failures.is_empty() { Exit::Done } else { Exit::Found })
    }

    fn read_script(&self) -> Result<VerifyScript, CliError> {
        let mut script = match &self.script {
            None => VerifyScript::default(),
            Some(path) => VerifyScript::read(&read_text(path)?).map_err(VerifyError::from)?,
        };
        script.orders_may_differ |= self.orders_may_differ;
        Ok(script)
    }

    async fn set_up(
        &mut self,
        mut script: VerifyScript,
        console: &mut Console,
    ) -> Result<VerifySetup, CliError> {
        let world = self.bundle.as_deref().map(|file| BundledWorld::read(file, self.of.as_deref()));
        let world = world.transpose()?;
        let mut components = match &self.component {
            Some(path) => vec![self.component_of(&path.clone(), console).await?],
            None => Vec::new(),
        };
        for (name, path) in &self.modules {
            components.push((name.clone(), read_component(path)?));
        }
        let mut input = self.input.as_deref().map(read_json).transpose()?;
        if let Some(world) = world {
            world.components(&mut components)?;
            self.function.get_or_insert(world.recorded.function);
            input.get_or_insert(world.recorded.input);
            script.extend(world.recorded.script);
        }
        let real = self.real.as_deref().map(way_out).transpose()?;
        let (mut described, mut runtimes) = (Vec::new(), BTreeMap::new());
        for (alias, bytes) in components {
            let bytes: Arc<[u8]> = bytes.into();
            runtimes.extend(with_runtime(bytes.clone())?);
            let facts = build::describe(bytes.clone()).await?.facts();
            described.push(VerifiedComponent { alias, bytes, facts });
        }
        let function = self.function.as_deref().unwrap_or_default();
        let input = input.unwrap_or_default();
        Ok(VerifySetup::new(described, function, input, script, real, compile::kept(), runtimes)
            .await?)
    }

    /// The component in a file, or of a project, which is built; and its name.
    async fn component_of(
        &mut self,
        path: &Path,
        console: &mut Console,
    ) -> Result<(String, Vec<u8>), CliError> {
        if !path.is_dir() {
            return Ok((name_of(path)?, read_component(path)?));
        }
        let built = build::build(path, self.how.clone(), console).await?;
        self.component = Some(built.path);
        Ok((built.package, built.component))
    }

    /// The command that repeats a finding.
    fn command(&self, failure: &FindingReport) -> String {
        let mut words = vec!["segno".to_owned(), "verify".to_owned()];
        if let Some(component) = &self.component {
            words.push(quoted(&component.display().to_string()));
            words.extend(self.function.as_deref().map(quoted));
        }
        let mut option = |name: &str, value: &str| {
            words.push(name.to_owned());
            words.push(quoted(value));
        };
        if let Some(input) = &self.input {
            option("--input", input);
        }
        if let Some(script) = &self.script {
            option("--script", &script.display().to_string());
        }
        if let Some(bundle) = &self.bundle {
            option("--bundle", &bundle.display().to_string());
        }
        if let Some(of) = &self.of {
            option("--of", of);
        }
        for (name, file) in &self.modules {
            option("--module", &format!("{name}={}", file.display()));
        }
        if let Some(policy) = &self.real {
            option("--real", &policy.display().to_string());
        }
        option("--schedule", &failure.schedule);
        words.join(" ")
    }
}

fn quoted(text: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "_-./=:@".contains(character);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

fn read_text(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(|source| CliError::File {
        what: "read",
        path: path.display().to_string(),
        source,
    })
}

/// Outbound HTTP under a policy.
fn way_out(policy: &Path) -> Result<Arc<dyn Outbound>, CliError> {
    read_text(policy)?;
    let policy = Policy::load(policy).map_err(|error| other("invalid-policy", &error))?;
    let client =
        HttpClient::new(HttpLimits::default()).map_err(|error| other("no-client", &error))?;
    Ok(Arc::new(HttpGate::new(policy.into(), client)))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("target/order.wasm"), "target/order.wasm");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("{\"it's\": 1}"), "'{\"it'\\''s\": 1}'");
    }
}
