//! Functions that use operator settings from `policy.toml`: variables, secrets and directories.

use segno::{ActivityContext, Context, Error, Result, http::Request};

/// Sends a payment request with a secret that only the host knows.
#[segno::workflow]
pub async fn pay(ctx: Context, url: String) -> Result<String> {
    let request = Request::post(url).header("authorization", "Bearer {secret:PAY}");
    Ok(ctx.http(request).await?.text())
}

/// Does the same from an activity.
#[segno::activity]
pub async fn pay_once(ctx: ActivityContext, url: String) -> Result<String> {
    let request = Request::post(url).header("authorization", "Bearer {secret:PAY}");
    Ok(ctx.http(request).await?.text())
}

/// Refers to a secret that does not exist.
#[segno::workflow]
pub async fn pay_wrongly(ctx: Context, url: String) -> Result<String> {
    let request = Request::post(url).header("authorization", "Bearer {secret:PAID}");
    Ok(ctx.http(request).await?.text())
}

/// The value of a setting.
#[segno::activity]
pub async fn setting(ctx: ActivityContext, name: String) -> Result<String> {
    ctx.env(&name)
}

/// Exposes a secret in one of several ways, chosen by `how`.
#[segno::activity(retry(initial = "10ms", max_attempts = 2))]
pub async fn tell(ctx: ActivityContext, how: String) -> Result<String> {
    let secret = ctx.secret("PAY")?;
    let value = secret.expose();
    match how.as_str() {
        "length" => return Ok(value.len().to_string()),
        "result" => return Ok(format!("it is {value}")),
        "log" => segno::warn!(ctx, "it is {value}"),
        "progress" => {
            ctx.heartbeat(&value)?;
            if let Some(progress) = ctx.last_progress::<String>()? {
                return Ok(progress);
            }
            return Err(Error::retryable("again"));
        }
        "error" => {
            return Err(Error::terminal(409, format!("it is {value}")).with_details(&value));
        }
        "panic" => panic!("it is {value}"),
        other => return ctx.secret(other).map(|_| String::new()),
    }
    Ok(how)
}

/// Copies a file in parts, and lists the folder of the copy.
#[segno::activity]
pub async fn copy(ctx: ActivityContext, (from, to): (String, String)) -> Result<Vec<String>> {
    let files = ctx.files();
    let content = files.read(&from)?;
    files.write(&to, &content)?;
    files.append(&to, "\n-- end")?;
    let folder = to.rsplit_once('/').map_or("/", |(folder, _)| folder);
    Ok(files
        .list(folder)?
        .into_iter()
        .map(|entry| format!("{} {}", entry.name, entry.size))
        .collect())
}

segno::module!(pay, pay_once, pay_wrongly, setting, tell, copy);
