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
    // 05xx: analysis
    UnboundDim = "0501", "unbound-dim", Error, "an analysis needs a value that was not given",
        "Costs are counted at stated sizes, so every dim a program uses needs a value: `--dim ctx=4096`, or several to sweep, `--dim ctx=128,4096`.";
    DimOutOfRange = "0502", "dim-out-of-range", Error, "a dim has a value outside its range, or one that no `match` arm takes",
        "The declaration `dim ctx in 1..=8192` bounds the values for which the program is checked and means something. Choose a value inside, or widen the declaration.";
    TripsUnbounded = "0503", "trips-unbounded", Error, "a loop's trips depend on data without a range",
        "The number of trips is read from a tensor whose values have no stated range, so that nothing bounds the cost. Declare one, `lens: i32[B] range 0..=4096`, or state the value for this analysis, `--value lens=4096`.";
    CapacityExceeded = "0504", "capacity-exceeded", Error, "the values live at once do not fit their storage",
        "A storage has a capacity for each of its owners: shared memory for a CTA, the register file and 255 registers for the threads that run on it, global memory for the device. The message names the op at the peak and every value live there, largest first; values share an owner from their definition to their last use. Split finer, take a smaller tile or a shallower ring, or move a value to a larger storage.";
    CountOverflow = "0505", "count-overflow", Error, "a count does not fit 128 bits",
        "Sizes are so large that exact integers overflow. Check the extents and trip counts of the program at the stated dims.";
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
