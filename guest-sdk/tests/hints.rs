//! The compiler's messages for code that lacks an attribute: they name the attribute and the place.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

/// The library that this test was built with: the latest one in the folder.
fn library(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder).expect("the folder of the test");
    let files = entries.map(|entry| entry.expect("it can be read").path());
    let is_library = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("libsegno_sdk-") && name.ends_with(".rlib")
    };
    let made = |file: &PathBuf| {
        fs::metadata(file).and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    files.filter(is_library).max_by_key(made).expect("the library was built")
}

/// The compiler's messages for a crate with this source.
fn complaint(name: &str, source: &str) -> String {
    let test = env::current_exe().expect("the path of the test");
    let folder = test.parent().expect("it is in a folder");
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hints");
    fs::create_dir_all(&place).expect("there is room for a folder");
    let file = place.join(format!("{name}.rs"));
    let begin = "use segno::{ActivityContext, Context, Result};\n";
    fs::write(&file, format!("{begin}{source}")).expect("it is written");
    let mut compiler = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    compiler.args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata"]);
    compiler.arg("--out-dir").arg(&place);
    compiler.arg("-L").arg(format!("dependency={}", folder.display()));
    compiler.arg("--extern").arg(format!("segno={}", library(folder).display()));
    let said = compiler.arg(&file).output().expect("there is a compiler");
    String::from_utf8(said.stderr).expect("it writes text")
}

#[test]
fn a_type_without_its_attribute_is_named_with_the_attribute() {
    let type_ = "pub struct Order { pub id: u32 }\n";
    let takes = "#[segno::workflow]\npub async fn place(_ctx: Context, order: Order) -> Result<u32> { Ok(order.id) }\n";
    let returns = "#[segno::activity]\npub async fn read(_ctx: ActivityContext) -> Result<Order> { Ok(Order { id: 1 }) }\n";
    for (name, function, what) in [
        ("takes", takes, "a durable function cannot take `Order`"),
        ("returns", returns, "a durable function cannot return `Order`"),
    ] {
        let said = complaint(name, &format!("{type_}{function}"));
        assert!(said.contains(what), "{said}");
        assert!(said.contains("put `#[segno::data]` on `Order`"), "{said}");
        let with_it = format!("#[segno::data]\n{type_}{function}");
        let said = complaint(&format!("{name}_mended"), &with_it);
        assert!(!said.contains("error"), "{said}");
    }
}

#[test]
fn a_function_without_its_attribute_is_named_with_the_attributes() {
    let source = "pub async fn ship(_ctx: ActivityContext, id: u32) -> Result<u32> { Ok(id) }\n\
                  #[segno::workflow]\npub async fn place(ctx: Context) -> Result<u32> { ctx.call(ship, &1).await }\n";
    let said = complaint("calls", source);
    assert!(said.contains("is not a durable function"), "{said}");
    assert!(said.contains("put `#[segno::workflow]` or `#[segno::activity]` on it"), "{said}");
}

#[test]
fn a_query_or_an_update_that_cannot_be_one_is_told_why() {
    let order = "#[segno::workflow]\npub async fn order(ctx: Context) -> Result<()> { ctx.share(1_u32); Ok(()) }\n\
                 #[segno::activity]\npub async fn ship(_ctx: ActivityContext) -> Result<()> { Ok(()) }\n";
    let step = "pub fn step(number: &u32) -> Result<u32> { Ok(*number) }\n";
    let set = "pub async fn set(_ctx: Context, number: segno::Shared<u32>) -> Result<u32> { Ok(number.read(|n| *n)) }\n";
    let long = "n".repeat(65);
    let name = "a name has 1 to 64 letters, digits, `_`, `-` and `.`";
    for (at, (attribute, function, what)) in [
        ("query", step, "which workflow answers it?"),
        ("query(name = \"x\")", step, "which workflow answers it?"),
        ("query(order, name = \"\")", step, name),
        ("query(order, name = \"a/b\")", step, name),
        (&format!("update(order, name = \"{long}\")"), set, name),
        ("query(order, name = \"a-b_c.d\")", step, ""),
        (&format!("update(order, name = \"{}\")", &long[..64]), set, ""),
        ("query(ship)", step, "expected this to be `segno_sdk::Context`"),
        ("query(step)", step, "is not a durable function"),
        ("query(order, validate = step)", step, "a query has nothing to validate"),
        ("query(order)", set, "a query is answered at once"),
        ("update(order)", step, "an update is an `async fn`"),
        (
            "query(order)",
            "pub fn step(number: u32) -> Result<u32> { Ok(number) }",
            "a query takes a reference to what the workflow shares",
        ),
        (
            "update(order)",
            "pub async fn set(_ctx: Context) -> Result<()> { Ok(()) }",
            "an update takes a `segno::Context` and what the workflow shares",
        ),
        (
            "update(order)",
            "pub async fn set(_ctx: Context, _number: u32) -> Result<()> { Ok(()) }",
            "an update takes a `segno::Shared<T>`, and not `u32`",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let said = complaint(
            &format!("handler{at}"),
            &format!("{order}#[segno::{attribute}]\n{function}"),
        );
        match what {
            "" => assert!(!said.contains("error"), "{attribute}: {said}"),
            what => assert!(said.contains(what), "{attribute}: {said}"),
        }
    }
}

#[test]
fn a_limit_that_makes_no_sense_is_refused_at_its_place() {
    let workflow = "pub async fn order(_ctx: Context, id: u32) -> Result<u32> { Ok(id) }\n";
    let activity = "pub async fn ship(_ctx: ActivityContext, id: u32) -> Result<u32> { Ok(id) }\n";
    let whole = r#"limit(key = "id", concurrency = 5, rate = "10/s", burst = 20, total_concurrency = 100, total_rate = "100/s", total_burst = 200, priority = "p", priority_order = "weighted")"#;
    for (at, (attribute, function, place, what)) in [
        (format!("workflow({whole})"), workflow, "", ""),
        (format!("activity({whole}, timeout = \"1m\")"), activity, "", ""),
        (
            "workflow(limit())".to_owned(),
            workflow,
            "limit",
            "the limit says nothing: give it a `concurrency`, a `rate`, a `singleton` or a `debounce`",
        ),
        ("workflow(limit)".to_owned(), workflow, "", "expected parentheses"),
        (
            "activity(limit(concurrency = 0))".to_owned(),
            activity,
            "0",
            "`concurrency` of 0 would let nothing begin: use at least 1, or leave it out",
        ),
        (
            r#"workflow(limit(rate = "10/week"))"#.to_owned(),
            workflow,
            r#""10/week""#,
            "`10/week` is no rate: write a number, `/` and one of `s`, `m`, `h` and `d`",
        ),
        (
            "workflow(limit(concurrency = 1), limit(concurrency = 2))".to_owned(),
            workflow,
            "limit",
            "a function has one limit: write all of it in one `limit(…)`",
        ),
        (
            r#"workflow(limit(singleton = "skip", debounce = "1s"))"#.to_owned(),
            workflow,
            "debounce",
            "a limit is a singleton or is debounced, and not both",
        ),
        (
            "workflow(limits(concurrency = 1))".to_owned(),
            workflow,
            "limits",
            "expected `name`, `signals`, `promises`, `timeout`, `retry`, `limit`, `commit` or `expose`",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let said = complaint(&format!("limit{at}"), &format!("#[segno::{attribute}]\n{function}"));
        if what.is_empty() {
            assert!(!said.contains("error"), "{attribute}: {said}");
            continue;
        }
        assert!(said.contains(what), "{attribute}: {said}");
        // The place is underlined from its first letter to its last.
        let underlined = format!(" {}\n", "^".repeat(place.len()));
        assert!(place.is_empty() || said.contains(&underlined), "{attribute}: {said}");
    }
}

#[test]
fn a_commit_or_an_offer_that_cannot_be_is_refused_at_its_place() {
    let workflow = "pub async fn order(_ctx: Context, id: u32) -> Result<u32> { Ok(id) }\n";
    let activity = "pub async fn ship(_ctx: ActivityContext, id: u32) -> Result<u32> { Ok(id) }\n";
    for (at, (attribute, function, place, what)) in [
        (r#"workflow(commit = "each")"#, workflow, "", ""),
        (
            r#"workflow(commit = "always")"#,
            workflow,
            r#""always""#,
            r#"expected "each" or "gathered""#,
        ),
        (r#"workflow(expose = "mcp")"#, workflow, "", ""),
        (r#"activity(expose = "mcp")"#, activity, "", ""),
        (r#"activity(expose = "http")"#, activity, r#""http""#, r#"expected "mcp""#),
        (
            r#"activity(commit = "each")"#,
            activity,
            "commit",
            "an activity has no journal to commit to: `commit` is for workflows",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let said = complaint(&format!("commit{at}"), &format!("#[segno::{attribute}]\n{function}"));
        if what.is_empty() {
            assert!(!said.contains("error"), "{attribute}: {said}");
            continue;
        }
        assert!(said.contains(what), "{attribute}: {said}");
        let underlined = format!(" {}\n", "^".repeat(place.len()));
        assert!(said.contains(&underlined), "{attribute}: {said}");
    }
}

#[test]
fn an_object_that_runs_once_a_key_is_told_which_function_is_one_too_many() {
    let function = |attribute: &str, receiver: &str, name: &str| {
        format!(
            "{attribute} async fn {name}({receiver}, _ctx: Context) -> Result<()> {{ Ok(()) }}\n"
        )
    };
    let object = |functions: &[String]| {
        format!(
            "#[segno::object]\npub struct Signup {{}}\n#[segno::object]\nimpl Signup {{ {} }}\n",
            functions.concat()
        )
    };
    let run = || function("#[run]", "&mut self", "run");
    let shared = function("#[shared]", "&self", "status");
    for (name, functions, said, place) in [
        (
            "two_runs",
            vec![run(), function("#[run]", "&mut self", "again")],
            "`Signup` has two `#[run]` functions: a key runs once",
            "again",
        ),
        (
            "run_beside_exclusive",
            vec![function("", "&mut self", "change"), run()],
            "`Signup` runs once a key, by `run`: its other functions are `#[shared]`, with `&self`",
            "change",
        ),
        (
            "run_that_reads",
            vec![function("#[run]", "&self", "run")],
            "a function that runs once a key takes `&mut self`",
            "&self",
        ),
    ] {
        let complaint = complaint(name, &object(&functions));
        assert!(complaint.contains(said), "{complaint}");
        let marked = complaint.lines().find(|line| line.contains(" async fn ")).expect("a line");
        assert!(marked.contains(place), "{complaint}");
    }
    let fine = complaint("run_beside_shared", &object(&[run(), shared]));
    assert!(!fine.contains("error"), "{fine}");
}
