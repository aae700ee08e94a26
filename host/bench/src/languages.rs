//! Measures modules in TypeScript and Python next to one in Rust: from an edit to a module that is
//! deployed, cold starts, resumes, and the memory of many modules.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use anyhow::Context as _;
use segno_api::model::StartInvocation;
use segno_core::{id::Digest, source_module::SourceModule};
use segno_demo::server::{DemoServer, ServerOptions};
use segno_guest::{Limits, Wasm};
use serde_json::{Value as Json, json};

use super::{
    bare_guest::BareGuest,
    context::{self, BenchContext},
    http::invoke,
    measure::{Stopwatch, own_mb, resident_mb},
    programs::finished,
    report::{BenchSection, Goal, percentile},
};

/// A language whose modules are sources.
struct ScriptLanguage {
    name: &'static str,
    /// The name for `segno new`.
    lang: &'static str,
    /// The file with the functions, and its content.
    source: (&'static str, &'static str),
    /// The commands that install the packages of a new project.
    install: &'static [&'static [&'static str]],
    /// Longest time from an edit to a deployed module, in ms.
    deploy_ms: f64,
    /// Longest time of a resume, in µs.
    resume_us: f64,
}

const LANGUAGES: [ScriptLanguage; 2] = [
    ScriptLanguage {
        name: "TypeScript",
        lang: "ts",
        source: ("src/index.ts", include_str!("../languages/index.ts")),
        install: &[&["npm", "install", "--silent", "--no-audit", "--no-fund"]],
        deploy_ms: 1_000.0,
        resume_us: 25.0,
    },
    ScriptLanguage {
        name: "Python",
        lang: "py",
        source: ("app.py", include_str!("../languages/app.py")),
        install: &[
            &["python3", "-m", "venv", ".venv"],
            &[".venv/bin/python3", "-m", "pip", "install", "--quiet", "-r", "requirements.txt"],
        ],
        deploy_ms: 2_000.0,
        resume_us: 60.0,
    },
];

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let mut section = BenchSection::new(
        "modules in TypeScript and Python with their packages, everything installed and compiled once before. An edit is \
         one changed line, deployed by `segno deploy` to a host in a process of its own. Starts and resumes run without a \
         host, in turns with the guest in Rust",
    );
    for language in &LANGUAGES {
        let place = context.place()?;
        let project = language.project(context, place.path())?;
        deployed(context, language, &project, &mut section).await?;
        guests(context, language, &project, &mut section).await?;
        executions(context, language, &project, &mut section).await?;
        memory(context, language, &project, &mut section).await?;
    }
    Ok(section)
}

impl ScriptLanguage {
    /// A new project with the functions of the benchmark, built.
    fn project(&self, context: &BenchContext, within: &Path) -> anyhow::Result<PathBuf> {
        finished(
            Command::new(&context.binary)
                .current_dir(within)
                .args(["new", "bench", "--lang", self.lang]),
        )?;
        let project = within.join("bench");
        for command in self.install {
            finished(Command::new(command[0]).args(&command[1..]).current_dir(&project))?;
        }
        self.write(&project, "")?;
        finished(Command::new(&context.binary).args(["build", "--prepare"]).arg(&project))?;
        Ok(project)
    }

    fn write(&self, project: &Path, line: &str) -> anyhow::Result<()> {
        let (name, text) = self.source;
        Ok(fs::write(project.join(name), format!("{text}{line}\n"))?)
    }
}

/// The time from an edit to the module that runs it, and the bytes of the module.
async fn deployed(
    context: &BenchContext,
    language: &ScriptLanguage,
    project: &Path,
    section: &mut BenchSection,
) -> anyhow::Result<()> {
    let place = context.place()?;
    let options = ServerOptions::within(place.path(), &context.binary)?;
    let address = format!("http://{}", options.listen);
    let server = DemoServer::start(options, context.env.clone()).await?;
    let deploy = || {
        let mut command = Command::new(&context.binary);
        finished(
            command.args(["deploy", "--as", "bench"]).arg(project).env("SEGNO_SERVER", &address),
        )
    };
    // Uploads the runtime, and compiles it.
    deploy()?;
    let mut ms = vec![];
    for edit in 0..context.repetitions {
        let export = if language.lang == "py" { "" } else { "export const " };
        language.write(project, &format!("{export}edited = {edit}"))?;
        let stopwatch = Stopwatch::start();
        deploy()?;
        ms.push(stopwatch.wall_us() / 1e3);
    }
    server.stop().await?;
    let goal = Goal::AtMost { must: 2.0 * language.deploy_ms, aim: language.deploy_ms };
    section.measured(format!("{}, edit to deployed", language.name), "ms", &ms).goal(goal);
    let kb = fs::metadata(module_of(project))?.len() as f64 / 1e3;
    section.measured(format!("{}, module with its package", language.name), "kB", &[kb]);
    Ok(())
}

/// Starts and resumes of instances, next to those of the guest in Rust.
async fn guests(
    context: &BenchContext,
    language: &ScriptLanguage,
    project: &Path,
    section: &mut BenchSection,
) -> anyhow::Result<()> {
    let starts = context.size(500, 10);
    let turns = context.size(5_000, 50);
    let held = context.size(200, 5);
    let (wasm, digest) = engine(&module(project)?)?;
    let (mut start, mut rust_start) = (vec![], vec![]);
    let (mut resume, mut rust_resume) = (vec![], vec![]);
    let mut instance_kb = vec![];
    // Loads the sources, and compiles the guest in Rust.
    started(&wasm, digest, 1).await?;
    started(&context.wasm, context.digest, 1).await?;
    for _ in 0..context.repetitions {
        start.push(started(&wasm, digest, starts).await?);
        rust_start.push(started(&context.wasm, context.digest, starts).await?);
        resume.push(resumed(&wasm, digest, turns).await?);
        rust_resume.push(resumed(&context.wasm, context.digest, turns).await?);
        // Pages of the image that no instance wrote are the same for all.
        let before = own_mb(std::process::id())?;
        let mut instances = Vec::new();
        for _ in 0..held {
            let input = json!({ "steps": 0, "turns": 1 });
            instances.push(BareGuest::of(&wasm, digest, "turns", &input, false).await?);
        }
        let more = own_mb(std::process::id())? - before;
        instance_kb.push(more * 1e3 / f64::from(held));
    }
    let name = language.name;
    section.measured(format!("{name}, cold start"), "us", &start);
    section.floor("Rust, cold start", "us", &rust_start);
    section.ratio(format!("{name}, cold start"), &start, &rust_start);
    let at_most = Goal::AtMost { must: 2.0 * language.resume_us, aim: language.resume_us };
    section.measured(format!("{name}, resume"), "us", &resume).goal(at_most);
    section.floor("Rust, resume", "us", &rust_resume);
    section.measured(format!("{name}, own memory of an instance"), "kB", &instance_kb);
    Ok(())
}

async fn started(wasm: &Wasm, digest: Digest, starts: u32) -> anyhow::Result<f64> {
    let stopwatch = Stopwatch::start();
    for _ in 0..starts {
        BareGuest::of(wasm, digest, "noop", &Json::Null, false).await?;
    }
    Ok(stopwatch.passed().each_us(starts))
}

async fn resumed(wasm: &Wasm, digest: Digest, turns: u32) -> anyhow::Result<f64> {
    let input = json!({ "steps": 0, "turns": turns });
    let mut guest = BareGuest::of(wasm, digest, "turns", &input, false).await?;
    let stopwatch = Stopwatch::start();
    for _ in 0..turns {
        guest.turn().await?;
    }
    Ok(stopwatch.passed().each_us(turns))
}

/// Executions that end immediately, from their request to their result, next to those of the guest
/// in Rust.
async fn executions(
    context: &BenchContext,
    language: &ScriptLanguage,
    project: &Path,
    section: &mut BenchSection,
) -> anyhow::Result<()> {
    let count = context.size(400, 20);
    let place = context.place()?;
    let options = ServerOptions::within(place.path(), &context.binary)?;
    let server = DemoServer::start(options, context.env.clone()).await?;
    let client = server.client();
    let module = module(project)?;
    client.deploy(runtime(module.runtime)?, None).await?;
    client.deploy(module.encode(), Some("script")).await?;
    client.deploy(context.component.to_vec(), Some("bench")).await?;
    let [script, rust] = ["script", "bench"].map(noop);
    let (mut p50, mut rust_p50) = (vec![], vec![]);
    // The first one is not measured.
    for _ in 0..=context.repetitions {
        let (mut times, mut rust_times) = (vec![], vec![]);
        for _ in 0..count {
            times.push(invoke(client, &script).await?);
        }
        for _ in 0..count {
            rust_times.push(invoke(client, &rust).await?);
        }
        p50.push(percentile(&times, 50));
        rust_p50.push(percentile(&rust_times, 50));
    }
    server.stop().await?;
    let name = format!("{}, no-op over HTTP, p50", language.name);
    section.measured(&name, "us", &p50[1..]);
    section.floor("Rust, no-op over HTTP, p50", "us", &rust_p50[1..]);
    let at_most = Goal::AtMost { must: 6.0, aim: 3.0 };
    section.ratio(name, &p50[1..], &rust_p50[1..]).goal(at_most);
    Ok(())
}

/// The memory that a hundred modules add to a host, each of which ran once.
async fn memory(
    context: &BenchContext,
    language: &ScriptLanguage,
    project: &Path,
    section: &mut BenchSection,
) -> anyhow::Result<()> {
    let modules = context.size(100, 5);
    let place = context.place()?;
    let options = ServerOptions::within(place.path(), &context.binary)?;
    let server = DemoServer::start(options, context.env.clone()).await?;
    let client = server.client();
    let first = module(project)?;
    client.deploy(runtime(first.runtime)?, None).await?;
    let mut resident = vec![];
    for number in 0..=modules {
        let name = format!("bench-{number}");
        client.deploy(changed(&first, number)?.encode(), Some(&name)).await?;
        client.start(&noop(&name)).await?;
        if number == 0 || number == modules {
            resident.push(resident_mb(server.pid())?);
        }
    }
    server.stop().await?;
    let name = language.name;
    section.measured(format!("{name}, a host with one module"), "MB", &[resident[0]]);
    let at_most = Goal::AtMost { must: 300.0, aim: 100.0 };
    let more = (resident[1] - resident[0]) * 100.0 / f64::from(modules);
    section.measured(format!("{name}, a hundred modules more"), "MB", &[more]).goal(at_most);
    Ok(())
}

/// An execution of a module's function that ends immediately.
fn noop(module: &str) -> StartInvocation {
    StartInvocation {
        target: format!("{module}/noop"),
        wait_ms: Some(60_000),
        ..StartInvocation::default()
    }
}

/// A module with other bytes and the same functions.
fn changed(module: &SourceModule, number: u32) -> anyhow::Result<SourceModule> {
    let mut files = module.files().to_vec();
    let (_, content) = files
        .iter_mut()
        .find(|(name, _)| name == "bundle.js" || name == "project/app.py")
        .context("the module has a source")?;
    let edited = match content.starts_with(b"from ") {
        true => format!("\nedited = {number}\n"),
        false => format!("\n// {number}\n"),
    };
    content.extend(edited.into_bytes());
    Ok(SourceModule::new(module.runtime, files)?)
}

fn module_of(project: &Path) -> PathBuf {
    project.join("build/bench.module")
}

fn module(project: &Path) -> anyhow::Result<SourceModule> {
    Ok(SourceModule::decode(&fs::read(module_of(project))?)?)
}

fn runtime(digest: Digest) -> anyhow::Result<Vec<u8>> {
    segno_build::script::runtimes::cached(digest)?.context("the build made the runtime")
}

/// An engine with the module and its runtime, and the digest of the module.
fn engine(module: &SourceModule) -> anyhow::Result<(Arc<Wasm>, Digest)> {
    let encoded: Arc<[u8]> = module.encode().into();
    let digest = Digest::of(&encoded);
    let source =
        BTreeMap::from([(digest, encoded), (module.runtime, runtime(module.runtime)?.into())]);
    Ok((context::engine(source, Limits::default(), None)?, digest))
}
