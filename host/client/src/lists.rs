//! Lists of a store in several databases, some of which may be away.

use crate::ClientError;

/// Asks for a list with the query's `partial`: first `None`, and if the host refuses an incomplete
/// list, `Some(true)`. The page then names the databases that are `missing`.
///
/// # Errors
/// The error of the last question.
pub async fn without_missing<P, F>(ask: impl Fn(Option<bool>) -> F) -> Result<P, ClientError>
where
    F: Future<Output = Result<P, ClientError>>,
{
    match ask(None).await {
        Err(ClientError::Refused(problem)) if problem.fields.contains_key("missing") => {
            ask(Some(true)).await
        }
        page => page,
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::RefCell,
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use segno_model::Problem;

    use super::*;

    #[test]
    fn only_an_incomplete_list_is_asked_for_again() {
        let refused = |field: &str| {
            let problem = serde_json::json!({
                "type": "urn", "title": "t", "status": 503, "detail": "d", "code": "c", field: []
            });
            let problem: Problem = serde_json::from_value(problem).expect("a problem");
            ClientError::Refused(Box::new(problem))
        };
        for (field, expected) in [("missing", vec![None, Some(true)]), ("known", vec![None])] {
            let asked = RefCell::new(Vec::new());
            let answer = without_missing(|partial| {
                asked.borrow_mut().push(partial);
                let answer = if partial == Some(true) { Ok(7) } else { Err(refused(field)) };
                std::future::ready(answer)
            });
            let answer = pin!(answer).poll(&mut Context::from_waker(Waker::noop()));
            let Poll::Ready(answer) = answer else { panic!("nothing is waited for") };
            assert_eq!(answer.ok(), expected.get(1).map(|_| 7));
            assert_eq!(asked.into_inner(), expected);
        }
    }
}
