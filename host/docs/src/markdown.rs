//! Renders a document to HTML and collects its headings and its text by heading.

use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};

use crate::{
    anchor::Anchors,
    code,
    contents::Document,
    escape::escaped,
    link::{LinkTarget, target},
    picture::picture,
};

/// A rendered document.
#[derive(Debug, Default)]
pub(crate) struct RenderedDocument {
    /// The content as HTML, including its first heading.
    pub(crate) html: String,
    /// The headings, in order; the first is the title.
    pub(crate) headings: Vec<Heading>,
    /// Targets of links that the site does not have.
    pub(crate) missing: Vec<String>,
}

/// A heading, and the text up to the next one.
#[derive(Debug)]
pub(crate) struct Heading {
    /// The level; 1 for the title.
    pub(crate) level: u8,
    pub(crate) text: String,
    /// The anchor for links.
    pub(crate) anchor: String,
    /// The text below it, without markup.
    pub(crate) passage: String,
}

pub(crate) fn render(document: &'static Document) -> RenderedDocument {
    let mut reader = DocumentRenderer {
        document,
        events: Parser::new_ext(document.markdown, Options::ENABLE_TABLES),
        anchors: Anchors::default(),
        links: Vec::new(),
        written: Vec::new(),
        rendered: RenderedDocument::default(),
    };
    while let Some(event) = reader.events.next() {
        reader.read(event);
    }
    let DocumentRenderer { written, mut rendered, .. } = reader;
    html::push_html(&mut rendered.html, written.into_iter());
    rendered
}

struct DocumentRenderer {
    document: &'static Document,
    events: Parser<'static>,
    anchors: Anchors,
    /// The currently open links. True if the link has a target on the site.
    links: Vec<bool>,
    written: Vec<Event<'static>>,
    rendered: RenderedDocument,
}

impl DocumentRenderer {
    fn read(&mut self, event: Event<'static>) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => self.heading(level),
            Event::Start(Tag::CodeBlock(kind)) => self.code(&kind),
            Event::Start(Tag::Image { dest_url, .. }) => self.picture(&dest_url),
            Event::Start(Tag::Link { dest_url, .. }) => self.link(&dest_url),
            Event::End(TagEnd::Link) => {
                let leads = self.links.pop().expect("a link that ends has begun");
                self.write(if leads { "</a>" } else { "</span>" });
            }
            // Aligned columns would get an inline style, which the policy forbids.
            Event::Start(Tag::Table(_)) => {
                self.write(
                    "<div class=\"scroll\" role=\"group\" aria-label=\"Table\" tabindex=\"0\">",
                );
                self.written.push(Event::Start(Tag::Table(Vec::new())));
            }
            Event::End(TagEnd::Table) => {
                self.written.push(event);
                self.write("</div>\n");
            }
            Event::Html(text) | Event::InlineHtml(text) => self.text(Event::Text(text)),
            Event::Text(_) | Event::Code(_) => self.text(event),
            Event::SoftBreak
            | Event::HardBreak
            | Event::End(
                TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell | TagEnd::TableHead,
            ) => {
                self.passage(" ");
                self.written.push(event);
            }
            event => self.written.push(event),
        }
    }

    fn heading(&mut self, level: HeadingLevel) {
        let place = self.written.len();
        let mut text = String::new();
        for event in self.events.by_ref() {
            match &event {
                Event::End(TagEnd::Heading(_)) => break,
                Event::Text(part) | Event::Code(part) => text += part,
                _ => {}
            }
            self.written.push(event);
        }
        let anchor = self.anchors.of(&text);
        let opened = format!("<{level} id=\"{anchor}\">");
        self.written.insert(place, Event::Html(CowStr::from(opened)));
        if level != HeadingLevel::H1 {
            let label = escaped(&text);
            self.write(&format!(
                " <a class=\"anchor\" href=\"#{anchor}\" aria-label=\"Link to: {label}\">#</a>"
            ));
        }
        self.write(&format!("</{level}>\n"));
        let level = level as u8;
        self.rendered.headings.push(Heading { level, text, anchor, passage: String::new() });
    }

    fn code(&mut self, kind: &CodeBlockKind<'_>) {
        let language = match kind {
            CodeBlockKind::Fenced(language) => language.as_ref(),
            CodeBlockKind::Indented => "",
        };
        let code = self.text_until(TagEnd::CodeBlock);
        self.passage(&code);
        self.passage(" ");
        self.write(&code::block(language, &code));
    }

    fn picture(&mut self, link: &str) {
        let description = self.text_until(TagEnd::Image);
        match target(self.document.path, link) {
            LinkTarget::Address(address) => self.write(&picture(&address, &description)),
            LinkTarget::Missing(path) => self.rendered.missing.push(path),
        }
    }

    fn link(&mut self, link: &str) {
        let target = target(self.document.path, link);
        self.links.push(matches!(target, LinkTarget::Address(_)));
        match target {
            LinkTarget::Address(address) => {
                self.write(&format!("<a href=\"{}\">", escaped(&address)));
            }
            LinkTarget::Missing(path) => {
                self.write("<span>");
                self.rendered.missing.push(path);
            }
        }
    }

    fn text(&mut self, event: Event<'static>) {
        if let Event::Text(text) | Event::Code(text) = &event {
            self.passage(&text.clone());
        }
        self.written.push(event);
    }

    fn text_until(&mut self, end: TagEnd) -> String {
        let mut text = String::new();
        for event in self.events.by_ref().take_while(|event| *event != Event::End(end)) {
            if let Event::Text(part) | Event::Code(part) = event {
                text += &part;
            }
        }
        text
    }

    fn passage(&mut self, text: &str) {
        if let Some(heading) = self.rendered.headings.last_mut() {
            heading.passage += text;
        }
    }

    fn write(&mut self, html: &str) {
        self.written.push(Event::Html(CowStr::from(html.to_owned())));
    }
}

#[cfg(test)]
mod tests {
    use super::{Document, render};

    static SMALL: Document = Document {
        name: "Small",
        path: "docs/small.md",
        markdown: "# A `small` page\n\nOne <b>two</b>\nthree.\n\n## Below: it\n\n\
            | a | b |\n|---|--:|\n| [c](reference/api.md#events) | [d](nowhere.md) |\n\n```rust\nx // y\n```\n",
    };

    #[test]
    fn a_document_has_headings_with_their_text_and_no_html_or_style_of_its_own() {
        let rendered = render(&SMALL);
        let headings = rendered.headings.iter();
        let headings: Vec<_> = headings
            .map(|heading| (heading.level, heading.anchor.as_str(), heading.passage.trim()))
            .collect();
        assert_eq!(
            headings,
            [(1, "a-small-page", "One <b>two</b> three."), (2, "below-it", "a b  c d x // y")]
        );
        let html = &rendered.html;
        assert!(html.contains("<h1 id=\"a-small-page\">A <code>small</code> page</h1>"), "{html}");
        assert!(html.contains("&lt;b&gt;two&lt;/b&gt;"), "{html}");
        assert!(html.contains("<a href=\"api.html#events\">c</a>"), "{html}");
        assert!(html.contains("<span>d</span>") && !html.contains("style"), "{html}");
        assert_eq!(rendered.missing, ["docs/nowhere.md"]);
    }
}
