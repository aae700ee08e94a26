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
pub(crate) struct Course {
    /// Name of the language for `segno new`.
    pub(crate) language: &'static str,
    /// Command that installs what the new project needs; empty if there is nothing to install.
    pub(crate) install: &'static str,
    /// Command that tests the new project, and the part of its output that counts the tests.
    pub(crate) test: [&'static str; 2],
    /// File with the functions.
    source: &'static str,
    /// Name of the activity.
    activity: &'static str,
    /// Line of the workflow that determines its outcome: original, with a defect, and fixed.
    outcome: [&'static str; 3],
    /// Line of the activity that sends the mail: original, and a version with a defect for `boom`,
    /// which for any other address uses a request, a setting, a secret and a file.
    mail: [&'static str; 2],
    /// Retry option of the activity: original, and without retries.
    retries: [&'static str; 2],
    /// Messages of both defects.
    messages: [&'static str; 2],
    /// Replacement for the outcome line that begins a saga and aborts it, and the compensating
    /// activity with an object, which are put at the end. `None` for a language whose examples
    /// cover both.
    more: Option<[&'static str; 2]>,
    /// The copied shim that a project may have instead of the package: the example that has it,
    /// and the source of a project from the time of contract 0.1.0 with its manifest.
    shim: Option<Shim>,
    /// Line with a syntax error, and the place that the build reports for it, with `N` for the line
    /// number.
    nonsense: [&'static str; 2],
}

/// Projects with a copied shim.
struct Shim {
    /// Folder of the example.
    example: &'static str,
    extension: &'static str,
    /// File with the functions.
    source: &'static str,
    /// Manifest of the project: name and text.
    manifest: [&'static str; 2],
}

const RUST: Course = Course {
    language: "rust",
    install: "",
    test: ["cargo test", "3 passed"],
    source: "src/lib.rs",
    activity: "send_mail",
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
    more: None,
    shim: None,
    nonsense: ["fn nonsense(", "src/lib.rs:N:"],
};

pub(crate) const TYPESCRIPT: Course = Course {
    language: "ts",
    install: "npm install --no-audit --no-fund",
    test: ["npm run lint && npm test", "# pass 3"],
    source: "src/index.ts",
    activity: "sendMail",
    outcome: [
        "    return `${email} is ${confirmed ? 'confirmed' : 'refused'}`;",
        "    return (email as any).nothing.at.all as string;",
        "    return `${email} is ${confirmed ? 'welcome' : 'refused'}`;",
    ],
    mail: [
        "    ctx.log(`mail to ${to}: ${text}`);",
        "    ctx.files.write('/data/x', ctx.env('REGION')!); ctx.log(`mail to ${to}`, to.includes('boom') ? (null as any).at : (await (await fetch(to)).json() as any).openapi, ctx.files.readText('/data/x'), ctx.secret('PAY'));",
    ],
    retries: ["maxAttempts: 10", "maxAttempts: 1"],
    messages: [
        "TypeError: cannot read property 'at' of undefined",
        "TypeError: cannot read property 'at' of null",
    ],
    more: Some([ABORTED, MORE_NPM]),
    shim: None,
    nonsense: ["const 1 = 2;", "src/index.ts:N:"],
};

const JAVASCRIPT: Course = Course {
    language: "js",
    test: ["npm run lint && npm run check && npm test", "# pass 3"],
    source: "src/index.js",
    outcome: [TYPESCRIPT.outcome[0], "    return email.nothing.at.all;", TYPESCRIPT.outcome[2]],
    mail: [
        TYPESCRIPT.mail[0],
        "    ctx.files.write('/data/x', ctx.env('REGION')); ctx.log(`mail to ${to}`, to.includes('boom') ? null.at : (await (await fetch(to)).json()).openapi, ctx.files.readText('/data/x'), ctx.secret('PAY'));",
    ],
    shim: Some(Shim {
        example: "javascript",
        extension: "js",
        source: "workflow.js",
        manifest: ["package.json", r#"{"type": "module", "main": "workflow.js"}"#],
    }),
    nonsense: ["const 1 = 2;", "src/index.js:N:"],
    ..TYPESCRIPT
};

const ABORTED: &str = "    const saga = ctx.saga('s'); await saga.call(sendMail, { to: email, text: 'held' }, { compensate: withdraw }); await saga.abort('nobody goes');";

const MORE_NPM: &str = r"
import { object } from '@segno/sdk';
export const withdraw = activity(async ({ input }, ctx) => ctx.log('withdrawn', input.to));
export const Basket = object({ state: { goods: z.array(z.string()) } }, ({ exclusive, shared }) => ({
  add: exclusive({ input: z.string() }, async (good, ctx) => {
    const goods = [...((await ctx.state.get('goods')) ?? []), good];
    ctx.state.set('goods', goods);
    return goods.length;
  }),
  count: shared(async (_, ctx) => ((await ctx.state.get('goods')) ?? []).length),
}));
";

pub(crate) const PYTHON: Course = Course {
    language: "py",
    install: "python3 -m venv .venv && .venv/bin/pip install --quiet -r requirements.txt",
    test: [".venv/bin/ruff check && .venv/bin/mypy && .venv/bin/pytest", "3 passed"],
    source: "app.py",
    activity: "send_mail",
    outcome: [
        r#"    return f"{email} is {'confirmed' if confirmed else 'refused'}""#,
        r#"    return {}["nothing" if confirmed else "at all"]"#,
        r#"    return f"{email} is {'welcome' if confirmed else 'refused'}""#,
    ],
    mail: [
        r#"    ctx.log(f"mail to {mail.to}: {mail.text}")"#,
        r#"    ctx.files.write("/data/x", ctx.env("REGION")); ctx.log(f"mail to {mail.to}" + (([][0] if "boom" in mail.to else f""" {(await ctx.http("GET", mail.to)).json()["openapi"]} {ctx.files.read_text("/data/x")} {ctx.secret("PAY")}""")))"#,
    ],
    retries: ["max_attempts=10", "max_attempts=1"],
    messages: ["KeyError: 'nothing'", "IndexError: list index out of range"],
    more: Some([
        "    saga = ctx.saga('s'); await saga.call(send_mail, Mail(email, 'held'), compensate=withdraw); await saga.abort('nobody goes')",
        MORE_PYTHON,
    ]),
    shim: Some(Shim {
        example: "python",
        extension: "py",
        source: "app.py",
        manifest: ["pyproject.toml", ""],
    }),
    nonsense: ["let = (", "File \"app.py\", line N"],
};

const MORE_PYTHON: &str = r"
from segno_sdk import Object, State, Undo, exclusive, shared

@activity
async def withdraw(undo: Undo[Mail, None], ctx: ActivityContext) -> None:
    ctx.log(f'withdrawn {undo.input.to}')

class Basket(Object):
    goods: State[list[str]]

    @exclusive
    async def add(self, good: str, ctx: Context) -> int:
        goods = [*await self.goods.get_or([]), good]
        self.goods.set(goods)
        return len(goods)

    @shared
    async def count(self) -> int:
        return len(await self.goods.get_or([]))
";

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
fn the_first_hour_in_typescript() {
    if has_tools(&TYPESCRIPT) {
        first_hour(&TYPESCRIPT);
    }
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
pub(crate) fn has_tools(course: &Course) -> bool {
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
    let failed = said.iter().find(|said| said.exit != Some(0)).expect("the source has an error");
    if failed.err.contains("did not build") {
        return true;
    }
    let cannot = ["could not be installed with", " needs "];
    let is_known = cannot.iter().any(|part| failed.err.contains(part));
    assert!(is_known && wanted != "required", "{said:#?}");
    eprintln!("SKIPPED: the tools of `--lang {language}` cannot be installed: {}", failed.err);
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
    let made = shell.run("", &[format!("segno new shop --lang {}", course.language)]);
    assert_eq!(made[0].exit, Some(0), "{made:#?}");
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
    /// The version with an aborted saga, and with an object.
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
        let given_up = course.more.map_or(String::new(), |[begins, more]| {
            format!("{}{more}", edited(source, course.outcome[0], begins))
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

/// An object of the package, in the version with a saga.
fn objects() -> Vec<Step> {
    let add = |good: &str, count: &str| {
        step(format!("segno call shop/Basket@ada/add '\"{good}\"' --id {good}-1"), 0, &[count])
    };
    vec![
        add("bread", "1"),
        add("cheese", "2"),
        step("segno call shop/Basket@ada/count", 0, &["2"]),
        step("segno call shop/Basket@bob/count", 0, &["0"]),
        step("segno object get shop/Basket@ada goods", 0, &["bread", "cheese"]),
        step("segno replay cheese-1", 0, &["identical"]),
    ]
}

/// Waits until the delivery has begun, which its state shows.
const BEGUN: &str = "for turn in $(seq 400); do segno object get basket/Delivery@ada to | grep -q 'Main Street' && break; sleep 0.2; done";

/// The example with the copied shim has objects.
fn example(shim: &Shim) -> Vec<Step> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/other-languages");
    let folder = shim.example;
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
        step(BEGUN, 0, &[]),
        step("segno call basket/Delivery@ada/status", 0, &["Main Street", "null"]),
        step("segno call basket/Delivery@ada/sign '\"Eve\"'", 0, &["null"]),
        step("segno result basket/Delivery@ada/deliver --wait 240s", 0, &["Eve"]),
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
fn older(shim: &Shim) -> Vec<Step> {
    let contract = concat!(env!("CARGO_MANIFEST_DIR"), "/contract");
    let Shim { extension, source, manifest: [name, text], .. } = shim;
    vec![
        step(format!("mkdir ../older && echo '{text}' >../older/{name}"), 0, &[]),
        step(format!("cp {contract}/signup-0.1.0.{extension} ../older/{source}"), 0, &[]),
        step(format!("cp {contract}/segno-0.1.0.{extension} ../older/segno.{extension}"), 0, &[]),
        step("segno deploy ../older", 0, &["older  ", "send_mail"]),
        step("segno start older/signup '\"eva@example.org\"' --id eva", 0, &["started"]),
        step("segno resolve eva/p/confirmed true --wait 240s", 0, &["eva  resolved"]),
        step("segno result eva --wait 240s", 0, &["eva@example.org is confirmed"]),
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
        let line = format!("segno resolve {id}/p/confirmed true --wait 240s");
        step(line, exit, &["/p/confirmed  resolved  true", state])
    };
    let ended = |id: &str, exit, parts: &[&str]| {
        step(format!("segno result {id} --wait 240s"), exit, parts)
    };
    let deploy = || step("segno deploy . --prepare", 0, &["shop  ", course.activity]);
    let failed = format!("failed at {workflow}");

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
    if !course.install.is_empty() {
        // The build says what to install.
        script.push(step("segno build . --prepare", 1, &["not installed", "install"]));
        script.push(step(course.install, 0, &[]));
    }
    let [test, passed] = course.test;
    script.push(step(test, 0, &[passed]));
    script.extend([
        step(format!("printf '{POLICY}' \"$PWD\" >policy.toml"), 0, &[]),
        step("PAY=hidden-key segno serve --policy policy.toml &", 0, &[]),
        step("segno ready --wait 240s", 0, &["ready"]),
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
        ended("bad", 6, &[&failed, no_outcome]),
        step("segno inspect bad", 0, &[&failed, no_outcome]),
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
        let place = format!("{activity}:");
        let at = script.iter().position(|(line, ..)| line.starts_with("segno continue"));
        let again = [
            step("segno logs bad/0", 0, &["openapi.json?@example.org 3.", "north {secret:PAY}"]),
            start("boom", "boom"),
            ended("boom", 4, &[&place, no_mail]),
            step("segno inspect boom/0", 0, &[&place, no_mail]),
        ];
        // Inserts them before the fixed code is written and deployed.
        let at = at.expect("it is continued") - 2;
        script.splice(at..at, again);
        // A saga that is aborted.
        script.extend([
            write("given-up"),
            deploy(),
            // A divergence names the author's line.
            step("segno replay old --module shop", 7, &["diverged after", workflow]),
            start("trip", "trip"),
            confirm("trip", 4, "trip  rejected"),
            ended("trip", 4, &[&format!("nobody goes; saga `s`: `{}` undone", course.activity)]),
            step("segno saga show trip", 0, &["s  undone", "withdraw"]),
            step("segno logs trip/c/s/0", 0, &["withdrawn trip@example.org"]),
        ]);
        script.extend(objects());
        if let Some(shim) = &course.shim {
            script.extend(example(shim));
            script.extend(older(shim));
        }
    }
    script
}
