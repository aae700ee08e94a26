//! Repeats requests until an unavailable host answers: every request of the API may be repeated.

use segno_client::ClientError;
use segno_core::time::Millis;
use segno_env::Env;

/// Pause between two attempts.
const PAUSE: Millis = Millis(50);

/// Repeats `request` while the host is unavailable, for at most `limit` in total.
///
/// # Errors
/// The host's refusal immediately, or the last error after `limit`.
pub async fn insist<T>(
    env: &Env,
    limit: Millis,
    mut request: impl AsyncFnMut() -> Result<T, ClientError>,
) -> Result<T, ClientError> {
    let give_up_at = env.clock.now() + limit;
    loop {
        match request().await {
            Err(error) if is_away(&error) && env.clock.now() < give_up_at => {
                env.runtime.sleep(PAUSE).await;
            }
            answer => return answer,
        }
    }
}

/// True if another attempt may succeed.
fn is_away(error: &ClientError) -> bool {
    match error {
        ClientError::Unreachable { .. } | ClientError::Slow { .. } => true,
        // The host is starting or draining.
        ClientError::Refused(problem) => problem.status == 503,
        ClientError::Malformed { .. } | ClientError::Address { .. } => false,
    }
}
