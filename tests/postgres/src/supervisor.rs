//! The process between a test and its server.
//!
//! The supervisor holds the reading end of a pipe. The test program holds the writing end. A line
//! in the pipe names the signal that ends the server. When the pipe breaks, because the test
//! program ended for any reason, the supervisor ends the server and removes its directory: by
//! SIGINT, and by SIGTERM, because not every program reads the first in the background. So no
//! process or file is left behind, even if the test program was killed.

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
    kill -s TERM "$server"
    wait "$server"
    rm -rf "$folder"
fi
"#;

/// Way to end a server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    /// The server disconnects its clients and writes everything to disk.
    Fast,
    /// The server ends as in a crash of the machine, and recovers at its next start.
    Crash,
    /// A program that is not PostgreSQL ends.
    Terminate,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Supervisor(Child);

impl Supervisor {
    /// Runs `server` with the directory `folder`.
    pub(crate) fn start(programs: &Programs, folder: &Path, server: &[String]) -> io::Result<Self> {
        let mut command = programs.command("/bin/sh");
        command.args(["-c", SCRIPT, "supervisor"]).arg(folder).args(server);
        // A separate process group, so that Ctrl-C reaches only the test program. The broken pipe
        // then ends the rest.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Ok(Self(command.spawn()?))
    }

    /// True if the server is still running.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// Ends the server and waits for it to exit.
    pub(crate) fn end(mut self, end: End) -> io::Result<()> {
        let signal = match end {
            End::Fast => "INT",
            End::Crash => "QUIT",
            End::Terminate => "TERM",
        };
        let mut pipe = self.0.stdin.take().expect("it was started with a pipe");
        let told = writeln!(pipe, "{signal}");
        self.0.wait()?;
        told
    }
}
