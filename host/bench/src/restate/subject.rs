//! Who is asked for steps, and what is measured of it.

use std::sync::Arc;

use anyhow::Context as _;
use segno_core::time::Millis;
use segno_env::Env;
use tokio::task::JoinSet;

use super::{
    bare::Bare,
    server::{Caller, Server},
};
use crate::{
    measure::{Stopwatch, cpu_of_us, resident_mb},
    report::percentile,
};

/// Number of concurrent clients, where there are several.
pub const CLIENTS: u32 = 64;

/// How long invocations run before their server is killed.
const HEAD_START: Millis = Millis(100);

/// A server, or the service without one.
pub struct Subject {
    callee: Callee,
    server: Option<Server>,
    /// Of the no-ops of one client in this repetition, in microseconds.
    latencies: Vec<f64>,
    pub figures: Figures,
}

/// A value for each repetition. The last three are those of a server.
#[derive(Default)]
pub struct Figures {
    /// No-ops by one client, in microseconds.
    pub alone_p50: Vec<f64>,
    pub alone_p99: Vec<f64>,
    /// No-ops by many clients, in a second.
    pub noops: Vec<f64>,
    /// CPU time of one of these, in microseconds: of the server, or without one of this process,
    /// with client and service.
    pub cpu: Vec<f64>,
    /// Invocations of three steps by many clients, in a second.
    pub three_steps: Vec<f64>,
    /// A step of a long invocation, in microseconds.
    pub step: Vec<f64>,
    /// SIGKILL to the first answer, in milliseconds.
    pub first_answer: Vec<f64>,
    /// SIGKILL to the end of all that was running, in milliseconds.
    pub all_ended: Vec<f64>,
    /// Resident memory of the server after the work, in megabytes.
    pub memory: Vec<f64>,
}

#[derive(Clone)]
enum Callee {
    Server(Caller),
    Bare(Arc<Bare>),
}

impl Subject {
    /// A server.
    pub fn server(server: Server) -> Self {
        let callee = Callee::Server(server.caller().clone());
        Self { callee, server: Some(server), latencies: Vec::new(), figures: Figures::default() }
    }

    /// The service without a server.
    pub fn bare(bare: Bare) -> Self {
        let callee = Callee::Bare(Arc::new(bare));
        Self { callee, server: None, latencies: Vec::new(), figures: Figures::default() }
    }

    /// One no-op.
    ///
    /// # Errors
    /// Here and below: an invocation did not end as it should.
    pub async fn noop(&mut self) -> anyhow::Result<()> {
        self.latencies.push(self.callee.steps(0).await?);
        Ok(())
    }

    /// Those of this repetition were done.
    pub fn noops_done(&mut self) {
        let latencies = std::mem::take(&mut self.latencies);
        self.figures.alone_p50.push(percentile(&latencies, 50));
        self.figures.alone_p99.push(percentile(&latencies, 99));
    }

    /// No-ops by many clients, `each` by each.
    pub async fn noops(&mut self, each: u32) -> anyhow::Result<()> {
        let pid = self.server.as_ref().map_or(std::process::id(), Server::pid);
        let before = cpu_of_us(pid)?;
        self.figures.noops.push(self.callee.crowd(0, each).await?);
        self.figures.cpu.push((cpu_of_us(pid)? - before) / f64::from(CLIENTS * each));
        Ok(())
    }

    /// Invocations of three steps by many clients, `each` by each.
    pub async fn three_steps(&mut self, each: u32) -> anyhow::Result<()> {
        self.figures.three_steps.push(self.callee.crowd(3, each).await?);
        Ok(())
    }

    /// One invocation of this many steps.
    pub async fn long(&mut self, steps: u32) -> anyhow::Result<()> {
        let took = self.callee.steps(steps).await?;
        self.figures.step.push(took / f64::from(steps));
        Ok(())
    }

    /// Kills the server while it runs an invocation of this many steps for each of many clients, who
    /// ask again when it is back.
    pub async fn kill(&mut self, env: &Env, turn: usize, steps: u32) -> anyhow::Result<()> {
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
        // Their connections broke, unless they were faster.
        interrupted.shutdown().await;
        let again: JoinSet<_> = (0..CLIENTS).map(call).collect();
        all(again).await?;
        self.figures.all_ended.push(stopwatch.wall_us() / 1_000.0);
        Ok(())
    }
}

impl Callee {
    /// One invocation of this many steps; answers the duration in microseconds.
    async fn steps(&self, count: u32) -> anyhow::Result<f64> {
        let stopwatch = Stopwatch::start();
        match self {
            Self::Server(caller) => caller.steps(count).await?,
            Self::Bare(bare) => bare.steps(count).await?,
        }
        Ok(stopwatch.wall_us())
    }

    /// The same by many clients, `each` by each, one after the other; answers invocations a second.
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

/// All of them succeed.
async fn all(mut clients: JoinSet<anyhow::Result<()>>) -> anyhow::Result<()> {
    while let Some(ended) = clients.join_next().await {
        ended.context("a client panicked")??;
    }
    Ok(())
}
