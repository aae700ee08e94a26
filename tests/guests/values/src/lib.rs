//! Passes a JSON value, byte for byte, through every path that a value can take.

use std::borrow::Cow;

use segno::{
    ActivityContext, Context, Error, JsonSchema, Result, RetryPolicy, Shared, State,
    http::Request,
    schemars::{Schema, SchemaGenerator},
    serde::{Deserialize, Serialize},
    serde_json::value::RawValue,
};

/// Any JSON, kept as text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(crate = "segno::serde", transparent)]
pub struct Any(pub Box<RawValue>);

impl JsonSchema for Any {
    fn schema_name() -> Cow<'static, str> {
        "Any".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::default()
    }
}

/// Input of `tour`: a value, and the service to send it to.
#[segno::data]
pub struct Tour {
    /// Value to pass on.
    pub value: Any,
    /// Address of a service that echoes the body of the request.
    pub service: String,
}

/// Returns its input.
#[segno::workflow]
pub async fn echo(_ctx: Context, value: Any) -> Result<Any> {
    Ok(value)
}

/// Reports its input as progress, sends it to the service, and returns the response.
#[segno::activity(retry(max_attempts = 1))]
pub async fn send(ctx: ActivityContext, tour: Tour) -> Result<Any> {
    ctx.heartbeat(&tour.value)?;
    ctx.http(Request::post(tour.service).json(&tour.value)).await?.json()
}

/// Fails with its input as the error's details.
#[segno::workflow]
pub async fn fails(_ctx: Context, value: Any) -> Result<()> {
    Err(Error::terminal(418, "as it was told").with_details(&value))
}

/// An object with one value.
#[segno::object]
pub struct Shelf {
    value: State<Any>,
}

#[segno::object]
impl Shelf {
    /// Stores the value.
    async fn put(&mut self, _ctx: Context, value: Any) -> Result<()> {
        self.value.set(&value)
    }

    /// Stored value.
    #[shared]
    async fn get(&self, _ctx: Context) -> Result<Option<Any>> {
        self.value.get().await
    }
}

/// Passes the value through commands, and receives it from outside. Returns the value as it came
/// back by each path, with the path's name.
#[segno::workflow(signals("go": Any))]
pub async fn tour(ctx: Context, tour: Tour) -> Result<Vec<(String, Any)>> {
    let Tour { value, service } = tour;
    let shared = ctx.share((value.clone(), false));
    let mut ways: Vec<(&str, Any)> = Vec::new();
    ways.push(("call", ctx.call(echo, &value).await?));
    let sent = ctx.send(echo, &value).await?;
    let again = Tour { value: value.clone(), service: service.clone() };
    ways.push(("activity", ctx.call(send, &again).await?));
    let own = value.clone();
    ways.push(("run", ctx.run("own", move || own).await?));
    ways.push(("http", ctx.http(Request::post(service).json(&value)).await?.json()?));
    let shelf = ctx.object::<Shelf>(ctx.id());
    shelf.put(&value).await?;
    ways.push(("state", shelf.get().await?.ok_or_else(|| Error::terminal(500, "no state"))?));
    let failed = ctx.call(fails, &value).await.expect_err("it fails");
    let details = failed.details::<Any>();
    ways.push(("details", details.ok_or_else(|| Error::terminal(500, "no details"))?));
    let promise = ctx.promise::<Any>();
    let id = promise.id();
    let held = promise.start();
    ctx.settle(&id, Ok(&value)).await?;
    ways.push(("settle", held.await?));
    ctx.publish("tours", &value).await?;
    ways.push(("promise", ctx.named_promise("given").await?));
    ways.push(("signal", ctx.signal("go").await?));
    shared.until(|(_, updated)| *updated).await?;
    ctx.updates_done().await;
    let ways = ways.into_iter().map(|(way, value)| (way.to_owned(), value));
    let sent = RawValue::from_string(format!("{:?}", sent.to_string())).expect("an id is JSON");
    Ok(ways.chain([("sent".to_owned(), Any(sent))]).collect())
}

/// Returns the shared value and the argument.
#[segno::query(tour)]
fn shown(shared: &(Any, bool), other: Any) -> Result<(Any, Any)> {
    Ok((shared.0.clone(), other))
}

/// Marks the shared state as updated and returns its input.
#[segno::update(tour)]
async fn told(_ctx: Context, shared: Shared<(Any, bool)>, value: Any) -> Result<Any> {
    shared.write(|shared| shared.1 = true);
    Ok(value)
}

/// Half of a surrogate pair, which the host does not accept as JSON.
fn half() -> Any {
    Any(RawValue::from_string(r#""\ud83d""#.to_owned()).expect("it looks like JSON"))
}

/// Passes invalid JSON to the command `way`.
#[segno::workflow]
pub async fn breaks(ctx: Context, way: String) -> Result<Any> {
    let nobody = "http://127.0.0.1:1/";
    match way.as_str() {
        "call" => drop(ctx.call(echo, &half()).await?),
        "send" => drop(ctx.send(echo, &half()).await?),
        "run" => drop(ctx.run("own", half).await?),
        "http" => drop(ctx.http(Request::post(nobody).json(&half())).await?),
        "publish" => ctx.publish("tours", &half()).await?,
        "settle" => {
            let promise = ctx.promise::<Any>();
            let id = promise.id();
            let held = promise.start();
            ctx.settle(&id, Ok(&half())).await?;
            held.await?;
        }
        "details" => return Err(Error::terminal(418, "as it was told").with_details(&half())),
        "retry" => {
            let policy = RetryPolicy::exponential().factor(f64::INFINITY);
            let null = RawValue::from_string("null".to_owned()).expect("JSON");
            let tour = Tour { value: Any(null), service: nobody.to_owned() };
            drop(ctx.call(send, &tour).retry(policy).await?);
        }
        _ => {}
    }
    Ok(half())
}

/// Returns invalid JSON.
#[segno::activity(retry(max_attempts = 1))]
pub async fn answers(_ctx: ActivityContext) -> Result<Any> {
    Ok(half())
}

segno::module!(echo, send, fails, Shelf, tour, shown, told, breaks, answers);
