//! WASI for workflows: every answer is reproducible in a replay.
//!
//! Clocks and refusals are linked in `link.rs`. This module has the rest: random numbers from the
//! invocation's seed, no arguments, no environment, an empty input, and an output whose lines
//! become log lines.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng, TryRng},
};
use sha2::{Digest, Sha256};
use wasmtime_wasi::{ResourceTable, WasiCtx, WasiCtxView};

use super::{
    JournalCall, Level, SharedJournal, StopReason, lines::LineStream, log_room::LogBudget,
};

/// The WASI state of a workflow instance.
pub(super) struct DeterministicWasi {
    context: WasiCtx,
    table: ResourceTable,
    generators: Generators,
    seed: Vec<u8>,
    /// The generators outside of the `run` that is executed now. `None` outside of a `run`.
    outside_of_run: Option<[ChaCha20Rng; 2]>,
    voice: Arc<Mutex<LogSink>>,
    output: LineStream,
    error: LineStream,
}

/// The receiver of lines during a call.
#[derive(Default)]
struct LogSink {
    journal: Option<SharedJournal>,
    stop: Option<StopReason>,
}

impl DeterministicWasi {
    /// Before the seed is set, random numbers come from an empty seed: all instances start the
    /// same.
    pub(super) fn new(room: &LogBudget) -> Self {
        let voice = Arc::new(Mutex::new(LogSink::default()));
        let lines = |level| {
            let voice = Arc::clone(&voice);
            let say = Box::new(move |level, line| say(&voice, level, line));
            LineStream::new(level, room.clone(), say)
        };
        let (output, error) = (lines(Level::Info), lines(Level::Warn));
        let generators = Generators::of(&[]);
        Self {
            context: context(&generators, &output, &error),
            generators,
            seed: Vec::new(),
            outside_of_run: None,
            table: ResourceTable::new(),
            voice,
            output,
            error,
        }
    }

    /// Draws random numbers from `seed` from now on.
    pub(super) fn seed(&mut self, seed: &[u8]) {
        self.generators = Generators::of(seed);
        self.seed = seed.to_vec();
        self.context = context(&self.generators, &self.output, &self.error);
    }

    /// Draws random numbers from generators of the `run` with this index, until
    /// [`end_run`](Self::end_run). A replay does not execute the code of a `run`, so its numbers
    /// must not move the generators of the rest.
    pub(super) fn begin_run(&mut self, index: u32) {
        let seed = [&self.seed[..], b" run ", &index.to_le_bytes()].concat();
        let of_run = Generators::of(&seed);
        let swap = |(all, own): (&SharedGenerator, &SharedGenerator)| {
            std::mem::replace(&mut *all.lock(), own.lock().clone())
        };
        let [secure, insecure] = [0, 1].map(|n| (self.generators.all()[n], of_run.all()[n]));
        self.outside_of_run = Some([swap(secure), swap(insecure)]);
    }

    /// Draws random numbers again from where they were before the `run`.
    pub(super) fn end_run(&mut self) {
        let outside = self.outside_of_run.take().into_iter().flatten();
        for (generator, outside) in self.generators.all().into_iter().zip(outside) {
            *generator.lock() = outside;
        }
    }

    /// The positions of the random number generators.
    ///
    /// # Errors
    /// The guest holds handles, which refer to host resources.
    pub(super) fn drawn(&self) -> wasmtime::Result<Vec<u128>> {
        wasmtime::ensure!(self.table.is_empty(), "it holds open handles of WASI");
        Ok(self.generators.all().map(|generator| generator.lock().get_word_pos()).to_vec())
    }

    /// Continues random numbers from another instance's positions.
    pub(super) fn go_on_drawing(&mut self, drawn: &[u128]) {
        for (generator, words) in self.generators.all().into_iter().zip(drawn) {
            generator.lock().set_word_pos(*words);
        }
    }

    /// Sends lines to `journal` until the call ends.
    pub(super) fn begin_call(&mut self, journal: Option<SharedJournal>) {
        *self.voice.lock().unwrap_or_else(PoisonError::into_inner) =
            LogSink { journal, stop: None };
    }

    /// Ends incomplete lines. Returns the journal's refusal, if it refused any line.
    pub(super) fn end_call(&mut self) -> Option<StopReason> {
        self.end_run();
        self.output.flush();
        self.error.flush();
        let voice = std::mem::take(&mut *self.voice.lock().unwrap_or_else(PoisonError::into_inner));
        voice.stop
    }

    /// The last output on standard error in this call.
    pub(super) fn last_words(&self) -> String {
        self.error.last_words()
    }

    /// The view for wasmtime's implementation of WASI.
    pub(super) fn view(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.context, table: &mut self.table }
    }
}

fn say(voice: &Mutex<LogSink>, level: Level, message: String) {
    let mut voice = voice.lock().unwrap_or_else(PoisonError::into_inner);
    // Outside of a call there is no receiver; after a refusal the call has failed anyway.
    if let (Some(journal), None) = (&voice.journal, &voice.stop) {
        let answer = journal
            .lock()
            .expect("a journal does not panic")
            .ask(JournalCall::Log { level, message });
        voice.stop = answer.err();
    }
}

/// The sources of random numbers of one instance.
struct Generators {
    secure: SharedGenerator,
    insecure: SharedGenerator,
    insecure_seed: u128,
}

impl Generators {
    fn of(seed: &[u8]) -> Self {
        let mut insecure_seed = [0; 16];
        generator(seed, "insecure-seed").fill_bytes(&mut insecure_seed);
        let shared = |interface| SharedGenerator(Arc::new(Mutex::new(generator(seed, interface))));
        Self {
            secure: shared("random"),
            insecure: shared("insecure"),
            insecure_seed: u128::from_le_bytes(insecure_seed),
        }
    }

    fn all(&self) -> [&SharedGenerator; 2] {
        [&self.secure, &self.insecure]
    }
}

/// A generator that the guest draws from, with a known position.
#[derive(Clone)]
struct SharedGenerator(Arc<Mutex<ChaCha20Rng>>);

impl SharedGenerator {
    fn lock(&self) -> MutexGuard<'_, ChaCha20Rng> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TryRng for SharedGenerator {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.lock().next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.lock().next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.lock().fill_bytes(bytes);
        Ok(())
    }
}

fn context(generators: &Generators, output: &LineStream, error: &LineStream) -> WasiCtx {
    WasiCtx::builder()
        .secure_random(generators.secure.clone())
        .insecure_random(generators.insecure.clone())
        .insecure_random_seed(generators.insecure_seed)
        .stdout(output.clone())
        .stderr(error.clone())
        .allow_tcp(false)
        .allow_udp(false)
        .build()
}

/// One generator per interface, so that none repeats the numbers of another or of the guest's own
/// generator.
fn generator(seed: &[u8], interface: &str) -> ChaCha20Rng {
    let mut hash = Sha256::new();
    hash.update(b"segno wasi ");
    hash.update(interface.as_bytes());
    hash.update(seed);
    ChaCha20Rng::from_seed(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_and_each_interface_its_own() {
        let draw = |seed: &[u8], interface| generator(seed, interface).next_u64();
        assert_eq!(draw(&[1; 32], "random"), draw(&[1; 32], "random"));
        assert_ne!(draw(&[1; 32], "random"), draw(&[2; 32], "random"));
        assert_ne!(draw(&[1; 32], "random"), draw(&[1; 32], "insecure"));
    }
}
