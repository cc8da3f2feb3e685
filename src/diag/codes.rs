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
    // 02xx: names, types, shapes
    Internal = "0200", "internal", Error, "the compiler met a state it believes impossible",
        "This is a defect of the compiler, not of the program. The message says where; please report it with the program.";
    UnknownName = "0201", "unknown-name", Error, "a name is not declared here",
        "The name is neither a parameter, a `let`, a const, a dim, a weight of this module, nor an import. The message offers the nearest name. Ops need no `use`; functions of the standard library do: `use std::nn::{softmax};`.";
    UnknownOp = "0202", "unknown-op", Error, "a call names no op and no function",
        "Call position looks up functions of this file, imports, and the ops of the registry. The message offers the nearest one. `spec ops` lists the ops.";
    UnknownAttr = "0203", "unknown-attribute", Error, "a call gives an attribute that the op or function does not have",
        "Attributes are given by name, `sum(x, dim = -1, keepdim = true)`. The message lists those that exist.";
    BadArgs = "0204", "bad-arguments", Error, "a call has too many, too few or unfitting arguments",
        "Tensors and the one obvious attribute are positional, every other attribute is `name = value`. The message shows the signature.";
    DTypeMismatch = "0205", "dtype-mismatch", Error, "two dtypes that must agree differ",
        "There is no implicit conversion: `cast(x, bf16)` converts. A literal takes the other operand's dtype.";
    ShapeMismatch = "0206", "shape-mismatch", Error, "two shapes that must agree differ",
        "Elementwise operators broadcast right-aligned: extents must be equal or 1. Other ops state their own rule. Both shapes are shown with the axis at fault.";
    RankMismatch = "0207", "rank-mismatch", Error, "a tensor has the wrong number of axes",
        "The message gives the rank expected and found. `unsqueeze`, `squeeze` and `reshape` change a rank.";
    ReshapeSize = "0208", "reshape-size", Error, "a reshape would change the number of elements",
        "The product of the new extents must equal that of the old ones, for every value of the dims.";
    Undecided = "0209", "undecided-extent", Error, "whether two extents agree cannot be decided",
        "Shapes must agree for every value of the dims. Both expressions are shown. Write both with the same dims, or bound a dim by a `match`.";
    BadDType = "0210", "bad-dtype", Error, "an op does not take this dtype",
        "The message says which dtypes the op takes. `cast` converts first.";
    BadAxis = "0211", "bad-axis", Error, "an axis number is outside the tensor's rank",
        "Axes run from 0 to rank - 1, or from -rank to -1 counted from the end.";
    BadAttr = "0212", "bad-attribute", Error, "an attribute's value does not fit",
        "The message says what the attribute takes.";

    // 04xx: evaluation and check
    WriteConflict = "0401", "write-conflict", Error, "two positions of a mesh write one element",
        "Inside a mesh every position writes its own window of a buffer, and windows of different positions must not overlap: on a device the last writer would win by chance. The message names both positions, the buffer and the element. Give each position its own part, or use `collect` and a reduction. Later iterations of one position may overwrite what it wrote itself.";
    UninitRead = "0402", "uninitialised-read", Error, "an element is read that nobody wrote",
        "`empty` starts a buffer whose elements have no value. Some element of it was not written by any window write before this use. Start with `zeros`, or make the windows cover the buffer.";
    WindowOutOfBounds = "0403", "window-out-of-bounds", Error, "a subscript lies outside the tensor",
        "An index or window passes the end of its axis, or starts below 0. Where bounds cannot be proved they are checked while the program runs. `tile(r, N, pad = v)` lets the last window run past the end.";
    ValueOutOfRange = "0404", "value-out-of-range", Error, "a value lies outside its declared range",
        "A parameter declared with `range lo..hi` promises its values to the program: indices, proofs of bounds and random inputs rely on it. The message gives the value found.";
    EvalFailed = "0405", "evaluation-failed", Error, "an operation has no result for these operands",
        "The operation met operands for which it is not defined, such as an integer division by zero or an index that data made too large. The message says which and where.";
    ReadBack = "0406", "read-of-another-position", Error, "a position reads an element that another one wrote",
        "Inside a mesh block a position may read back only what it wrote itself: nothing orders it after the others. End the block, or use `collect` and `complete`, which imply a barrier.";
    CollectInLoop = "0407", "collect-in-varying-loop", Error, "a `collect` stands in a loop whose bounds depend on the positions it collects",
        "All positions must reach a `collect` together, as they must a barrier. A loop whose trips differ between those positions cannot contain it.";
    BadInput = "0408", "bad-input", Error, "an input does not fit its parameter",
        "The dtype, the shape or the number of the inputs differs from what the function declares at the sizes it runs at. Declared and actual are both shown.";
    NoArm = "0409", "no-arm", Error, "no arm of a `match` covers the value",
        "The arms of a `match` cover the bounds of the dim they were written for; the size given lies outside.";
    UnboundDim = "0410", "unbound-dim", Error, "a size is not stated",
        "Evaluation needs a number for every dim that the program uses: `--dim ctx=128`.";
    BadStep = "0411", "bad-step", Error, "a loop has a step below 1",
        "Loops count upwards; the step must be at least 1 whenever the loop runs.";
    UnknownOutput = "0420", "unknown-output", Error, "a judgement names an output that does not exist",
        "Outputs are `output`, or `output[0]`, `output[1].name` of a tuple, or the name of an `inout` parameter. The message lists them.";
    UnjudgedOutput = "0421", "unjudged-output", Error, "an output is judged by no predicate",
        "Every output must be judged; there is no default predicate and no default tolerance. `--suggest` prints what could be asked of each.";
    BadPredicate = "0422", "bad-predicate", Error, "a predicate does not suit an output, or is not complete",
        "`equal` is the only tolerance for integers and bools; `ulp` needs a float dtype; bounds must be numbers that are not negative.";
    BindInput = "0423", "bind-input", Error, "the tensors given do not match the parameters",
        "Files bind to parameters by position, or one file by the names of its tensors. The message lists what is missing and what is left over.";
    NoReference = "0424", "no-reference", Error, "a predicate needs a reference and there is none",
        "Only `finite` looks at one side. Give `--expected`, or check a twin against its module.";
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
