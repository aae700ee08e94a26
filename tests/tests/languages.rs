//! A new user's first hour, in each language. A project is created, deployed, started, resolved and
//! replayed. A defect is reported by file and line and fixed, and the execution continues. Code is
//! upgraded while an execution is in flight.
//!
//! JavaScript and Python need tools from npm and PyPI. They are tested with `SEGNO_CLIENTS=1`,
//! which installs the tools into Segno's cache. If the tools are unavailable, the suite says so and
//! skips. With `SEGNO_CLIENTS=required`, as in CI, it fails.

use std::{env, fs, path::Path};

use tests::shell::{Said, Shell};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// The parts that differ between languages.
struct Course {
    /// Name of the language for `segno new`.
    language: &'static str,
    /// Command that tests the new project.
    test: Option<&'static str>,
    /// File with the functions.
    source: &'static str,
    /// Line of the workflow that determines its outcome: original, with a defect, and fixed.
    outcome: [&'static str; 3],
    /// Line of the activity that sends the mail: original, and a version with a defect for `boom`,
    /// which for any other address uses a request, a setting, a secret and a file.
    mail: [&'static str; 2],
    /// Retry option of the activity: original, and without retries.
    retries: [&'static str; 2],
    /// Messages of both defects.
    messages: [&'static str; 2],
    /// Replacement for the outcome line that begins a saga and aborts it, then the place before
    /// which a compensating activity is inserted, and that activity. `None` for a language whose
    /// examples cover it.
    saga: Option<[&'static str; 3]>,
    /// Line with a syntax error, and the place that the build reports for it, with `N` for the line
    /// number.
    nonsense: [&'static str; 2],
}

const RUST: Course = Course {
    language: "rust",
    test: Some("cargo test"),
    source: "src/lib.rs",
    outcome: [
        r#"    let outcome = if confirmed { "confirmed" } else { "refused" };"#,
        r#"    let outcome = Some("nothing").filter(|_| !confirmed).expect("no outcome");"#,
        r#"    let outcome = if confirmed { "welcome" } else { "refused" };"#,
    ],
    mail: [
        r#"    segno::info!(ctx, "mail to {to}: {text}");"#,
        r#"    segno::info!(ctx, "mail to {to}: {text}");"#,
    ],
    retries: ["max_attempts = 10", "max_attempts = 1"],
    messages: ["no outcome", ""],
    saga: None,
    nonsense: ["fn nonsense(", "src/lib.rs:N:"],
};

const JAVASCRIPT: Course = Course {
    language: "js",
    test: None,
    source: "workflow.js",
    outcome: [
        "  return `${email} is ${confirmed ? 'confirmed' : 'refused'}`;",
        "  return email.nothing.at.all;",
        "  return `${email} is ${confirmed ? 'welcome' : 'refused'}`;",
    ],
    mail: [
        "  console.log(`mail to ${to}: ${text}`);",
        "  ctx.files.write('/data/x', ctx.env('REGION')); console.log(`mail to ${to}`, to.includes('boom') ? null.at : (await ctx.http({ url: to })).json().openapi, ctx.files.readText('/data/x'), ctx.secret('PAY'));",
    ],
    retries: ["maxAttempts: 10", "maxAttempts: 1"],
    messages: [
        "TypeError: cannot read property 'at' of undefined",
        "TypeError: cannot read property 'at' of null",
    ],
    saga: Some([
        "  const saga = ctx.saga('s'); await saga.call('send_mail', [email, 'held'], { compensate: 'withdraw' }); await saga.abort('nobody goes');",
        "    send_mail: {",
        "    withdraw: { run: ({ input, output }) => console.log('withdrawn', input[0], output) },\n",
    ]),
    nonsense: ["const 1 = 2;", "workflow.js:N:"],
};

const PYTHON: Course = Course {
    language: "py",
    test: None,
    source: "app.py",
    outcome: [
        r#"    return f"{email} is {'confirmed' if await confirmed else 'refused'}""#,
        r#"    return {}["nothing" if await confirmed else "at all"]"#,
        r#"    return f"{email} is {'welcome' if await confirmed else 'refused'}""#,
    ],
    mail: [
        r#"    print(f"mail to {to}: {text}")"#,
        r#"    ctx.files.write("/data/x", ctx.env("REGION")); print(f"mail to {to}", [][0] if "boom" in to else (await ctx.http("GET", to)).json()["openapi"], ctx.files.read("/data/x").decode(), ctx.secret("PAY"))"#,
    ],
    retries: ["max_attempts=10", "max_attempts=1"],
    messages: ["KeyError: 'nothing'", "IndexError: list index out of range"],
    saga: Some([
        "    saga = ctx.saga('s'); await saga.call('send_mail', [email, 'held'], compensate='withdraw'); await saga.abort('nobody goes')",
        "@activity(\n    input",
        "@activity()\ndef withdraw(undo, ctx):\n    print('withdrawn', undo['input'][0], undo['output'])\n\n\n",
    ]),
    nonsense: ["let = (", "File \"app.py\", line N"],
};

/// Address of a mail that is also a URL: the host's own, which the shell substitutes.
const BAD: &str = "http://127.0.0.1:7766/openapi.json?";

const POLICY: &str = r#"["*"]
http.allow = ["http://127.0.0.1:*"]
env = { REGION = "north" }
secrets = { PAY = { from = "PAY" } }
dirs = [{ host = "%s", guest = "/data", write = true }]
"#;

#[test]
fn the_first_hour_in_rust() {
    first_hour(&RUST);
}

#[test]
fn the_first_hour_in_javascript() {
    if has_tools(&JAVASCRIPT) {
        first_hour(&JAVASCRIPT);
    }
}

#[test]
fn the_first_hour_in_python() {
    if has_tools(&PYTHON) {
        first_hour(&PYTHON);
    }
}

/// True if projects can be built here, which a project with an error shows.
fn has_tools(course: &Course) -> bool {
    let language = course.language;
    let wanted = env::var("SEGNO_CLIENTS").unwrap_or_default();
    if wanted.is_empty() {
        eprintln!(
            "skipped: `--lang {language}` is tried with SEGNO_CLIENTS=1, which installs tools"
        );
        return false;
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let lines = [
        format!("segno new x --lang {language}"),
        format!("echo '{}' >x/{}", course.nonsense[0], course.source),
        "segno build x --prepare".to_owned(),
    ];
    let said = shell(folder.path()).run("", &lines);
    let build = said.last().expect("there are three");
    if build.err.contains("did not build") {
        return true;
    }
    let cannot = ["could not be installed with", " needs "];
    let is_known = cannot.iter().any(|part| build.err.contains(part));
    assert!(is_known && wanted != "required", "{said:#?}");
    eprintln!("SKIPPED: the tools of `--lang {language}` cannot be installed: {}", build.err);
    false
}

fn shell(folder: &Path) -> Shell {
    Shell::in_folder(folder, SEGNO, &Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents"))
}

/// A line of the script, its exit code, and parts of its output on either stream.
type Step = (String, i32, Vec<String>);

fn step(line: impl Into<String>, exit: i32, parts: &[&str]) -> Step {
    (line.into(), exit, parts.iter().map(ToString::to_string).collect())
}

fn first_hour(course: &Course) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let shell = shell(folder.path());
    let made = format!("segno new shop --lang {} && cd shop", course.language);
    shell.run("", &[made]);
    let source = fs::read_to_string(shell.work().join("shop").join(course.source));
    let versions = Versions::of(course, &source.expect("the project is there"));
    for (name, text) in versions.texts() {
        fs::write(shell.work().join(name), text).expect("there is room");
    }
    let script = script(course, &versions);
    let lines: Vec<String> = script.iter().map(|(line, ..)| line.clone()).collect();
    let said = shell.run("shop", &lines);
    let wrong = |((_, exit, parts), said): &(&Step, &Said)| {
        let heard = format!("{}{}", said.out, said.err);
        said.exit != Some(*exit) || !parts.iter().all(|part| heard.contains(part))
    };
    let wrong: Vec<_> = script.iter().zip(&said).filter(wrong).collect();
    assert!(wrong.is_empty(), "these are wrong: {wrong:#?}\n\nall of them: {said:#?}");
}

/// The versions of the source, in the order in which they are written.
struct Versions {
    defective: String,
    mended: String,
    nonsense: String,
    /// The version with an aborted saga.
    given_up: String,
    /// Places of the two defects, and of the syntax error.
    places: [String; 3],
}

impl Versions {
    fn of(course: &Course, source: &str) -> Self {
        let edited = |text: &str, from: &str, to: &str| {
            assert_eq!(text.matches(from).count(), 1, "`{from}` is once in the template");
            text.replace(from, to)
        };
        let line = |of: &str| {
            let at = source.lines().position(|line| line == of).expect("the template has the line");
            format!("{}:{}", course.source, at + 1)
        };
        let defective = edited(source, course.outcome[0], course.outcome[1]);
        let defective = edited(&defective, course.mail[0], course.mail[1]);
        let defective = edited(&defective, course.retries[0], course.retries[1]);
        let given_up = course.saga.map_or(String::new(), |[begins, before, undoes]| {
            let text = edited(source, course.outcome[0], begins);
            edited(&text, before, &format!("{undoes}{before}"))
        });
        let end = (source.lines().count() + 1).to_string();
        Self {
            mended: edited(source, course.outcome[0], course.outcome[2]),
            nonsense: format!("{source}{}\n", course.nonsense[0]),
            places: [
                line(course.outcome[0]),
                line(course.mail[0]),
                course.nonsense[1].replace('N', &end),
            ],
            defective,
            given_up,
        }
    }

    fn texts(&self) -> [(&'static str, &str); 4] {
        [
            ("defective", &self.defective),
            ("mended", &self.mended),
            ("nonsense", &self.nonsense),
            ("given-up", &self.given_up),
        ]
    }
}

/// The language's example has objects.
fn objects(course: &Course) -> Vec<Step> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/other-languages");
    let folder = if course.language == "js" { "javascript" } else { "python" };
    let deployed = step("segno deploy ../example --as basket", 0, &["exclusive", "shared"]);
    let add = |good: &str, count: &str| {
        step(format!("segno call basket/Basket@ada/add '\"{good}\"' --id {good}"), 0, &[count])
    };
    vec![
        step(format!("cp -r {root}/{folder} ../example"), 0, &[]),
        deployed,
        add("bread", "1"),
        add("cheese", "2"),
        step("segno call basket/Basket@ada/total", 0, &["1050", "ada"]),
        step("segno call basket/Basket@bob/total", 0, &["0", "bob"]),
        step("segno object get basket/Basket@ada goods", 0, &["bread", "cheese"]),
        step("segno replay cheese", 0, &["identical"]),
        step("segno start basket/Delivery@ada/deliver '\"Main Street\"'", 0, &["started"]),
        step("segno call basket/Delivery@ada/status", 0, &["Main Street", "null"]),
        step("segno call basket/Delivery@ada/sign '\"Eve\"'", 0, &["null"]),
        step("segno result basket/Delivery@ada/deliver --wait 60s", 0, &["Eve"]),
        step("segno call basket/Delivery@ada/sign '\"Bob\"' --id late", 4, &["settled before"]),
        step("segno call basket/Delivery@ada/status --id after", 0, &["Eve"]),
        step("segno start basket/Delivery@ada/deliver '\"here\"' --id o", 1, &["has had its run"]),
        step("segno replay basket/Delivery@ada/deliver", 0, &["identical"]),
        step("segno replay after", 0, &["identical"]),
        step(
            "segno object promise reject basket/Delivery@bob signed 'gone away'",
            0,
            &["rejected"],
        ),
        step("segno call basket/Delivery@bob/deliver '\"Elm Street\"'", 4, &["gone away"]),
        step("segno call basket/Delivery@bob/status", 4, &["gone away"]),
    ]
}

/// A project from the time of contract 0.1.0 has the shim of that time, and still builds.
fn older(course: &Course) -> Vec<Step> {
    let contract = concat!(env!("CARGO_MANIFEST_DIR"), "/contract");
    let (shim, exports) = match course.language {
        "js" => ("js", "s/messages, objects/messages/"),
        _ => ("py", "s/^\\(from segno .*\\), Objects/\\1/"),
    };
    let source = course.source;
    vec![
        step(format!("cp ../mended {source} && sed -i '{exports}' {source}"), 0, &[]),
        step(format!("cp {contract}/segno-0.1.0.{shim} segno.{shim}"), 0, &[]),
        step("segno deploy . --as older", 0, &["older  ", "send_mail"]),
        step("segno start older/signup '\"eva@example.org\"' --id eva", 0, &["started"]),
        step("segno resolve eva/p/confirmed true --wait 60s", 0, &["eva  resolved"]),
        step("segno result eva --wait 60s", 0, &["eva@example.org is welcome"]),
    ]
}

fn script(course: &Course, versions: &Versions) -> Vec<Step> {
    let [workflow, activity, nonsense] = versions.places.each_ref().map(String::as_str);
    let [no_outcome, no_mail] = course.messages;
    let write = |version: &str| step(format!("cp ../{version} {}", course.source), 0, &[]);
    let start = |id: &str, to: &str| {
        step(format!("segno start shop/signup '\"{to}@example.org\"' --id {id}"), 0, &["started"])
    };
    let confirm = |id: &str, exit, state: &str| {
        let line = format!("segno resolve {id}/p/confirmed true --wait 60s");
        step(line, exit, &["/p/confirmed  resolved  true", state])
    };
    let ended =
        |id: &str, exit, parts: &[&str]| step(format!("segno result {id} --wait 60s"), exit, parts);
    let deploy = || step("segno deploy . --prepare", 0, &["shop  ", "send_mail"]);
    let panicked = format!("panicked at {workflow}");

    let mut script = Vec::new();
    if course.language == "rust" {
        // A function that is missing in the module's list is reported before it is called.
        let list = "s/module!(signup, send_mail)/module!(signup)/";
        let unlisted = "`send_mail` is declared and not in the list of the module: add it";
        script.extend([
            step(format!("cp {0} ../first && sed -i '{list}' {0}", course.source), 0, &[]),
            step("segno build . --prepare", 1, &[unlisted]),
            step(format!("cp ../first {}", course.source), 0, &[]),
        ]);
    }
    script.extend(course.test.map(|test| step(test, 0, &["3 passed"])));
    script.extend([
        step(format!("printf '{POLICY}' \"$PWD\" >policy.toml"), 0, &[]),
        step("PAY=hidden-key segno serve --policy policy.toml &", 0, &[]),
        step("segno ready --wait 60s", 0, &["ready"]),
        deploy(),
        start("ada", "ada"),
        // A value of the wrong type is refused to its sender.
        step(
            "segno resolve ada/p/confirmed '\"yes\"' --wait 30s",
            1,
            &["is not of type \"boolean\""],
        ),
        confirm("ada", 0, "ada  resolved"),
        ended("ada", 0, &["ada@example.org is confirmed"]),
        step("segno replay ada", 0, &["identical"]),
        step("segno logs ada", 0, &["mail to ada@example.org: "]),
        start("old", "old"),
        // A compile error is reported by file and line.
        write("nonsense"),
        step("segno build . --prepare", 1, &[nonsense]),
        // A defect in the workflow and one in the activity.
        write("defective"),
        deploy(),
        start("bad", BAD),
        confirm("bad", 6, "bad  halted"),
        ended("bad", 6, &[&panicked, no_outcome]),
        step("segno inspect bad", 0, &[&panicked, no_outcome]),
        // After the fix the execution continues where it stopped.
        write("mended"),
        deploy(),
        step("segno continue bad --module shop", 0, &["continues on shop"]),
        ended("bad", 0, &["@example.org is welcome"]),
        step("segno replay bad", 0, &["identical"]),
        // Executions in flight end on the code on which they began.
        confirm("old", 0, "old  resolved"),
        ended("old", 0, &["old@example.org is confirmed"]),
        step("segno replay old", 0, &["identical"]),
    ]);
    if course.language != "rust" {
        // One activity calls the host itself, another has a defect. Both run on the defective code.
        let place = format!("{activity}: {no_mail}");
        let at = script.iter().position(|(line, ..)| line.starts_with("segno continue"));
        let again = [
            step("segno logs bad/0", 0, &["openapi.json?@example.org 3.", "north {secret:PAY}"]),
            start("boom", "boom"),
            ended("boom", 4, &[&place]),
            step("segno inspect boom/0", 0, &[&place]),
        ];
        // Inserts them before the fixed code is written and deployed.
        let at = at.expect("it is continued") - 2;
        script.splice(at..at, again);
        // A saga that is aborted.
        script.extend([
            write("given-up"),
            deploy(),
            start("trip", "trip"),
            confirm("trip", 4, "trip  rejected"),
            ended("trip", 4, &["nobody goes; saga `s`: `send_mail` undone"]),
            step("segno saga show trip", 0, &["s  undone", "withdraw"]),
            step("segno logs trip/c/s/0", 0, &["withdrawn trip@example.org"]),
        ]);
        script.extend(objects(course));
        script.extend(older(course));
    }
    script
}
