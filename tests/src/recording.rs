//! Renders a terminal session that a test has run as an animated SVG, one screen after the other.

use std::fmt::Write as _;

/// Width of the terminal, in characters.
pub const COLUMNS: usize = 80;
/// Height of the terminal, in lines.
const ROWS: usize = 24;
/// Width of a character and height of a line, in pixels.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 19.0;
/// Pixels around the text. The space above the text holds the buttons of the window.
const MARGIN: f64 = 16.0;
const TOP: f64 = 40.0;

const STYLE: &str = "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#e6e1dc;white-space:pre}\
    .b{font-weight:700}.d{fill:#948d88}.c{fill:#7cc7d6}.g{fill:#8fc77f}.r{fill:#f08a8a}.y{fill:#e3c07b}.m{fill:#e39ac2}\
    .s{opacity:0}";

/// A recorded session.
#[derive(Default)]
pub struct Recording {
    lines: Vec<Vec<Span>>,
    screens: Vec<(Vec<Vec<Span>>, u32)>,
}

/// Characters with the same style.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Span {
    classes: String,
    text: String,
}

impl Recording {
    /// Prints a typed command, and shows it for 900 ms.
    pub fn types(&mut self, command: &str) {
        self.print(&format!("\u{1b}[35m$\u{1b}[0m \u{1b}[1m{command}\u{1b}[0m\n"));
        self.shows(900);
    }

    /// Prints the output of a program, with the colours of its escape sequences.
    pub fn print(&mut self, printed: &str) {
        for line in printed.trim_end_matches('\n').split('\n') {
            self.lines.extend(wrapped(spans(line.trim_end_matches('\r'))));
        }
    }

    /// Shows the current screen for `ms` milliseconds.
    pub fn shows(&mut self, ms: u32) {
        let first = self.lines.len().saturating_sub(ROWS);
        self.screens.push((self.lines[first..].to_vec(), ms));
    }

    /// The session as an SVG.
    pub fn svg(&self, title: &str) -> String {
        let width = WIDTH * COLUMNS as f64 + 2.0 * MARGIN;
        let height = HEIGHT * ROWS as f64 + TOP + MARGIN;
        let whole: u32 = self.screens.iter().map(|(_, ms)| ms).sum();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}",
            escaped(title)
        );
        let mut at = 0;
        for (number, (_, ms)) in self.screens.iter().enumerate() {
            let [from, to] = [at, at + ms].map(|at| f64::from(at) * 100.0 / f64::from(whole));
            at += ms;
            let _ = write!(
                svg,
                "\n@keyframes k{number}{{0%{{opacity:0}}{from:.3}%{{opacity:1}}{to:.3}%{{opacity:0}}}}#s{number}{{animation:k{number} {whole}ms step-end infinite}}"
            );
        }
        let _ = write!(
            svg,
            "\n@media (prefers-reduced-motion:reduce){{.s{{animation:none!important}}#s{}{{opacity:1}}}}</style>\n<rect width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"#1d1a1f\"/>",
            self.screens.len().saturating_sub(1)
        );
        for (number, colour) in ["#f08a8a", "#e3c07b", "#8fc77f"].into_iter().enumerate() {
            let x = MARGIN + 6.0 + 20.0 * number as f64;
            let _ = write!(svg, "<circle cx=\"{x}\" cy=\"18\" r=\"6\" fill=\"{colour}\"/>");
        }
        for (number, (lines, _)) in self.screens.iter().enumerate() {
            let _ = write!(svg, "\n<g class=\"s\" id=\"s{number}\">");
            for (row, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
                let y = TOP + HEIGHT * row as f64 + 12.0;
                let _ = write!(svg, "<text x=\"{MARGIN}\" y=\"{y}\">");
                for Span { classes, text } in line {
                    let text = escaped(text);
                    let _ = match classes.as_str() {
                        "" => write!(svg, "{text}"),
                        classes => write!(svg, "<tspan class=\"{classes}\">{text}</tspan>"),
                    };
                }
                svg += "</text>";
            }
            svg += "</g>";
        }
        svg + "\n</svg>\n"
    }
}

/// Distinct commands that a picture shows, in order.
pub fn commands(svg: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let prompt = "<tspan class=\"m\">$</tspan> <tspan class=\"b\">";
    for after in svg.split(prompt).skip(1) {
        let command = after.split("</tspan>").next().unwrap_or_default();
        let command = command.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    commands
}

/// Splits a line with escape sequences into spans.
fn spans(line: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut classes: Vec<&str> = Vec::new();
    for (number, part) in line.split("\u{1b}[").enumerate() {
        let text = match (number, part.split_once('m')) {
            (0, _) => part,
            (_, Some((codes, rest))) => {
                for code in codes.split(';') {
                    match class(code) {
                        Some(class) => classes.push(class),
                        None => classes.clear(),
                    }
                }
                rest
            }
            (_, None) => "",
        };
        if !text.is_empty() {
            spans.push(Span { classes: classes.join(" "), text: text.to_owned() });
        }
    }
    spans
}

/// CSS class for an escape code. `None` for the plain style.
fn class(code: &str) -> Option<&'static str> {
    Some(match code {
        "1" => "b",
        "2" => "d",
        "31" => "r",
        "32" => "g",
        "33" => "y",
        "35" => "m",
        "36" => "c",
        _ => return None,
    })
}

/// Wraps a line at the width of the terminal.
fn wrapped(spans: Vec<Span>) -> Vec<Vec<Span>> {
    let (mut lines, mut line, mut column) = (Vec::new(), Vec::new(), 0);
    for Span { classes, text } in spans {
        let mut rest = text.chars();
        loop {
            let part: String = rest.by_ref().take(COLUMNS - column).collect();
            column += part.chars().count();
            if !part.is_empty() {
                line.push(Span { classes: classes.clone(), text: part });
            }
            if rest.as_str().is_empty() {
                break;
            }
            lines.push(std::mem::take(&mut line));
            column = 0;
        }
    }
    lines.push(line);
    lines
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_classes_and_long_lines_are_wrapped() {
        let mut recording = Recording::default();
        recording.types("segno why a<b");
        recording.print(&format!("\u{1b}[2mdim\u{1b}[0m {}\n", "x".repeat(COLUMNS)));
        recording.shows(500);
        let svg = recording.svg("A & B");
        assert!(svg.contains("<title>A &amp; B</title>"), "{svg}");
        assert!(svg.contains("<tspan class=\"d\">dim</tspan>"), "{svg}");
        assert_eq!(commands(&svg), ["segno why a<b"]);
        let lines = &recording.screens[1].0;
        let text = |line: &Vec<Span>| line.iter().map(|span| span.text.clone()).collect::<String>();
        assert_eq!(lines.iter().map(text).map(|line| line.len()).collect::<Vec<_>>(), [15, 80, 4]);
    }
}
