//! A worker and a client on the released Rust SDK:
//! `resonate-client worker` takes tasks until it is killed;
//! `resonate-client ask run|rpc|module|settle|schedule|unschedule ID …` prints the outcome as one
//! line of JSON.

mod functions;

use std::{env, process, time::Instant};

use resonate_sdk::{prelude::*, types};
use serde_json::{Value, json};

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments[..] {
        [program] if program == "worker" => work().await,
        [program, how, id, rest @ ..] if program == "ask" => ask(how, id, rest).await,
        _ => {
            eprintln!("resonate-client worker, or resonate-client ask HOW ID …");
            process::exit(2);
        }
    }
}

fn client(group: &str, pid: Option<String>) -> Resonate {
    let ttl = env::var("TTL").map_or(60_000, |ttl| ttl.parse().expect("TTL is a number"));
    Resonate::new(ResonateConfig {
        url: Some(env::var("URL").expect("URL says where the host is")),
        group: Some(group.to_owned()),
        pid,
        ttl: Some(ttl),
        ..ResonateConfig::default()
    })
}

async fn work() {
    let resonate = client("workers", env::var("WORKER").ok());
    functions::register(&resonate).expect("each function has a name of its own");
    std::future::pending().await
}

async fn ask(how: &str, id: &str, rest: &[String]) {
    let resonate = client(if how == "run" { "workers" } else { "clients" }, None);
    let began = Instant::now();
    let mut line = match answer(&resonate, how, id, rest).await {
        Ok(value) => json!({ "value": value }),
        Err(error) => json!({ "error": error.to_string() }),
    };
    line["ms"] = json!(began.elapsed().as_secs_f64() * 1_000.0);
    println!("{line}");
    let _ = resonate.stop().await;
    process::exit(0);
}

async fn answer(resonate: &Resonate, how: &str, id: &str, rest: &[String]) -> Result<Value> {
    let name = rest.first().map_or("", String::as_str);
    let values = rest.iter().skip(1).map(|text| serde_json::from_str(text));
    let values = Value::Array(values.collect::<serde_json::Result<_>>()?);
    match how {
        "run" => {
            functions::register(resonate)?;
            functions::run(resonate, id, name, values).await
        }
        "rpc" => resonate.rpc(id, name, values).target("workers").await,
        "module" => resonate.rpc(id, name, values).target(&format!("wasm://bridge/{name}")).await,
        "settle" => {
            let value: Value = serde_json::from_str(name)?;
            resonate.promises.resolve(id, types::Value::from_serializable(value)?).await?;
            Ok(Value::Null)
        }
        "schedule" => {
            resonate.schedule(id, "* * * * * *", name, values).target("workers").await?;
            Ok(Value::Null)
        }
        "unschedule" => {
            resonate.schedules.delete(id).await?;
            Ok(Value::Null)
        }
        _ => Err(Error::Application { message: format!("{how} is no way to ask") }),
    }
}
