//! Functions that use parts of the standard library that components lack, functions that panic, and
//! one that the compiler warns about. The suites check the messages that authors get.

#![expect(clippy::unwrap_used, reason = "authors write it")]

use std::{cell::RefCell, collections::HashMap, time::Duration};

use segno::{ActivityContext, Context, Result};

/// Uses the part `what` of the standard library.
#[segno::workflow]
pub async fn reach(_ctx: Context, what: String) -> Result<u64> {
    Ok(used(&what))
}

/// Does the same in an activity.
#[segno::activity]
pub async fn touch(_ctx: ActivityContext, what: String) -> Result<u64> {
    Ok(used(&what))
}

#[expect(clippy::disallowed_methods, reason = "it is what is shown")]
fn used(what: &str) -> u64 {
    match what {
        "SystemTime::now" => std::time::SystemTime::now().elapsed().map_or(0, |it| it.as_secs()),
        "Instant::now" => std::time::Instant::now().elapsed().as_secs(),
        "thread::sleep" => {
            std::thread::sleep(Duration::from_secs(1));
            0
        }
        "thread::spawn" => std::thread::spawn(|| 1).join().expect("it ends"),
        "thread::scope" => std::thread::scope(|scope| scope.spawn(|| 1).join().expect("it ends")),
        "env::var" => std::env::var("REGION").unwrap().len() as u64,
        "env::vars" => std::env::vars().count() as u64,
        "env::temp_dir" => std::env::temp_dir().as_os_str().len() as u64,
        "env::current_dir" => std::env::current_dir().unwrap().as_os_str().len() as u64,
        "fs::read" => std::fs::read("/etc/hosts").unwrap().len() as u64,
        "fs::write" => std::fs::write("/tmp/it", "1").map_or_else(|it| panic!("{it}"), |()| 0),
        "net::connect" => std::net::TcpStream::connect("127.0.0.1:1").map(|_| 0).unwrap(),
        "process::id" => std::process::id().into(),
        "process::Command" => std::process::Command::new("true").status().map(|_| 0).unwrap(),
        "HashMap" => HashMap::from([(1_u64, 2_u64), (3, 4)]).values().sum(),
        other => unreachable!("there is no {other} here"),
    }
}

/// Logs two lines, then panics in the way `how`.
#[segno::workflow]
pub async fn stumble(ctx: Context, how: String) -> Result<u64> {
    segno::info!(ctx, "stumbles by {how}");
    segno::warn!(ctx, "any moment now");
    Ok(stumbled(&how))
}

/// Does the same in an activity.
#[segno::activity]
pub async fn slip(_ctx: ActivityContext, how: String) -> Result<u64> {
    Ok(stumbled(&how))
}

/// Panics after its first record.
#[segno::workflow]
pub async fn stumble_later(ctx: Context, how: String) -> Result<u64> {
    ctx.sleep(Duration::from_millis(1)).await?;
    Ok(stumbled(&how))
}

fn stumbled(how: &str) -> u64 {
    let numbers = [1_u64, 2, 3];
    match how {
        "expect" => numbers.get(how.len()).copied().expect("a must be over 100"),
        "unwrap" => how.parse().unwrap(),
        "index" => numbers[how.len()],
        "overflow" => numbers[0] - how.len() as u64,
        "division" => numbers[0] / (how.len() as u64 - 8),
        "unreachable" => unreachable!("nobody comes here"),
        "borrow" => {
            let cell = RefCell::new(1);
            let _first = cell.borrow_mut();
            *cell.borrow_mut()
        }
        "lines" => panic!("one \u{1b}[31mline\nand another"),
        "long" => panic!("{}", "ž".repeat(1 << 20)),
        other => panic!("there is no {other} here"),
    }
}

/// Fills its log, then panics.
#[segno::workflow]
pub async fn chatter(ctx: Context, lines: u32) -> Result<u64> {
    for _ in 0..lines {
        segno::info!(ctx, "{}", "and another thing ".repeat(100));
    }
    panic!("it has said everything");
}

/// Does not await its call, so the compiler warns. Only on the component target, because the suites
/// themselves must compile without warnings. Not listed in the module, because a module has the
/// same functions on every target.
#[cfg(target_arch = "wasm32")]
pub async fn hurry(ctx: Context, how: String) -> Result<u64> {
    ctx.call(slip, &how);
    Ok(0)
}

/// Waits forever.
#[segno::workflow]
pub async fn idle(_ctx: Context) -> Result<u64> {
    std::future::pending().await
}

segno::module!(reach, touch, stumble, stumble_later, slip, chatter, idle);
