//! A signup: a mail with a code is sent, and the address is confirmed with that code within a day.
//!
//! It shows a workflow by key, which runs once per person; shared functions that read its state and
//! send it data, while it runs and after its end; and a promise of the object, which may be settled
//! before the run waits for it.

use std::time::Duration;

use segno::{ActivityContext, Context, Either, Error, ObjectPromise, Result, State};

/// Validity of the code, in seconds.
const GOOD_S: u64 = 24 * 60 * 60;

/// A person, keyed by the name used for the signup.
#[segno::object]
pub struct Signup {
    mail: State<String>,
    code: State<u64>,
    confirmed: ObjectPromise<String>,
}

/// The progress of a signup.
#[segno::data]
#[derive(Debug, PartialEq)]
pub struct Status {
    /// The address.
    pub mail: Option<String>,
    /// The way in which the address was confirmed. `None` if it is not confirmed.
    pub confirmed_by: Option<String>,
}

#[segno::object]
impl Signup {
    /// Signs up: sends the code, and waits until the address is confirmed.
    #[run]
    pub async fn run(&mut self, ctx: Context, mail: String) -> Result<Status> {
        let code = 100_000 + ctx.random().below(900_000);
        self.mail.set(&mail)?;
        self.code.set(&code)?;
        ctx.call(send, &format!("{mail}: your code is {code}")).await?;
        let good = ctx.sleep(Duration::from_secs(GOOD_S));
        match segno::select(self.confirmed.wait(), good).await {
            Either::Left(by) => Ok(Status { mail: Some(mail), confirmed_by: Some(by?) }),
            Either::Right(_) => Err(Error::terminal(410, format!("{mail} was not confirmed"))),
        }
    }

    /// Confirms the address with the code of the mail.
    #[shared]
    pub async fn confirm(&self, ctx: Context, code: u64) -> Result<()> {
        let sent = self.code.get().await?;
        if sent != Some(code) {
            return Err(Error::terminal(403, format!("this is not the code of {}", ctx.key())));
        }
        self.confirmed.resolve(&"code".to_owned()).await
    }

    /// Returns the progress, also after the end.
    #[shared]
    pub async fn status(&self, _ctx: Context) -> Result<Status> {
        let (mail, confirmed_by) = segno::try_join(self.mail.get(), self.confirmed.peek()).await?;
        Ok(Status { mail, confirmed_by })
    }
}

/// Sends a mail. This example only logs it.
#[segno::activity]
pub async fn send(ctx: ActivityContext, mail: String) -> Result<()> {
    ctx.log(segno::Level::Info, mail);
    Ok(())
}

segno::module!(Signup, send);

#[cfg(test)]
mod tests {
    use segno::testing::Test;

    use super::*;

    const MAIL: &str = "ada@example.org";

    fn status(mail: Option<&str>, by: Option<&str>) -> Status {
        Status { mail: mail.map(str::to_owned), confirmed_by: by.map(str::to_owned) }
    }

    #[test]
    fn a_person_confirms_with_the_code_and_signs_up_once() {
        let mut test = Test::new();
        test.object_promise("Signup@ada", "confirmed")
            .after(Duration::from_secs(60))
            .resolve("support");
        let told: Status = test.run_object(Signup, "ada", "run", MAIL).unwrap();
        assert_eq!(told, status(Some(MAIL), Some("support")));
        test.replay_check();
        let code = test.state_of::<u64>("Signup@ada", "code").expect("one was sent");
        assert!(test.logged(&format!("your code is {code}")));
        let wrong = test.run_object::<_, ()>(Signup, "ada", "confirm", &(code + 1)).unwrap_err();
        assert_eq!(wrong.code(), 403);
        let late = test.run_object::<_, ()>(Signup, "ada", "confirm", &code).unwrap_err();
        assert_eq!(late.code(), 409, "support was faster");
        let told: Status = test.run_object(Signup, "ada", "status", &()).unwrap();
        assert_eq!(told, status(Some(MAIL), Some("support")));
        let again = test.run_object::<_, Status>(Signup, "ada", "run", MAIL).unwrap_err();
        assert_eq!(again.code(), 409);
    }

    #[test]
    fn what_was_confirmed_before_it_is_asked_for_is_not_waited_for() {
        let mut test = Test::new();
        test.object_promise("Signup@ada", "confirmed").resolve("support");
        let told: Status = test.run_object(Signup, "ada", "run", MAIL).unwrap();
        assert_eq!(
            (told.confirmed_by.as_deref(), test.elapsed()),
            (Some("support"), Duration::ZERO)
        );
    }

    #[test]
    fn a_code_is_good_for_a_day() {
        let mut test = Test::new();
        let late = test.run_object::<_, Status>(Signup, "eve", "run", MAIL).unwrap_err();
        assert_eq!((late.code(), test.elapsed()), (410, Duration::from_secs(GOOD_S)));
        let told: Status = test.run_object(Signup, "bob", "status", &()).unwrap();
        assert_eq!(told, status(None, None));
    }
}
