//! A subject of the comparison, and its measurements.

use std::sync::Arc;

use anyhow::Context as _;
use segno_core::time::Millis;
use segno_env::Env;
use tokio::task::JoinSet;

use super::{
    bare::DeploymentCaller,
    server::{BenchServer, ServiceCaller},
};
use crate::{
    measure::{Stopwatch, cpu_of_us, resident_mb},
    report::percentile,
};

/// Number of concurrent clients, in measurements with several.
pub(super) const CLIENTS: u32 = 64;

/// Time that invocations run before their server is killed.
const HEAD_START: Millis = Millis(100);

/// A server, or the bare service.
pub(super) struct BenchSubject {
    callee: SubjectCallee,
    server: Option<BenchServer>,
    /// Latencies of single-client no-ops in this repetition, in microseconds.
    latencies: Vec<f64>,
    pub figures: SubjectFigures,
}

/// The measurements, one value per repetition. The last three exist only for servers.
#[derive(Default)]
pub(super) struct SubjectFigures {
    /// Latency of no-ops with one client, in microseconds.
    pub alone_p50: Vec<f64>,
    pub alone_p99: Vec<f64>,
    /// No-ops per second with many clients.
    pub noops: Vec<f64>,
    /// CPU time per no-op with many clients, in microseconds: that of the server; without a server,
    /// that of this process, including client and service.
    pub cpu: Vec<f64>,
    /// Invocations of three steps per second, with many clients.
    pub three_steps: Vec<f64>,
    /// CPU time per invocation of three steps, as for `cpu`.
    pub three_steps_cpu: Vec<f64>,
    /// Time per step of a long invocation, in microseconds.
    pub step: Vec<f64>,
    /// Time from SIGKILL to the first answer, in milliseconds.
    pub first_answer: Vec<f64>,
    /// Time from SIGKILL to the end of all interrupted invocations, in milliseconds.
    pub all_ended: Vec<f64>,
    /// Resident memory of the server after the work, in megabytes.
    pub memory: Vec<f64>,
}

#[derive(Clone)]
enum SubjectCallee {
    Server(ServiceCaller),
    Bare(Arc<DeploymentCaller>),
}

impl BenchSubject {
    /// Creates a subject for a server.
    pub(super) fn server(server: BenchServer) -> Self {
        let callee = SubjectCallee::Server(server.caller().clone());
        Self {
            callee,
            server: Some(server),
            latencies: Vec::new(),
            figures: SubjectFigures::default(),
        }
    }

    /// Creates a subject for the bare service.
    pub(super) fn bare(bare: DeploymentCaller) -> Self {
        let callee = SubjectCallee::Bare(Arc::new(bare));
        Self { callee, server: None, latencies: Vec::new(), figures: SubjectFigures::default() }
    }

    /// Measures one no-op.
    ///
    /// # Errors
    /// Fails, here and below, if an invocation did not end as expected.
    pub(super) async fn noop(&mut self) -> anyhow::Result<()> {
        self.latencies.push(self.callee.steps(0).await?);
        Ok(())
    }

    /// Records the percentiles of this repetition's no-ops.
    pub(super) fn noops_done(&mut self) {
        let latencies = std::mem::take(&mut self.latencies);
        self.figures.alone_p50.push(percentile(&latencies, 50));
        self.figures.alone_p99.push(percentile(&latencies, 99));
    }

    /// Measures no-ops by many clients, `each` per client.
    pub(super) async fn noops(&mut self, each: u32) -> anyhow::Result<()> {
        let (rate, cpu) = self.crowd(0, each).await?;
        self.figures.noops.push(rate);
        self.figures.cpu.push(cpu);
        Ok(())
    }

    /// Measures invocations of three steps by many clients, `each` per client.
    pub(super) async fn three_steps(&mut self, each: u32) -> anyhow::Result<()> {
        let (rate, cpu) = self.crowd(3, each).await?;
        self.figures.three_steps.push(rate);
        self.figures.three_steps_cpu.push(cpu);
        Ok(())
    }

    /// Invocations with this many steps by many clients: their number per second, and the CPU time
    /// of one.
    async fn crowd(&self, steps: u32, each: u32) -> anyhow::Result<(f64, f64)> {
        let pid = self.server.as_ref().map_or(std::process::id(), BenchServer::pid);
        let before = cpu_of_us(pid)?;
        let rate = self.callee.crowd(steps, each).await?;
        Ok((rate, (cpu_of_us(pid)? - before) / f64::from(CLIENTS * each)))
    }

    /// Measures one invocation with this many steps.
    pub(super) async fn long(&mut self, steps: u32) -> anyhow::Result<()> {
        let took = self.callee.steps(steps).await?;
        self.figures.step.push(took / f64::from(steps));
        Ok(())
    }

    /// Kills the server while it runs one invocation of this many steps per client, for many
    /// clients, which call again when it is back.
    pub(super) async fn kill(&mut self, env: &Env, turn: usize, steps: u32) -> anyhow::Result<()> {
        let Some(server) = &mut self.server else { return Ok(()) };
        self.figures.memory.push(resident_mb(server.pid())?);
        let caller = server.caller().clone();
        let call = |client| {
            let (caller, name) = (caller.clone(), format!("interrupted-{turn}-{client}"));
            async move { caller.steps_once(steps, &name).await }
        };
        let mut interrupted: JoinSet<_> = (0..CLIENTS).map(call).collect();
        env.runtime.sleep(HEAD_START).await;
        let stopwatch = Stopwatch::start();
        server.kill_and_restart().await?;
        self.figures.first_answer.push(stopwatch.wall_us() / 1_000.0);
        // Their connections are broken, except for calls that were already answered.
        interrupted.shutdown().await;
        let again: JoinSet<_> = (0..CLIENTS).map(call).collect();
        all(again).await?;
        self.figures.all_ended.push(stopwatch.wall_us() / 1_000.0);
        Ok(())
    }
}

impl SubjectCallee {
    /// Runs one invocation with this many steps; returns the duration in microseconds.
    async fn steps(&self, count: u32) -> anyhow::Result<f64> {
        let stopwatch = Stopwatch::start();
        match self {
            Self::Server(caller) => caller.steps(count).await?,
            Self::Bare(bare) => bare.steps(count).await?,
        }
        Ok(stopwatch.wall_us())
    }

    /// Runs invocations by many clients, `each` per client, one after the other; returns
    /// invocations per second.
    async fn crowd(&self, count: u32, each: u32) -> anyhow::Result<f64> {
        let stopwatch = Stopwatch::start();
        let client = |_| {
            let callee = self.clone();
            async move {
                for _ in 0..each {
                    callee.steps(count).await?;
                }
                anyhow::Ok(())
            }
        };
        all((0..CLIENTS).map(client).collect()).await?;
        Ok(stopwatch.passed().rate(CLIENTS * each))
    }
}

/// Waits for all clients; fails if one of them failed.
async fn all(mut clients: JoinSet<anyhow::Result<()>>) -> anyhow::Result<()> {
    while let Some(ended) = clients.join_next().await {
        ended.context("a client panicked")??;
    }
    Ok(())
}
