//! The operator's settings for activities, in a test: environment, secrets, files.

// The name under which users depend on this package, and which the macros generate.
extern crate segno_sdk as segno;

use segno::{ActivityContext, Context, Error, Result, testing::Test};

#[segno::workflow]
async fn report(ctx: Context, name: String) -> Result<u64> {
    ctx.call(summed, &name).await
}

/// Adds up the lines of a file, in a unit that is a setting.
#[segno::activity]
async fn summed(ctx: ActivityContext, name: String) -> Result<u64> {
    let unit = ctx.env("UNIT")?;
    let unit: u64 = unit.parse().map_err(|_| Error::terminal(Error::REFUSED, "no number"))?;
    let files = ctx.files();
    let text = files.read_text(&format!("/in/{name}"))?;
    let sum: u64 = text.lines().filter_map(|line| line.parse::<u64>().ok()).sum();
    files.write(&format!("/out/{name}.sum"), (sum * unit).to_string())?;
    files.append("/out/done", format!("{name}\n"))?;
    files.remove(&format!("/in/{name}"))?;
    Ok(files.list("/out")?.iter().map(|entry| entry.size).sum())
}

#[segno::workflow]
async fn signed(ctx: Context, telling: bool) -> Result<String> {
    ctx.call(sign, &telling).await
}

#[segno::activity]
async fn sign(ctx: ActivityContext, telling: bool) -> Result<String> {
    let key = ctx.secret("SIGNING")?;
    assert_eq!(format!("{key:?}"), "{secret:SIGNING}", "it is not printed by mistake");
    Ok(if telling { format!("with {}", key.expose()) } else { key.expose().len().to_string() })
}

#[test]
fn settings_and_files_are_given_by_a_test() {
    let mut test = Test::new();
    test.env("UNIT", "10").file("/in/may", "1\n2\n39\n").file("/in/june", "5");
    assert_eq!(test.run(report, &"may".to_owned()).expect("it ends"), 3 + 4);
    assert_eq!(test.file_content("/out/may.sum").as_deref(), Some(b"420".as_slice()));
    assert_eq!(test.file_content("/in/may"), None);
    assert_eq!(test.file_content("/in/june").as_deref(), Some(b"5".as_slice()));
}

#[test]
fn what_is_not_set_is_final_and_says_how_to_set_it() {
    let mut test = Test::new();
    let error = test.run(report, &"may".to_owned()).expect_err("nothing is set");
    assert_eq!(error.code(), 403);
    assert!(error.message().contains("`test.env(\"UNIT\", …)`"), "{error}");
    test.env("UNIT", "1");
    let error = test.run(report, &"may".to_owned()).expect_err("there is no file");
    assert_eq!(error.code(), 404);
    assert!(error.message().contains("`test.file(\"/in/may\", …)`"), "{error}");
}

#[test]
fn a_result_with_a_secret_is_refused_as_by_the_host() {
    let mut test = Test::new();
    test.secret("SIGNING", "signing-key-1");
    assert_eq!(test.run(signed, &false).expect("it ends"), "13");
    let error = test.run(signed, &true).expect_err("it tells the secret");
    assert_eq!(error.code(), 422);
    assert!(error.message().contains("contains the secret `SIGNING`"), "{error}");
}
