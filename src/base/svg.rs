//! SVG documents: elements in order, with everything escaped.

use std::fmt::Write;

/// A document that is being written.
pub struct Svg {
    out: String,
    open: Vec<&'static str>,
}

/// Text for an attribute or between tags; characters that XML forbids are left out.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() && !matches!(c, '\t' | '\n' | '\r') => {}
            '\u{fffe}' | '\u{ffff}' => {}
            c => out.push(c),
        }
    }
    out
}

/// A coordinate: at most two digits behind the point.
pub fn num(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

impl Svg {
    /// A white page of this size in pixels.
    pub fn new(width: f64, height: f64, title: &str) -> Svg {
        let mut s = Svg { out: String::new(), open: vec![] };
        let (w, h) = (num(width), num(height));
        let view = format!("0 0 {w} {h}");
        s.start(
            "svg",
            &[
                ("xmlns", "http://www.w3.org/2000/svg"),
                ("width", &w),
                ("height", &h),
                ("viewBox", &view),
                ("font-family", "sans-serif"),
                ("font-size", "12"),
            ],
        );
        s.leaf("title", &[], title);
        s.leaf("rect", &[("width", &w), ("height", &h), ("fill", "white")], "");
        s
    }

    /// Opens an element.
    pub fn start(&mut self, tag: &'static str, attrs: &[(&str, &str)]) {
        self.tag(tag, attrs);
        self.out.push_str(">\n");
        self.open.push(tag);
    }

    /// Closes the last element that is open.
    pub fn end(&mut self) {
        if let Some(tag) = self.open.pop() {
            let _ = writeln!(self.out, "{}</{tag}>", "  ".repeat(self.open.len()));
        }
    }

    /// An element with nothing or a text in it.
    pub fn leaf(&mut self, tag: &'static str, attrs: &[(&str, &str)], text: &str) {
        self.tag(tag, attrs);
        if text.is_empty() {
            self.out.push_str("/>\n");
        } else {
            let _ = writeln!(self.out, ">{}</{tag}>", escape(text));
        }
    }

    fn tag(&mut self, tag: &str, attrs: &[(&str, &str)]) {
        let _ = write!(self.out, "{}<{tag}", "  ".repeat(self.open.len()));
        for (k, v) in attrs {
            let _ = write!(self.out, " {k}=\"{}\"", escape(v));
        }
    }

    /// The document; what is open is closed.
    pub fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.end();
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_escaped_and_closed() {
        let mut s = Svg::new(10.0, 4.5, "a < b & \"c\"");
        s.start("g", &[("id", "x\"y<z")]);
        s.leaf("text", &[], "f<T>\u{0}(é)");
        let text = s.finish();
        assert!(text.contains("<title>a &lt; b &amp; &quot;c&quot;</title>"), "{text}");
        assert!(text.contains("<g id=\"x&quot;y&lt;z\">"), "{text}");
        assert!(text.contains("<text>f&lt;T&gt;(é)</text>"), "{text}");
        assert!(text.trim_end().ends_with("</g>\n</svg>"), "{text}");
        assert_eq!((num(1.0), num(-0.001), num(2.346)), ("1".into(), "0".into(), "2.35".into()));
    }
}
