//! One target of `tests::fuzz` under AFL++, or its seeds as files: see `fuzz/run`.
//!
//! ```text
//! segno-fuzz TARGET                  takes inputs from AFL++
//! segno-fuzz TARGET --seeds FOLDER   writes the target's seeds
//! ```

use std::{env, fs, path::Path, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some(target) = words.first().and_then(|name| tests::fuzz::target(name)) else {
        let known = tests::fuzz::TARGETS.map(|target| target.name);
        eprintln!("name a target: {}", known.join(", "));
        return ExitCode::from(2);
    };
    match words[1..] {
        ["--seeds", folder] => {
            fs::create_dir_all(folder).expect("the folder can be made");
            for (number, seed) in (target.seeds)().iter().enumerate() {
                fs::write(Path::new(folder).join(number.to_string()), seed)
                    .expect("a seed is written");
            }
        }
        _ => afl::fuzz!(|bytes: &[u8]| (target.run)(bytes)),
    }
    ExitCode::SUCCESS
}
