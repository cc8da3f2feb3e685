//! The only list of diagnostic codes. A released code is never reused.

use super::Level;

/// Declares every code once: variant, number, name, level, summary, long text.
macro_rules! codes {
    ($($id:ident = $num:literal, $name:literal, $level:ident, $summary:literal, $long:literal;)*) => {
        /// A stable diagnostic code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($id),* }

        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$id),*];

            /// `TF0101`.
            pub fn id(self) -> &'static str {
                match self { $(Code::$id => concat!("TF", $num)),* }
            }

            /// A short name in words: `syntax-error`.
            pub fn name(self) -> &'static str {
                match self { $(Code::$id => $name),* }
            }

            pub fn level(self) -> Level {
                match self { $(Code::$id => Level::$level),* }
            }

            /// One line for lists.
            pub fn summary(self) -> &'static str {
                match self { $(Code::$id => $summary),* }
            }

            /// What `explain` prints: why the rule exists, an example, the way out.
            pub fn long(self) -> &'static str {
                match self { $(Code::$id => $long),* }
            }
        }
    };
}

impl Code {
    /// Finds a code by its id (`TF0101`, `0101`, any case) or its name.
    pub fn find(text: &str) -> Option<Code> {
        let t = text.trim();
        Code::ALL
            .iter()
            .copied()
            .find(|c| c.id().eq_ignore_ascii_case(t) || c.id().get(2..) == Some(t) || c.name() == t)
    }
}

codes! {
    // 01xx: files and syntax
    NotUtf8 = "0101", "not-utf8", Error, "a source file is not valid UTF-8",
        "A `.tf` file is UTF-8 text. The message names the offset of the first byte that is not. Convert the file, for example with `iconv -f latin1 -t utf-8`.";
    BadToken = "0102", "bad-token", Error, "a character or literal that the language does not have",
        "The lexer met a character outside the language, a number stuck to letters such as `32x`, or a string that does not end on its line. A float has digits on both sides of its dot: `1.0`, not `1.` or `.5`.";
    Syntax = "0103", "syntax-error", Error, "the text does not fit the grammar",
        "The parser expected something else here. It goes on at the next statement or item, so that independent errors are reported in one run.";
    Unclosed = "0104", "unclosed-bracket", Error, "a bracket or brace is not closed",
        "A `(`, `[` or `{` has no partner before the next item or the end of the file. Where indentation tells which brace was meant, the message points at that one.";
    TooDeep = "0105", "nested-too-deep", Error, "expressions or blocks are nested too deeply",
        "Nesting is limited so that no input can exhaust the stack. Name parts with `let` to flatten it.";
    FileNotFound = "0106", "file-not-found", Error, "a file named by `use` or `config` does not exist or cannot be read",
        "Paths in `use \"f.tf\"` and `config c = \"f.json\"` are relative to the file that names them.";
    ReservedWord = "0107", "reserved-word", Error, "a word of other languages that `.tf` does not have",
        "`if`, `else`, `while`, `loop`, `fn`, `struct`, `def`, `break` and `continue` are reserved to say what to write instead: `match` on compile-time values, `where` on tensors, `for` with a range, `func`.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_are_unique() {
        let mut ids: Vec<_> = Code::ALL.iter().map(|c| c.id()).collect();
        let mut names: Vec<_> = Code::ALL.iter().map(|c| c.name()).collect();
        ids.sort_unstable();
        names.sort_unstable();
        assert!(ids.windows(2).all(|w| w[0] != w[1]));
        assert!(names.windows(2).all(|w| w[0] != w[1]));
        assert!(Code::ALL.iter().all(|c| !c.summary().is_empty() && c.long().len() > 40));
    }
}
