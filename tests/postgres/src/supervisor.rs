//! The process between a test and its server.
//!
//! It holds the reading end of a pipe whose writing end is the test program's. A line in it is the
//! name of the signal that ends the server; when the pipe breaks, because the program ended in
//! whatever way, the server is ended too and its directory removed. So nothing is left behind, not
//! even by a test program that was killed.

use std::{
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Stdio},
};

use crate::programs::Programs;

const SCRIPT: &str = r#"
folder=$1
shift
"$@" >>"$folder/log" 2>&1 &
server=$!
if read -r signal; then
    kill -s "$signal" "$server"
    wait "$server"
else
    kill -s INT "$server"
    wait "$server"
    rm -rf "$folder"
fi
"#;

/// How a server is ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    /// It takes leave of its clients and writes everything down.
    Fast,
    /// As if the machine had crashed: it recovers at its next start.
    Crash,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Supervisor(Child);

impl Supervisor {
    /// Runs `server` with the directory `folder`.
    pub(crate) fn start(programs: &Programs, folder: &Path, server: &[String]) -> io::Result<Self> {
        let mut command = programs.command("/bin/sh");
        command.args(["-c", SCRIPT, "supervisor"]).arg(folder).args(server);
        // A group of its own, so that Ctrl-C reaches only the test program, and the pipe tells the
        // rest.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Ok(Self(command.spawn()?))
    }

    /// Whether the server still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// Ends the server and waits until it is gone.
    pub(crate) fn end(mut self, end: End) -> io::Result<()> {
        let signal = match end {
            End::Fast => "INT",
            End::Crash => "QUIT",
        };
        let mut pipe = self.0.stdin.take().expect("it was started with a pipe");
        let told = writeln!(pipe, "{signal}");
        self.0.wait()?;
        told
    }
}
