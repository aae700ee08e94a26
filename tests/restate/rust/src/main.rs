//! The services of `service.mjs`, on the released Rust SDK: `LEDGER=FILE PORT=0 restate-service`.
//! Prints one line of JSON with its URL.

use std::{
    env,
    fs::{self, File},
    io::Write,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use restate_sdk::{context::RequestTarget, prelude::*};
use serde_json::{Value, json};

/// Any document.
type Any = Json<Value>;

/// A line for each execution of a body, so that the suite can count them.
fn note(line: &str) {
    if let Ok(ledger) = env::var("LEDGER") {
        let mut ledger = File::options().create(true).append(true).open(ledger).expect("a ledger");
        ledger.write_all(format!("{line}\n").as_bytes()).expect("a ledger");
    }
}

fn noted(line: &str) -> usize {
    let ledger =
        env::var("LEDGER").and_then(|ledger| Ok(fs::read_to_string(ledger).unwrap_or_default()));
    ledger.unwrap_or_default().lines().filter(|other| *other == line).count()
}

/// How many times it was written, this time included.
fn count(line: &str) -> usize {
    note(line);
    noted(line)
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn ms(value: &Value) -> Duration {
    Duration::from_millis(value.as_u64().unwrap_or_default())
}

fn plain(handler: &str, value: Value) -> Value {
    json!({ "service": "Plain", "handler": handler, "value": value })
}

fn request<'c>(ctx: &impl ContextClient<'c>, to: &Value) -> Request<'c, Any, Any> {
    let (service, handler) = (text(to, "service"), text(to, "handler"));
    let target = match to["key"].as_str() {
        Some(key) => RequestTarget::object(service, key, handler),
        None => RequestTarget::service(service, handler),
    };
    let mut request = ctx.request(target, Json(to["value"].clone()));
    if let Some(key) = to["idempotencyKey"].as_str() {
        request = request.idempotency_key(key);
    }
    for (name, value) in to["headers"].as_object().into_iter().flatten() {
        request = request.header(name.clone(), value.as_str().unwrap_or_default().to_owned());
    }
    request
}

fn send<'c>(ctx: &impl ContextClient<'c>, to: &Value) -> SendHandle {
    match &to["delay"] {
        Value::Null => request(ctx, to).send(),
        delay => request(ctx, to).send_after(ms(delay)),
    }
}

/// A terminal error as a value.
fn caught(outcome: Result<Any, TerminalError>) -> Any {
    Json(match outcome {
        Ok(Json(value)) => json!({ "value": value }),
        Err(error) => json!({ "code": error.code(), "message": error.message() }),
    })
}

/// Puts the id of an awakeable into a cell of that name.
fn publish<'c>(ctx: &impl ContextClient<'c>, name: &str, id: &str) {
    let value = json!({ "name": "awakeable", "value": id });
    send(ctx, &json!({ "service": "Cell", "key": name, "handler": "set", "value": value }));
}

fn retries() -> RunRetryPolicy {
    let policy = RunRetryPolicy::new().initial_delay(Duration::from_millis(20));
    policy.exponentiation_factor(2.0).max_delay(Duration::from_millis(100))
}

struct Plain;

#[restate_sdk::service(
    name = "Plain",
    invocation_retry_policy(initial_interval = "20ms", max_interval = "200ms", factor = 2.0)
)]
impl Plain {
    #[handler]
    async fn echo(&self, _ctx: Context<'_>, value: Any) -> HandlerResult<Any> {
        Ok(value)
    }

    #[handler]
    async fn nothing(&self, _ctx: Context<'_>) -> HandlerResult<()> {
        Ok(())
    }

    #[handler]
    async fn headers(&self, ctx: Context<'_>, names: Any) -> HandlerResult<Any> {
        let names = names.0.as_array().cloned().unwrap_or_default();
        let header = |name: &Value| {
            let name = name.as_str().unwrap_or_default().to_owned();
            let value = ctx.headers().get(&name).cloned();
            (name, json!(value))
        };
        Ok(Json(Value::Object(names.iter().map(header).collect())))
    }

    #[handler]
    async fn raw(&self, _ctx: Context<'_>, bytes: Vec<u8>) -> HandlerResult<Vec<u8>> {
        Ok(bytes)
    }

    #[handler(ingress_private)]
    async fn hidden(&self, _ctx: Context<'_>, value: Any) -> HandlerResult<Any> {
        Ok(value)
    }

    #[handler]
    async fn fail(&self, _ctx: Context<'_>, failure: Any) -> HandlerResult<Any> {
        let code = failure.0["code"].as_u64().and_then(|code| code.try_into().ok()).unwrap_or(500);
        Err(TerminalError::new_with_code(code, text(&failure.0, "message")).into())
    }

    #[handler]
    async fn flaky(&self, _ctx: Context<'_>, name: String) -> HandlerResult<u64> {
        match count(&format!("flaky {name}")) {
            attempts @ 3.. => Ok(attempts as u64),
            _ => Err("not yet".into()),
        }
    }

    #[handler(invocation_retry_policy(
        initial_interval = "20ms",
        max_interval = "200ms",
        factor = 2.0,
        max_attempts = 2,
        on_max_attempts = "pause"
    ))]
    async fn stuck(&self, _ctx: Context<'_>, name: String) -> HandlerResult<String> {
        count(&format!("stuck {name}"));
        if noted(&format!("allow {name}")) == 0 {
            return Err(format!("{name} is not allowed").into());
        }
        Ok("allowed".to_owned())
    }

    #[handler(invocation_retry_policy(
        initial_interval = "20ms",
        max_interval = "200ms",
        factor = 2.0,
        max_attempts = 2,
        on_max_attempts = "kill"
    ))]
    async fn doomed(&self, _ctx: Context<'_>, name: String) -> HandlerResult<String> {
        count(&format!("doomed {name}"));
        Err(format!("{name} is doomed").into())
    }

    /// The second attempt asks for something else than the first.
    #[handler]
    async fn mismatch(&self, ctx: Context<'_>, name: String) -> HandlerResult<String> {
        let attempt = count(&format!("mismatch {name}"));
        if attempt == 2 {
            ctx.run(async || Ok(1u32)).name("other").await?;
        } else {
            ctx.sleep(Duration::from_millis(1)).await?;
        }
        if attempt == 1 {
            return Err("once more".into());
        }
        Ok("matched".to_owned())
    }

    #[handler]
    async fn note(&self, ctx: Context<'_>, line: String) -> HandlerResult<u64> {
        Ok(ctx.run(async move || Ok(count(&line) as u64)).name("note").await?)
    }

    #[handler]
    async fn noted(&self, ctx: Context<'_>, line: String) -> HandlerResult<u64> {
        Ok(ctx.run(async move || Ok(noted(&line) as u64)).name("noted").await?)
    }

    #[handler]
    async fn run(&self, ctx: Context<'_>, value: Any) -> HandlerResult<Any> {
        ctx.run(async || Ok(())).name("nothing").await?;
        let value = ctx.run(async move || Ok(value)).name("value").await?;
        Ok(Json(json!([value.0, null])))
    }

    #[handler(name = "runFlaky")]
    async fn run_flaky(&self, ctx: Context<'_>, name: String) -> HandlerResult<u64> {
        let body = async move || match count(&format!("runFlaky {name}")) {
            attempts @ 3.. => Ok(attempts as u64),
            _ => Err("not yet".into()),
        };
        Ok(ctx.run(body).name("flaky").retry_policy(retries()).await?)
    }

    #[handler(name = "runGivesUp")]
    async fn run_gives_up(&self, ctx: Context<'_>, name: String) -> HandlerResult<Any> {
        let line = format!("runGivesUp {name}");
        let body = {
            let line = line.clone();
            async move || -> HandlerResult<u64> {
                count(&line);
                Err("never".into())
            }
        };
        let given_up = ctx.run(body).name("never").retry_policy(retries().max_attempts(3)).await;
        let code = given_up.map_or_else(|error| error.code(), |_| 0);
        let attempts = ctx.run(async move || Ok(noted(&line) as u64)).name("attempts").await?;
        Ok(Json(json!({ "code": code, "attempts": attempts })))
    }

    #[handler(name = "runTerminal")]
    async fn run_terminal(&self, ctx: Context<'_>, message: String) -> HandlerResult<Any> {
        let body = async move || -> HandlerResult<Any> {
            Err(TerminalError::new_with_code(418, message).into())
        };
        Ok(caught(ctx.run(body).name("terminal").await))
    }

    #[handler]
    async fn steps(&self, ctx: Context<'_>, options: Any) -> HandlerResult<u64> {
        let steps = options.0["count"].as_u64().unwrap_or_default();
        let pause = ms(&options.0["ms"]);
        for step in 0..steps {
            let line = format!("{} {step}", text(&options.0, "name"));
            let body = async move || {
                note(&line);
                Ok(())
            };
            ctx.run(body).name(format!("step {step}")).await?;
            if !pause.is_zero() {
                ctx.sleep(pause).await?;
            }
        }
        Ok(steps)
    }

    #[handler]
    async fn sleep(&self, ctx: Context<'_>, length: u64) -> HandlerResult<String> {
        ctx.sleep(Duration::from_millis(length)).await?;
        Ok("rested".to_owned())
    }

    #[handler]
    async fn random(&self, mut ctx: Context<'_>, _nothing: Any) -> HandlerResult<Any> {
        let now = async || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            Ok(now.unwrap_or_default().as_secs())
        };
        let at = ctx.run(now).name("now").await?;
        let (seed, uuid) = (ctx.random_seed(), ctx.rand_uuid());
        let drawn = json!({ "number": seed, "uuid": uuid.to_string(), "at": at });
        let kept = {
            let drawn = Json(drawn.clone());
            ctx.run(async move || Ok(drawn)).name("kept").await?
        };
        ctx.sleep(Duration::from_millis(20)).await?;
        Ok(Json(json!({
            "number": true,
            "uuid": !uuid.is_nil(),
            "at": at > 1_700_000_000,
            "same": kept.0 == drawn,
        })))
    }

    #[handler]
    async fn call(&self, ctx: Context<'_>, to: Any) -> HandlerResult<Any> {
        Ok(request(&ctx, &to.0).call().await?)
    }

    #[handler(name = "callCatches")]
    async fn call_catches(&self, ctx: Context<'_>, to: Any) -> HandlerResult<Any> {
        Ok(caught(request(&ctx, &to.0).call().await))
    }

    #[handler]
    async fn send(&self, ctx: Context<'_>, to: Any) -> HandlerResult<String> {
        send(&ctx, &to.0);
        Ok("sent".to_owned())
    }

    #[handler(name = "sendForId")]
    async fn send_for_id(&self, ctx: Context<'_>, to: Any) -> HandlerResult<String> {
        Ok(send(&ctx, &to.0).await?.invocation_id().to_owned())
    }

    #[handler(name = "callTwice")]
    async fn call_twice(&self, ctx: Context<'_>, options: Any) -> HandlerResult<Any> {
        let mut counted = plain("note", json!(format!("callTwice {}", text(&options.0, "name"))));
        counted["idempotencyKey"] = options.0["idempotencyKey"].clone();
        let first = request(&ctx, &counted).call().await?;
        let second = request(&ctx, &counted).call().await?;
        Ok(Json(json!([first.0, second.0])))
    }

    #[handler]
    async fn fibonacci(&self, ctx: Context<'_>, n: u64) -> HandlerResult<u64> {
        if n < 2 {
            return Ok(n);
        }
        let left = request(&ctx, &plain("fibonacci", json!(n - 1))).call();
        let right = request(&ctx, &plain("fibonacci", json!(n - 2))).call();
        let (left, right) = (left.await?, right.await?);
        Ok(left.0.as_u64().unwrap_or_default() + right.0.as_u64().unwrap_or_default())
    }

    #[handler]
    async fn all(&self, ctx: Context<'_>, values: Any) -> HandlerResult<Any> {
        let values = values.0.as_array().cloned().unwrap_or_default();
        let mut calls = DurableFuturesUnordered::new();
        for value in &values {
            calls.push(request(&ctx, &plain("echo", value.clone())).call());
        }
        let mut answers = vec![Value::Null; values.len()];
        while let Some((index, answer)) = calls.next().await? {
            answers[index] = answer?.0;
        }
        Ok(Json(Value::Array(answers)))
    }

    #[handler]
    async fn race(&self, ctx: Context<'_>, value: Any) -> HandlerResult<Any> {
        let (_id, never) = ctx.awakeable::<Any>();
        let echo = request(&ctx, &plain("echo", value.0)).call();
        let first = restate_sdk::select! {
            first = never => first,
            first = echo => first,
        };
        Ok(first?)
    }

    #[handler]
    async fn any(&self, ctx: Context<'_>, value: Any) -> HandlerResult<Any> {
        let failure = json!({ "code": 500, "message": "no" });
        let mut calls = DurableFuturesUnordered::new();
        for call in [plain("fail", failure), plain("echo", value.0)] {
            calls.push(request(&ctx, &call).call());
        }
        while let Some((_, answer)) = calls.next().await? {
            if let Ok(answer) = answer {
                return Ok(answer);
            }
        }
        Err(TerminalError::new("all of them failed").into())
    }

    #[handler]
    async fn settled(&self, ctx: Context<'_>, value: Any) -> HandlerResult<Any> {
        let failure = json!({ "code": 418, "message": "no" });
        let calls = [plain("echo", value.0), plain("fail", failure)];
        let calls = calls.map(|call| request(&ctx, &call).call());
        let mut outcomes = Vec::new();
        for call in calls {
            outcomes.push(match call.await {
                Ok(Json(value)) => json!({ "status": "fulfilled", "value": value }),
                Err(error) => json!({ "status": "rejected", "message": error.message() }),
            });
        }
        Ok(Json(Value::Array(outcomes)))
    }

    #[handler]
    async fn timeout(&self, ctx: Context<'_>, length: u64) -> HandlerResult<Any> {
        let (_id, never) = ctx.awakeable::<Any>();
        let outcome = restate_sdk::select! {
            value = never => value,
            _ = ctx.sleep(Duration::from_millis(length)) => {
                Err(TerminalError::new_with_code(408, "Timeout occurred"))
            },
        };
        Ok(caught(outcome))
    }

    #[handler]
    async fn awakeable(&self, ctx: Context<'_>, name: String) -> HandlerResult<Any> {
        let (id, awakeable) = ctx.awakeable();
        publish(&ctx, &name, &id);
        Ok(caught(awakeable.await))
    }

    #[handler(name = "resolveAwakeable")]
    async fn resolve_awakeable(&self, ctx: Context<'_>, options: Any) -> HandlerResult<String> {
        ctx.resolve_awakeable(&text(&options.0, "id"), Json(options.0["value"].clone()));
        Ok("resolved".to_owned())
    }

    #[handler(name = "rejectAwakeable")]
    async fn reject_awakeable(&self, ctx: Context<'_>, options: Any) -> HandlerResult<String> {
        let failure = TerminalError::new(text(&options.0, "reason"));
        ctx.reject_awakeable(&text(&options.0, "id"), failure);
        Ok("rejected".to_owned())
    }

    #[handler]
    async fn signal(&self, ctx: Context<'_>, name: String) -> HandlerResult<Any> {
        Ok(caught(ctx.signal(&name).await))
    }

    #[handler(name = "resolveSignal")]
    async fn resolve_signal(&self, ctx: Context<'_>, options: Any) -> HandlerResult<String> {
        let signal = ctx.invocation_handle(text(&options.0, "id")).signal(text(&options.0, "name"));
        signal.resolve(Json(options.0["value"].clone()));
        Ok("resolved".to_owned())
    }

    #[handler(name = "rejectSignal")]
    async fn reject_signal(&self, ctx: Context<'_>, options: Any) -> HandlerResult<String> {
        let signal = ctx.invocation_handle(text(&options.0, "id")).signal(text(&options.0, "name"));
        signal.reject(TerminalError::new(text(&options.0, "reason")));
        Ok("rejected".to_owned())
    }

    #[handler]
    async fn waits(&self, ctx: Context<'_>, name: String) -> HandlerResult<Any> {
        let (id, awakeable) = ctx.awakeable();
        publish(&ctx, &name, &id);
        Ok(awakeable.await?)
    }

    #[handler(name = "callsWaits")]
    async fn calls_waits(&self, ctx: Context<'_>, name: String) -> HandlerResult<Any> {
        Ok(request(&ctx, &plain("waits", json!(name))).call().await?)
    }

    #[handler(name = "cleansUp")]
    async fn cleans_up(&self, ctx: Context<'_>, name: String) -> HandlerResult<Any> {
        let (id, awakeable) = ctx.awakeable();
        publish(&ctx, &name, &id);
        let ended = caught(awakeable.await);
        let clean = async move || {
            note(&format!("cleaned {name}"));
            Ok(())
        };
        ctx.run(clean).name("clean").await?;
        Ok(Json(json!({ "cleaned": ended.0 })))
    }

    #[handler]
    async fn cancel(&self, ctx: Context<'_>, id: String) -> HandlerResult<String> {
        ctx.invocation_handle(id).cancel();
        Ok("asked".to_owned())
    }

    #[handler(name = "cancelChild")]
    async fn cancel_child(&self, ctx: Context<'_>, name: String) -> HandlerResult<Any> {
        let child = send(&ctx, &plain("waits", json!(name))).await?;
        child.cancel();
        Ok(caught(child.attach().await))
    }

    #[handler]
    async fn attach(&self, ctx: Context<'_>, id: String) -> HandlerResult<Any> {
        Ok(caught(ctx.invocation_handle(id).attach().await))
    }
}

/// An object of this name, with its state in the start of an invocation or lazily.
macro_rules! cell {
    ($object:ident, $name:tt, $lazy:tt) => {
        struct $object;

        #[restate_sdk::object(
            name = $name,
            lazy_state = $lazy,
            invocation_retry_policy(initial_interval = "20ms", max_interval = "200ms", factor = 2.0)
        )]
        impl $object {
            #[handler]
            async fn key(&self, ctx: ObjectContext<'_>) -> HandlerResult<String> {
                Ok(ctx.key().to_owned())
            }

            #[handler]
            async fn set(&self, ctx: ObjectContext<'_>, options: Any) -> HandlerResult<()> {
                ctx.set(&text(&options.0, "name"), Json(options.0["value"].clone()));
                Ok(())
            }

            #[handler]
            async fn get(&self, ctx: SharedObjectContext<'_>, name: String) -> HandlerResult<Any> {
                Ok(ctx.get(&name).await?.unwrap_or(Json(Value::Null)))
            }

            #[handler]
            async fn read(&self, ctx: ObjectContext<'_>, name: String) -> HandlerResult<Any> {
                Ok(ctx.get(&name).await?.unwrap_or(Json(Value::Null)))
            }

            #[handler]
            async fn keys(&self, ctx: SharedObjectContext<'_>, _nothing: Any) -> HandlerResult<Any> {
                let mut keys = ctx.get_keys().await?;
                keys.sort();
                Ok(Json(json!(keys)))
            }

            #[handler]
            async fn clear(&self, ctx: ObjectContext<'_>, name: String) -> HandlerResult<()> {
                ctx.clear(&name);
                Ok(())
            }

            #[handler(name = "clearAll")]
            async fn clear_all(&self, ctx: ObjectContext<'_>, _nothing: Any) -> HandlerResult<()> {
                ctx.clear_all();
                Ok(())
            }

            #[handler]
            async fn add(&self, ctx: ObjectContext<'_>, amount: i64) -> HandlerResult<i64> {
                let total = ctx.get::<i64>("total").await?.unwrap_or_default() + amount;
                ctx.set("total", total);
                Ok(total)
            }

            /// Own writes are read back, before and after.
            #[handler]
            async fn changes(&self, ctx: ObjectContext<'_>, _nothing: Any) -> HandlerResult<Any> {
                let mut seen = vec![json!(ctx.get::<u64>("a").await?)];
                ctx.set("a", 1u64);
                ctx.set("b", 2u64);
                seen.push(json!(ctx.get::<u64>("a").await?));
                let mut keys = ctx.get_keys().await?;
                keys.sort();
                seen.push(json!(keys));
                ctx.clear("a");
                seen.push(json!(ctx.get::<u64>("a").await?));
                let mut keys = ctx.get_keys().await?;
                keys.sort();
                seen.push(json!(keys));
                ctx.clear_all();
                seen.push(json!(ctx.get::<u64>("b").await?));
                seen.push(json!(ctx.get_keys().await?));
                Ok(Json(Value::Array(seen)))
            }

            /// Exclusive, so those that came later wait.
            #[handler]
            async fn slow(&self, ctx: ObjectContext<'_>, options: Any) -> HandlerResult<Any> {
                ctx.sleep(ms(&options.0["ms"])).await?;
                let order = ctx.get::<Any>("order").await?;
                let mut order = order.and_then(|order| order.0.as_array().cloned()).unwrap_or_default();
                order.push(options.0["label"].clone());
                ctx.set("order", Json(json!(order)));
                Ok(Json(json!(order)))
            }

            #[handler(name = "setAndFail")]
            async fn set_and_fail(&self, ctx: ObjectContext<'_>, options: Any) -> HandlerResult<()> {
                ctx.set(&text(&options.0, "name"), Json(options.0["value"].clone()));
                Err(TerminalError::new_with_code(409, "failed after the write").into())
            }

            #[handler]
            async fn transfer(&self, ctx: ObjectContext<'_>, options: Any) -> HandlerResult<i64> {
                let (to, amount) = (text(&options.0, "to"), options.0["amount"].as_i64().unwrap_or_default());
                let total = ctx.get::<i64>("total").await?.unwrap_or_default() - amount;
                ctx.set("total", total);
                let line = format!("transfer {} {to} {amount}", ctx.key());
                let body = async move || {
                    note(&line);
                    Ok(())
                };
                ctx.run(body).name("transfer").await?;
                let service = text(&options.0, "service");
                let add = json!({ "service": service, "key": to, "handler": "add", "value": amount });
                request(&ctx, &add).call().await?;
                Ok(total)
            }
        }
    };
}

cell!(Cell, "Cell", false);
cell!(LazyCell, "LazyCell", true);

struct Approval;

#[restate_sdk::workflow(
    name = "Approval",
    invocation_retry_policy(initial_interval = "20ms", max_interval = "200ms", factor = 2.0)
)]
impl Approval {
    #[handler]
    async fn run(&self, ctx: WorkflowContext<'_>, what: Any) -> HandlerResult<Any> {
        ctx.set("stage", "asked".to_owned());
        let line = format!("asked {}", ctx.key());
        let ask = async move || {
            note(&line);
            Ok(())
        };
        ctx.run(ask).name("ask").await?;
        let answer = ctx.promise::<Any>("answer").await;
        ctx.set("stage", "answered".to_owned());
        ctx.resolve_promise("done", "done".to_owned());
        Ok(Json(json!({ "what": what.0, "key": ctx.key(), "answer": answer?.0 })))
    }

    #[handler]
    async fn stage(&self, ctx: SharedWorkflowContext<'_>, _nothing: Any) -> HandlerResult<Any> {
        Ok(Json(json!(ctx.get::<String>("stage").await?)))
    }

    #[handler]
    async fn peek(&self, ctx: SharedWorkflowContext<'_>, _nothing: Any) -> HandlerResult<Any> {
        Ok(ctx.peek_promise("answer").await?.unwrap_or(Json(Value::Null)))
    }

    /// This SDK does not say whether the promise was completed before.
    #[handler]
    async fn approve(&self, ctx: SharedWorkflowContext<'_>, value: Any) -> HandlerResult<Any> {
        ctx.resolve_promise("answer", value);
        Ok(Json(json!({ "value": null })))
    }

    #[handler]
    async fn refuse(&self, ctx: SharedWorkflowContext<'_>, reason: String) -> HandlerResult<Any> {
        ctx.reject_promise("answer", TerminalError::new(reason));
        Ok(Json(json!({ "value": null })))
    }

    #[handler]
    async fn done(&self, ctx: SharedWorkflowContext<'_>, _nothing: Any) -> HandlerResult<String> {
        Ok(ctx.promise("done").await?)
    }
}

#[tokio::main]
async fn main() {
    let port = env::var("PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(0u16);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    println!("{}", json!({ "url": format!("http://{address}"), "sdk": "0.13.0" }));
    let endpoint = Endpoint::builder().bind(Plain).bind(Cell).bind(LazyCell).bind(Approval).build();
    HttpServer::new(endpoint).serve(listener).await;
}
