//! Compiles components in a separate process, since compiling takes much time and memory and
//! processes untrusted input.
//!
//! The process has a lower priority than the host, ends when its time is used up or when the host
//! ends, and returns all its memory. The host survives any failure of the compiler. If no program
//! or directory is configured for it, a thread compiles without these bounds; a process that exits
//! must not wait for that thread.

use std::{path::Path, process::Stdio, sync::Arc};

use segno_core::id::Digest;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
    sync::{Semaphore, oneshot},
};
use wasmparser::{Parser, Payload};
use wasmtime::{Engine, component::Component};

use super::{GuestError, Limits, cache::CodeCache, engine::compiling_engine, loaded::LoadError};

/// The name of the subcommand that compiles a component for a host.
pub const COMMAND: &str = "compile-component";

/// Niceness of a compiling process, relative to the host's.
const NICENESS: i32 = 10;
/// Maximum address space of a compiling process, in bytes.
const ADDRESS_SPACE: u64 = 16 << 30;

/// The place where components are compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compiler {
    /// A thread of this process.
    Thread,
    /// A child process of this program, started by its subcommand [`COMMAND`].
    Program(std::path::PathBuf),
}

/// Compiles for one host, one component at a time.
pub(super) struct CompileService {
    compiler: Compiler,
    limits: Arc<Limits>,
    engine: Engine,
    /// True if the code counts instructions.
    counts: bool,
    cache: Option<Arc<CodeCache>>,
    alone: Semaphore,
}

impl CompileService {
    /// A compiler for `engine` that stores compiled code in `cache`.
    pub(super) fn new(
        compiler: Compiler,
        limits: Arc<Limits>,
        engine: Engine,
        counts: bool,
        cache: Option<Arc<CodeCache>>,
    ) -> Self {
        Self { compiler, limits, engine, counts, cache, alone: Semaphore::new(1) }
    }

    /// Compiles `component`. Dropping the future ends the compiling process.
    pub(super) async fn compile(
        &self,
        digest: Digest,
        component: Arc<[u8]>,
    ) -> Result<Component, LoadError> {
        check_functions(&component, self.limits.component_functions)?;
        let _alone = self.alone.acquire().await.expect("the semaphore is never closed");
        if let (Compiler::Program(program), Some(cache)) = (&self.compiler, &self.cache) {
            return self.apart(program, cache, digest, &component).await;
        }
        let (tell, told) = oneshot::channel();
        let (engine, cache) = (self.engine.clone(), self.cache.clone());
        let compile = move || {
            let compiled = Component::from_binary(&engine, &component);
            let compiled = compiled.map_err(|error| LoadError::Compile(format!("{error:#}")));
            if let (Ok(compiled), Some(cache)) = (&compiled, cache)
                && let Err(error) = cache.store(digest, compiled)
            {
                tracing::warn!("the compiled code of {digest} was not kept: {error}");
            }
            let _ = tell.send(compiled);
        };
        std::thread::Builder::new().name("segno-compile".into()).spawn(compile).map_err(host)?;
        // The thread ended without a result: the compiler panicked on this component.
        let failed = |_| LoadError::Compile("the compiler failed on it".into());
        told.await.map_err(failed)?
    }

    async fn apart(
        &self,
        program: &Path,
        cache: &Arc<CodeCache>,
        digest: Digest,
        component: &[u8],
    ) -> Result<Component, LoadError> {
        let code = cache.place().map_err(host)?;
        let limits = serde_json::to_string(&*self.limits).map_err(host)?;
        let mut process = Command::new(program)
            .args([COMMAND, "--limits", &limits])
            .args(self.counts.then_some("--counts"))
            .arg("--into")
            .arg(code.path())
            // The compiler needs none of the host's environment variables.
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                LoadError::Host(GuestError::Host(format!(
                    "`{}` cannot be started to compile a component: {error}",
                    program.display()
                )))
            })?;
        let mut input = process.stdin.take().expect("it was asked for");
        let mut output = process.stdout.take().expect("it was asked for");
        let mut said = String::new();
        // A process that exits early stops reading, and reports the reason.
        let give = async {
            let _ = input.write_all(component).await;
            drop(input);
        };
        let ((), heard) = tokio::join!(give, output.read_to_string(&mut said));
        heard.map_err(host)?;
        let status = process.wait().await.map_err(host)?;
        if !status.success() {
            return Err(self.refusal(status, &said));
        }
        let (engine, cache) = (self.engine.clone(), Arc::clone(cache));
        let adopted = tokio::task::spawn_blocking(move || {
            cache.adopt(digest, code).map_err(host)?;
            // The instance pool has its own limits.
            cache.map(&engine, digest).map_err(|error| LoadError::Compile(format!("{error:#}")))
        });
        adopted.await.map_err(host)?
    }

    fn refusal(&self, status: std::process::ExitStatus, said: &str) -> LoadError {
        use std::os::unix::process::ExitStatusExt as _;

        if status.code() == Some(1) && !said.is_empty() {
            return LoadError::Compile(said.trim_end().to_owned());
        }
        let out_of_time = rustix::process::Signal::XCPU.as_raw();
        let reason = match status.signal() {
            Some(signal) if signal == out_of_time => format!(
                "compiling it takes more than {} ms of CPU time (`limits.compile_ms`)",
                self.limits.compile_ms
            ),
            _ => format!("the compiler failed on it: {status}"),
        };
        LoadError::Compile(reason)
    }
}

fn host(error: impl std::fmt::Display) -> LoadError {
    LoadError::Host(GuestError::Host(format!("the component could not be compiled: {error}")))
}

/// Refuses a component with too many functions before anything is compiled.
fn check_functions(component: &[u8], limit: u32) -> Result<(), LoadError> {
    let mut functions = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        // The compiler rejects a component that cannot be parsed, with a better message.
        let Ok(payload) = payload else { return Ok(()) };
        if let Payload::CodeSectionStart { count, .. } = payload {
            functions = functions.saturating_add(count);
        }
    }
    if functions > limit {
        return Err(LoadError::Compile(format!(
            "it has {functions} functions; the limit is {limit} (`limits.component_functions`)"
        )));
    }
    Ok(())
}

/// Compiles `component` into the file `into`, for a host with these limits, with instruction
/// counting if requested. The process must do nothing else.
///
/// # Errors
/// The component or the file is at fault.
pub fn compile_into(
    limits: &Limits,
    counts: bool,
    component: &[u8],
    into: &Path,
) -> anyhow::Result<()> {
    bound_process(limits);
    let code = compiling_engine(limits, counts)?.precompile_component(component)?;
    std::fs::write(into, code)?;
    Ok(())
}

/// Sets the resource limits of this process, before any of the component is read.
fn bound_process(limits: &Limits) {
    use rustix::process::{Resource, Rlimit, Signal, setrlimit};

    // A failure is harmless: the host enforces limits as well.
    let _ = rustix::process::setpriority_process(None, NICENESS);
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let seconds = limits.compile_ms.div_ceil(1_000).max(1);
    let time = Rlimit { current: Some(seconds), maximum: Some(seconds + 1) };
    let _ = setrlimit(Resource::Cpu, time);
    let memory = Rlimit { current: Some(ADDRESS_SPACE), maximum: Some(ADDRESS_SPACE) };
    let _ = setrlimit(Resource::As, memory);
    // A compiler that fails must not dump its memory to disk.
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let _ = setrlimit(Resource::Core, none);
}
