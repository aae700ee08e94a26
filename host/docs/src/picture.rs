//! A picture in a page. Browsers load it lazily and reserve its space before.

use crate::{contents::PICTURES, escape::escaped};

/// Renders the picture at `address` on the site, with its description, as HTML.
pub(crate) fn picture(address: &str, description: &str) -> String {
    let size = PICTURES.iter().find(|file| address.ends_with(file_name(file.path)));
    let size = size.and_then(|file| png_size(file.bytes).or_else(|| svg_size(file.bytes)));
    let size = size
        .map_or(String::new(), |(width, height)| format!(" width=\"{width}\" height=\"{height}\""));
    let (address, description) = (escaped(address), escaped(description));
    format!("<img src=\"{address}\" alt=\"{description}\"{size} loading=\"lazy\">")
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Width and height in pixels: two four-byte numbers at the beginning of the first chunk.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    bytes.starts_with(b"\x89PNG").then(|| Some((number(16)?, number(20)?))).flatten()
}

/// Width and height, from attributes of the first element.
fn svg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let (element, _) = std::str::from_utf8(bytes).ok()?.strip_prefix("<svg ")?.split_once('>')?;
    let number = |name: &str| element.split_once(name)?.1.split_once('"')?.0.parse().ok();
    Some((number(" width=\"")?, number(" height=\"")?))
}

#[cfg(test)]
mod tests {
    use super::{picture, png_size, svg_size};

    #[test]
    fn the_size_of_a_picture_is_known_before_it_is_loaded() {
        let html = picture("images/console-execution.png", "The \"console\"");
        assert!(html.contains("alt=\"The &quot;console&quot;\""), "{html}");
        assert!(html.contains("width=\"1180\" height=\"1020\""), "{html}");
        assert_eq!(png_size(b"\x89PNG"), None);
        assert_eq!(svg_size(b"<svg x=\"y\" width=\"70\" height=\"5\"><a/>"), Some((70, 5)));
        assert_eq!(svg_size(b"<svg viewBox=\"0 0 1 1\">"), None);
    }
}
