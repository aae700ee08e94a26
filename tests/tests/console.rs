//! The console in a real Chromium: each page, each action, live changes, access, data that tries to
//! inject markup, and large amounts of data.
//!
//! The suite runs with `SEGNO_CLIENTS=1`, which installs `playwright-core` and `axe-core` from npm.
//! The browser is Debian's `chromium`.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
};

use tests::{
    guests,
    packages::{Packages, node},
    test_host::TestHost,
};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/console");
const PACKAGES: Packages = Packages { suite: "console-suite", scripts: SCRIPTS };
const TOKEN: &str = "a-token-of-the-console-suite";

/// Folder with the scripts and their packages, and the path of the browser. `None` if they are
/// unavailable, with the reason on standard error.
fn browser() -> Option<(PathBuf, PathBuf)> {
    let folder = PACKAGES.npm("browser", "", |folder| {
        let mut command = Command::new(node(folder));
        command.arg("--version");
        command
    })?;
    let scripts = [
        "browser.mjs",
        "world.mjs",
        "pages.mjs",
        "actions.mjs",
        "hostile.mjs",
        "access.mjs",
        "away.mjs",
        "many.mjs",
        "own_host.mjs",
        "site.mjs",
        "streams.mjs",
        "pictures.mjs",
    ];
    PACKAGES.beside(&folder, &scripts);
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let on_path = |name: &str| {
        std::env::split_paths(&paths).map(|path| path.join(name)).find(|path| path.exists())
    };
    let Some(chromium) = names.into_iter().find_map(on_path) else {
        let required = std::env::var("SEGNO_CLIENTS").is_ok_and(|wanted| wanted == "required");
        assert!(!required, "there is no chromium on the path: apt-get install chromium");
        eprintln!("SKIPPED: there is no chromium on the path");
        return None;
    };
    Some((folder, chromium))
}

/// Runs a script against `server`.
async fn run(script: &str, server: String, settings: &[(&str, &str)]) {
    let Some((folder, chromium)) = browser() else { return };
    let mut command = Command::new(node(&folder));
    command.arg(folder.join(script)).env("SEGNO", SEGNO).env("SERVER", server);
    command.env("CHROMIUM", chromium).envs(settings.iter().copied());
    let ran =
        tokio::task::spawn_blocking(move || command.output()).await.expect("it is waited for");
    let ran = ran.expect("node runs");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    eprintln!("{said}");
}

/// A host with the modules that the scripts use.
async fn host() -> TestHost {
    let host = TestHost::start(SEGNO).await;
    for name in [
        "hello", "approval", "fan-out", "auction", "signup", "reports", "trip", "hostile", "flows",
        "herald", "teller",
    ] {
        host.deploy(name, guests::component(name)).await;
    }
    host
}

#[tokio::test(flavor = "multi_thread")]
async fn each_page_shows_what_there_is() {
    if browser().is_none() {
        return;
    }
    let host = host().await;
    run("pages.mjs", host.client().server().to_string(), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_action_does_what_its_command_does() {
    if browser().is_none() {
        return;
    }
    let host = host().await;
    run("actions.mjs", host.client().server().to_string(), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn data_is_text_and_nothing_of_it_runs() {
    if browser().is_none() {
        return;
    }
    let host = host().await;
    run("hostile.mjs", host.client().server().to_string(), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_followed_while_they_grow() {
    if browser().is_none() {
        return;
    }
    let host = host().await;
    run("streams.mjs", host.client().server().to_string(), &[]).await;
}

/// Runs a script that starts and ends its own host, in an empty folder.
async fn run_alone(script: &str, settings: &[(&str, &str)]) {
    if browser().is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let hello = folder.path().join("hello.wasm");
    std::fs::write(&hello, guests::component("hello")).expect("it can be written");
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let server = format!("http://{}", free.expect("there is a free port"));
    let data = folder.path().join("data");
    let text = |path: &Path| path.to_str().expect("a path of letters").to_owned();
    let (data, hello) = (text(&data), text(&hello));
    let mut all = vec![("DATA", data.as_str()), ("HELLO", hello.as_str())];
    all.extend(settings);
    run(script, server, &all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_with_a_token_asks_for_it_once() {
    run_alone("access.mjs", &[("TOKEN", TOKEN)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_goes_away_and_comes_back_is_followed() {
    run_alone("away.mjs", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn much_is_shown_fast() {
    if browser().is_none() {
        return;
    }
    let host = host().await;
    run("many.mjs", host.client().server().to_string(), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documentation_is_searched_with_a_host_and_without() {
    if browser().is_none() {
        return;
    }
    let host = host().await;
    run("site.mjs", host.client().server().to_string(), &[]).await;
}

/// Takes the pictures of the documents again, into the folder that `SEGNO_PICTURES` names, relative
/// to the repository.
#[tokio::test(flavor = "multi_thread")]
async fn pictures() {
    let Ok(folder) = std::env::var("SEGNO_PICTURES") else {
        eprintln!("skipped: pictures are made with SEGNO_PICTURES=docs/images");
        return;
    };
    if browser().is_none() {
        return;
    }
    let folder = tests::documents::repository().join(folder);
    let folder = folder.to_str().expect("a path of letters").to_owned();
    let host = host().await;
    run("pictures.mjs", host.client().server().to_string(), &[("PICTURES", &folder)]).await;
}
