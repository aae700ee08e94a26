//! The host as seen from inside a component: its imports, as the traits that the rest of the crate
//! uses.

use crate::{
    attempt_operations::AttemptOperations,
    bindings::segno::workflow::{
        activity, activity_streams, blobs, configuration, costs, files, generations, http_bodies,
        journal, object_promises, sagas, signals, state, streams, types as wit,
    },
    blob::BlobOperations,
    files::FileSystem,
    journal::{CommandJournal, CommandReceipt, GenerationStart, WorkflowCommand},
    payload::Payload,
};

/// The imports of a workflow.
pub(crate) struct HostJournal;

impl CommandJournal for HostJournal {
    fn issue(&self, request: WorkflowCommand) -> CommandReceipt {
        let index = match request {
            WorkflowCommand::Call { function, input, options, step: None } => {
                journal::call(&function, &input, &options)
            }
            WorkflowCommand::Call { function, input, options, step: Some(step) } => {
                sagas::call(&function, &input, &options, &step.declared)
            }
            WorkflowCommand::Send { function, input, mut options, when } => {
                options.start_at_ms = when.map(|when| when.resolve(journal::now()));
                journal::send(&function, &input, &options)
            }
            WorkflowCommand::Sleep { when } => journal::sleep_until(when.resolve(journal::now())),
            WorkflowCommand::Promise { name, options } => {
                let (index, promise) = journal::promise(name.as_deref(), options);
                return CommandReceipt { index, promise: Some(promise) };
            }
            WorkflowCommand::Settle { promise, outcome } => journal::settle(&promise, &outcome),
            WorkflowCommand::Http { request, options, step: None } => {
                journal::http(&request, &options)
            }
            WorkflowCommand::Http { request, options, step: Some(step) } => {
                sagas::http(&request, &options, &step.declared)
            }
            WorkflowCommand::Undo { step, input, options } => sagas::undo(&step, &input, &options),
            WorkflowCommand::Ask { step } => sagas::ask(&step),
            WorkflowCommand::Cancel { command } => journal::cancel(command),
            WorkflowCommand::Publish { topic, payload } => journal::publish(&topic, &payload),
            WorkflowCommand::GetState { name } => state::get(&name),
            WorkflowCommand::StateNames => state::names(),
            WorkflowCommand::SetState { name, value } => state::set(&name, &value),
            WorkflowCommand::ClearState { name } => state::clear(&name),
            WorkflowCommand::ClearAllState => state::clear_all(),
            WorkflowCommand::WaitObjectPromise { name } => object_promises::wait(&name),
            WorkflowCommand::PeekObjectPromise { name } => object_promises::peek(&name),
            WorkflowCommand::SettleObjectPromise { name, outcome } => {
                object_promises::settle(&name, &outcome)
            }
            WorkflowCommand::SendSignal { invocation, name, payload } => {
                signals::send(&invocation, &name, &payload)
            }
            WorkflowCommand::AppendStream { name, content_type, item } => {
                streams::append(&name, &content_type, &item)
            }
            WorkflowCommand::CloseStream { name, content_type } => {
                streams::close(&name, &content_type)
            }
        };
        CommandReceipt { index, promise: None }
    }

    fn run(&self, name: &str) -> wit::RunAnswer {
        journal::run(name)
    }

    fn run_done(&self, command: u32, outcome: &wit::Outcome) {
        journal::run_done(command, outcome);
    }

    fn forget(&self, command: u32) {
        journal::forget(command);
    }

    fn now(&self) -> u64 {
        journal::now()
    }

    fn key(&self) -> String {
        state::key()
    }

    fn log(&self, level: wit::Level, message: &str) {
        journal::log(level, message);
    }

    fn finish(&self, outcome: &wit::Outcome) {
        journal::finish(outcome);
    }

    fn unread(&self, signals: &[u32]) {
        signals::unread(signals);
    }

    fn continue_as_new(&self, next: &GenerationStart) {
        generations::continue_as_new(&next.input, next.same_code);
    }
}

/// The imports of an activity.
pub(crate) struct HostAttempt;

impl AttemptOperations for HostAttempt {
    fn heartbeat(&self, progress: Option<&Payload>) -> bool {
        activity::heartbeat(progress)
    }

    fn http(&self, request: &wit::HttpRequest) -> Result<wit::HttpResponse, wit::Failure> {
        activity::http(request)
    }

    fn http_open(
        &self,
        request: &wit::HttpRequest,
    ) -> Result<http_bodies::ResponseHead, wit::Failure> {
        http_bodies::open(request)
    }

    fn http_read(&self, response: u32, limit: u32) -> Result<Vec<u8>, wit::Failure> {
        http_bodies::read(response, limit)
    }

    fn http_close(&self, response: u32) {
        http_bodies::close(response);
    }

    fn log(&self, level: wit::Level, message: &str) {
        activity::log(level, message);
    }

    fn env(&self, name: &str) -> Result<String, wit::Failure> {
        configuration::env(name)
    }

    fn secret(&self, name: &str) -> Result<String, wit::Failure> {
        configuration::secret(name)
    }

    fn cost(&self, unit: &str, millionths: u64) -> Result<(), wit::Failure> {
        costs::report(unit, millionths)
    }

    fn stream_kept(&self, name: &str) -> Result<u64, wit::Failure> {
        activity_streams::kept(name)
    }

    fn stream_append(
        &self,
        name: &str,
        content_type: &str,
        item: &Payload,
    ) -> Result<(), wit::Failure> {
        activity_streams::append(name, content_type, item)
    }

    fn files(&self) -> &dyn FileSystem {
        &HostFiles
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn blobs(&self) -> &dyn BlobOperations {
        &HostBlobs
    }
}

/// The host's place for blobs.
pub(crate) struct HostBlobs;

impl BlobOperations for HostBlobs {
    fn create(&self, content_type: &str) -> Result<u32, wit::Failure> {
        blobs::create(content_type)
    }

    fn write(&self, writer: u32, piece: &[u8]) -> Result<(), wit::Failure> {
        blobs::write(writer, piece)
    }

    fn finish(&self, writer: u32) -> Result<String, wit::Failure> {
        blobs::finish(writer)
    }

    fn abandon(&self, writer: u32) {
        blobs::abandon(writer);
    }

    fn read(&self, reference: &str, offset: u64, length: u64) -> Result<Vec<u8>, wit::Failure> {
        blobs::read(reference, offset, length)
    }
}

/// The files that the host allows.
struct HostFiles;

impl FileSystem for HostFiles {
    fn read(&self, path: &str, offset: u64, length: u64) -> Result<Vec<u8>, wit::Failure> {
        files::read(path, offset, length)
    }

    fn write(&self, path: &str, content: &[u8]) -> Result<(), wit::Failure> {
        files::write(path, content)
    }

    fn append(&self, path: &str, content: &[u8]) -> Result<(), wit::Failure> {
        files::append(path, content)
    }

    fn list(&self, path: &str) -> Result<Vec<files::Entry>, wit::Failure> {
        files::list_directory(path)
    }

    fn remove(&self, path: &str) -> Result<(), wit::Failure> {
        files::remove(path)
    }
}
