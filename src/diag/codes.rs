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
        "The lexer met a character outside the language, a number stuck to letters such as `32x`, an integer over 64 bits, a string that does not end on its line, or an operator of another language. A float has digits on both sides of its dot, so that `1..4` is a range:\n\n    const EPS = 1.;      // error: write 1.0\n    const HALF = .5;     // error: write 0.5\n    let n = 2 & mask;    // error: `&&` on conditions, `bit_and` on integer tensors\n\nThe lexer goes on with the token that was most likely meant, so one bad token is one message.";
    Syntax = "0103", "syntax-error", Error, "the text does not fit the grammar",
        "The parser expected something else here. It goes on at the next statement or item, so that independent errors are reported in one run, at most one for each line.\n\n    let a = x * ;        // error: expected an expression, found `;`\n    let b = f(x y);      // error: expected `,` after `x`\n    const N = 4          // error: expected `;` after `4`\n\nNames that a skipped statement would have declared count as declared.";
    Unclosed = "0104", "unclosed-bracket", Error, "a bracket or brace has no partner",
        "A `(`, `[` or `{` is not closed before the next statement, item or the end of the file, or a closing one closes nothing. Where the braces of a file do not balance, their indentation tells which one was meant, and the message points at that one.\n\n    let a = reshape(x, [M, N);    // error: `[` is not closed before `)`\n    func f(x: f32[4]) {           // error: `{` is not closed before the next item\n        x\n    func g(x: f32[4]) { x }";
    TooDeep = "0105", "nested-too-deep", Error, "expressions or blocks are nested too deeply",
        "Nesting is limited, to 200 brackets and blocks and to 500 operations of one expression, so that no input can exhaust the stack. Name parts with `let` to flatten it:\n\n    let low = a0 + a1 + a2;\n    let high = a3 + a4 + a5;\n    low + high";
    FileNotFound = "0106", "file-not-found", Error, "a file named by `use` or `config` does not exist or cannot be read",
        "Paths in `use \"f.tf\"` and `config c = \"f.json\"` are relative to the file that names them.";
    ReservedWord = "0107", "reserved-word", Error, "a word of other languages that `.tf` does not have",
        "`if`, `else`, `while`, `loop`, `fn`, `struct`, `def`, `break` and `continue` are reserved to say what to write instead:\n\n    if n < 4 { a } else { b }     // n is a dim or const: match n { 0..=3 => a, _ => b }\n    if mask { a } else { b }      // mask is a tensor:    where(mask, a, b)\n    while i < n { }               // for i in 0..n { }\n    fn f(x: f32[4]) { x }         // func f(x: f32[4]) { x }\n\nA loop makes all its trips, so there is no `break`: give `for` a shorter range.";
    MisplacedDoc = "0108", "misplaced-doc", Warning, "a doc comment that documents nothing",
        "`///` documents the item after it, and `//!` at the top of a file documents the file. Anywhere else they are kept as comments, but no tool shows them. Use `//` there:\n\n    func f(x: f32[4]) -> f32[4] {\n        /// twice x               // warning: no item follows; write `// twice x`\n        x + x\n    }";
    FileTooLarge = "0109", "file-too-large", Error, "a source file is larger than 4 GiB",
        "Positions in a source file are 32 bits wide. Data belongs into a weight or a config file, not into the program.";
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
