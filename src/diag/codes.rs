//! The only list of diagnostic codes. A released code is never reused.

use super::Level;

/// The groups of codes: the first two digits, and what they are about.
pub const GROUPS: &[(&str, &str)] = &[
    ("01", "Files and syntax"),
    ("02", "Names, types, shapes"),
    ("03", "Placement, meshes, hints, twins"),
    ("04", "Evaluation and check"),
    ("05", "Analysis"),
];

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
    /// Whether it is of the group with these first two digits.
    pub fn in_group(self, digits: &str) -> bool {
        self.id().get(2..4) == Some(digits)
    }

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
        "Call position looks up functions of this file, imports, and the ops of the registry. The message offers the nearest one. The book's page of ops lists them all.";
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
    DimOutOfRange = "0501", "dim-out-of-range", Error, "a dim has a value outside its range",
        "The declaration `dim ctx in 1..=8192` bounds the values for which the program is checked and means something. Choose a value inside, or widen the declaration.";
    TripsUnbounded = "0502", "trips-unbounded", Error, "a loop's trips depend on data without a range",
        "The number of trips is read from a tensor whose values have no stated range, so that nothing bounds the cost. Declare one, `lens: i32[B] range 0..=4096`.";
    CapacityExceeded = "0503", "capacity-exceeded", Error, "the values live at once do not fit their storage",
        "A storage has a capacity for each of its owners: shared memory for a CTA, the register file and 255 registers for the threads that run on it, global memory for the device. The message names the op at the peak and every value live there, largest first; values share an owner from their definition to their last use. Split finer, take a smaller tile or a shallower ring, or move a value to a larger storage.";
    CountOverflow = "0504", "count-overflow", Error, "a count is too large to be exact",
        "Counts are exact integers up to 2^100. A program whose work or bytes go beyond has an extent or a number of trips that was not meant; check the sizes it is analysed at.";
    GridNotResident = "0505", "grid-not-resident", Error, "a grid with a barrier cannot be resident at once",
        "`complete` over an axis of the launch grid, and the seams between blocks that `#[fuse]` joins, make all positions wait for each other. A position that has not started because the units are full would be waited for for ever, so the whole grid must fit at once: by shared memory, registers, threads and the limit of positions per unit. Use fewer positions, smaller ones, or a second launch.";

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
        "Programs are run and their costs counted at stated sizes, so every dim a program uses needs one: `--dim ctx=4096`, or several to sweep, `--dim ctx=128,4096`.";
    BadStep = "0411", "bad-step", Error, "a loop has a step below 1",
        "Loops count upwards; the step must be at least 1 whenever the loop runs.";
    UnknownOutput = "0420", "unknown-output", Error, "a judgement names an output that does not exist",
        "Outputs are `output`, or `output[0]`, `output[1].name` of a tuple, or the name of an `inout` parameter. The message lists them.";
    UnjudgedOutput = "0421", "unjudged-output", Error, "an output is judged by no predicate",
        "Every output must be judged; there is no default predicate and no default tolerance. `--suggest` prints what could be asked of each.";
    BadPredicate = "0422", "bad-predicate", Error, "a predicate does not suit an output, or is not complete",
        "`equal` is the only tolerance for integers and bools; `ulp` needs a float dtype; bounds must be numbers that are not negative.";
    BindInput = "0423", "bind-input", Error, "the tensors given do not match the parameters",
        "Files bind to parameters by position, or one file by the names of its tensors; `--expected` likewise, to `output`, or `output[0]`, `output[1]` of a tuple. The message lists what is missing and what is left over.";
    NoReference = "0424", "no-reference", Error, "a predicate needs a reference and there is none",
        "Only `finite` looks at one side. Give `--expected`, or check a twin against its module.";
    UnknownImport = "0213", "unknown-import", Error, "an import names nothing that exists",
        "`use std::nn::{softmax};` imports functions of the standard library, `use \"f.tf\" as f;` another file. Ops need no import.";
    ImportCycle = "0214", "import-cycle", Error, "a file imports itself, directly or through others",
        "Files that need each other's items belong into one file, or the shared items into a third.";
    DeclaredTwice = "0215", "declared-twice", Error, "a name is declared twice in one place",
        "Names of a file, of a module, and of the axes of a mesh are unique. A `let` may shadow an earlier one.";
    BadDim = "0216", "bad-dim", Error, "the bounds of a dim do not fit",
        "A dim has constant, inclusive bounds that are not negative: `dim ctx in 1..=8192;`.";
    NotConstant = "0217", "not-constant", Error, "something that must be known at compile time is not",
        "Consts, extents, patterns and attributes are folded while the program is read. Data may be used as a number only in subscripts and loop bounds, and then needs a `range`.";
    ConstCycle = "0218", "const-cycle", Error, "a const is defined by itself",
        "The consts on the way form a circle; one of them must be given a value.";
    LiteralRange = "0219", "literal-range", Warning, "a literal is no value of the dtype it takes",
        "A literal takes the other operand's dtype. `x * 1e6` with x in f16 multiplies by infinity, and `i * 0.5` with i in i32 by 0; `i + 200` with i in i8 adds -56. Cast the tensor first.";
    NotANumber = "0220", "not-a-number", Error, "a number was expected",
        "Subscripts, extents and loop bounds are integers. A rank-0 integer tensor counts as one where its source is a parameter with a range: `lens: i32[B] range 1..=4096`.";
    TooLarge = "0221", "too-large", Error, "a tensor has more elements than can be counted safely",
        "Element counts are limited to 2^46, so that bytes and work fit 64 bits.";
    DivByZero = "0222", "division-by-zero", Error, "a division of numbers by what may be zero",
        "Bound the divisor: a `dim` starts at 1, or a `match` arm excludes 0.";
    InexactExtent = "0223", "inexact-extent", Error, "a division in an extent is not exact",
        "In a type's extent `/` must divide exactly; `ceil_div(a, b)` rounds up.";
    BadExtent = "0224", "bad-extent", Error, "an extent is negative, or a mesh axis is empty",
        "Extents are zero or more; a mesh axis has at least one position.";
    VaryingExtent = "0225", "varying-extent", Error, "an extent depends on a coordinate, a loop variable or data",
        "Extents never vary. A range of varying length is walked in windows of one length: `for w in tile(a..b, 64, pad = 0.0)`, where `w.valid` tells which elements exist.";
    WindowBounds = "0226", "window-bounds", Error, "a subscript reaches outside the tensor",
        "Subscripts are checked for every value of the dims, coordinates and loop variables. Where the bounds cannot be decided they are checked when the program is evaluated.";
    Recursion = "0227", "recursion", Error, "a function calls itself",
        "Calls are pasted where they stand, so there is no recursion. A `for` loop repeats.";
    InoutMismatch = "0228", "inout-mismatch", Error, "`inout` at a call and in the declaration differ",
        "A parameter that a function updates is marked in both places: `func step(inout kc: T)` and `step(inout kc)`.";
    InoutOverlap = "0229", "inout-overlap", Error, "two inout arguments of one call overlap",
        "Each inout argument is one buffer that the call may write; two of them must not share elements.";
    BadReturn = "0230", "bad-return", Error, "a body does not give the declared result",
        "The last expression of a block, without `;`, is its value.";
    BadBoundary = "0231", "bad-boundary", Error, "an entry or pub function has a signature that no caller outside can use",
        "Boundaries take tensors and return tensors. Symbolic extents are dims, not generics; numbers are dims or consts.";
    NoValue = "0232", "no-value", Error, "a statement without a value is bound to a name",
        "A `for`, and a block whose last expression ends in `;`, have no value.";
    BadPattern = "0233", "bad-pattern", Error, "a pattern does not fit the value",
        "`let (a, b) = e;` takes a tuple of two. `_` drops a part.";
    BadAssign = "0234", "bad-assignment", Error, "the left side cannot be assigned",
        "A `let mut` variable, an `inout` parameter, or a window of one stands left of `=`.";
    NotMutable = "0235", "not-mutable", Error, "a name is assigned that is not `mut`",
        "`let mut acc = ..` declares a variable; a parameter is updated when it is `inout`.";
    NumberCarried = "0236", "number-carried", Error, "a compile-time number changes in a loop or block",
        "Numbers are folded while the program is read. What changes from trip to trip is a tensor, or the loop's own variable.";
    NonExhaustive = "0237", "non-exhaustive-match", Error, "a match does not cover all values",
        "The arms of a `match` cover the value's bounds exactly. The message names the first range that is missing.";
    UnreachableArm = "0238", "unreachable-arm", Warning, "an arm of a match is never chosen",
        "Earlier arms, or the bounds of the matched value, leave nothing for it.";
    // 03xx: placement, meshes, hints, twins
    BadPlacement = "0301", "bad-placement", Error, "a placement does not fit where it stands",
        "A placement is a storage with one entry for each axis: `rmem[4096 @ g.row, 2048]`. It stands after `in`, or as the second argument of `reshard`.";
    BadSplit = "0302", "bad-split", Error, "the factors of an axis do not multiply to its extent",
        "`(8 @ g.row, 16, 32 @ t.row)` is an axis of 4096, major factor first. `pad(..)` allows the product to be larger.";
    Indivisible = "0303", "indivisible", Error, "a split or tiling does not divide evenly",
        "A padded split, `pad(11, 256 @ t.x)`, covers an axis of 2688 with 2816 slots: the tail does not exist logically and costs count it. For a loop, `tile(r, 64, pad = v)` lets the last window run past the end.";
    UnknownLevel = "0304", "unknown-level", Error, "a mesh is made over a level that the topology does not have",
        "`topology cta = 132, thread = 256;` names the levels of the target that the module uses, coarse to fine.";
    UnknownAxis = "0305", "unknown-axis", Error, "a mesh has no axis of this name",
        "A mesh names its axes where it is declared: `mesh g = cta[row: 8, col: 32]`.";
    MeshTooLarge = "0306", "mesh-too-large", Error, "a mesh has more positions than its topology",
        "The product of a mesh's axes is at most the extent of the level. A smaller mesh uses the first positions.";
    SplitConflict = "0307", "split-conflict", Error, "two operands are split in ways that do not fit together",
        "Operands that share a dimension are split alike there, or are whole; one mesh axis splits one dimension. `reshard` settles it:\n\n    a                                   // f32[64, 64] in rmem[64 @ g.p, 64]\n    b                                   // f32[64, 64] in rmem[64, 64 @ g.p]\n    a + b                               // error: g.p splits axis 0 of a and axis 1 of b\n    a + reshard(b, rmem[64 @ g.p, 64])";
    SplitReshape = "0308", "split-reshape", Error, "a reshape cuts through a split factor",
        "A reshape of a split axis is legal where the new axes end at factor boundaries. Write the axis in factors, major to minor, of which some at the end multiply to the new axis. An axis of 7168 that is to become 56 blocks of 128, over 8 warps of 32 lanes:\n\n    reshard(x, rmem[ROWS @ g.row, 7168 @ (t.warp, t.lane)])            // error: 256 positions of 28 neighbours\n    reshard(x, rmem[ROWS @ g.row, (7, 8 @ t.warp, 32 @ t.lane, 4)])    // 32 lanes of 4 are one block of 128\n\nA library function that works on groups (`quantize_groups`, `rope`) reshapes inside; the message shows where.";
    NeedsWhole = "0309", "needs-whole", Error, "an op needs an axis whole that is split",
        "Sorting, argmax and cumulative sums have no partial form, and windows are taken of whole axes. Gather the value first.";
    PartialOperand = "0310", "partial-operand", Error, "a value that is not fully reduced is used where that would be wrong",
        "A reduction over a split axis gives a partial value, never silently a complete one: each position has its part. `complete(x)` finishes it, and does nothing where nothing is partial. Sums pass through linear operations, max and min through monotone ones; everything else, a `cast` included, wants the finished value:\n\n    let s = sum(x, dim = -1);           // x is split along its last axis\n    exp(s)                              // error\n    exp(complete(s))\n\nA sum that a loop carries is completed once, after the loop.";
    LoopPlacement = "0311", "loop-placement", Error, "a carried variable changes its placement in a loop",
        "A variable has one placement for all trips. Annotate it, or reshard what is assigned.";
    LeavesVarying = "0312", "leaves-varying", Error, "a value that differs between positions would leave its mesh",
        "Each position has a value of its own. Write it into a window of an outer value, or `collect` the positions' values into one.";
    LeavesSplit = "0313", "leaves-split", Error, "a value that is split, partial or local would leave its mesh",
        "What leaves a mesh is whole, complete and in gmem. The last line of a block is usually `reshard(x, gmem)`, which finishes a partial value too, and of two results `(reshard(a, gmem), reshard(b, gmem))`.";
    PlacementMismatch = "0314", "placement-mismatch", Error, "an annotation disagrees with the placement a value has",
        "An annotation places a result that nothing else places, and otherwise asserts; only `reshard` moves values.";
    UnknownHint = "0315", "unknown-hint", Error, "there is no hint of this name",
        "Hints say how, never what: via, buffers, atom, unroll, regs, fuse, persistent.";
    BadHint = "0316", "bad-hint", Error, "a hint's arguments do not fit",
        "Each hint has one form, such as `#[atom(wgmma, n = 256)]`; the target says which instructions exist.";
    UnusedHint = "0317", "unused-hint", Warning, "a hint applies to nothing",
        "A hint stands before the statement whose ops it is for.";
    BadTwin = "0318", "bad-twin", Error, "a twin does not match its module",
        "A twin has exactly the entry and pub functions and the children of its module, with the same parameters.";
    BadKernel = "0319", "bad-kernel", Error, "an extern kernel or its launch does not fit",
        "Every tensor parameter of an extern kernel says `in`, `out` or `inout`; scalars are u32, i32, u64, i64 or f32. A launch passes one argument for each.";
    UnknownTarget = "0320", "unknown-target", Error, "there is no target document of this name",
        "`target list` shows the documents; `--target-dir` adds a directory of others.";
    BadTopology = "0321", "bad-topology", Error, "a topology does not fit its target",
        "Levels are those of the target, coarse to fine, and extents stay within the hardware's limits.";
    UnknownStorage = "0322", "unknown-storage", Error, "a storage word does not exist on the target",
        "The storages are host, gmem, smem, rmem and tmem; a target has some of them.";
    WriteOverlap = "0323", "write-overlap", Error, "positions of a mesh certainly write the same elements",
        "`out[window] = tile` is done by every position on which the window or the tile depends, so their windows must not overlap:\n\n    out[g.p * 64..(g.p + 1) * 64] = tile;   // each position its own\n    out[0..64] = tile;                      // refused where tile differs between positions\n    out[g.p * 32..g.p * 32 + 64] = tile;    // refused: neighbours share 32 elements\n\nWhere the indices do not decide, the evaluator watches and names the two positions.";
    MissingImage = "0324", "missing-image", Warning, "the image of a kernel cannot be read",
        "An `extern kernel` names its image by a path relative to the file that declares it. Everything but a run of the twin works without; where the image is there, its header is held against the declaration. The message gives the path that was looked at.";
    BadImage = "0325", "bad-image", Error, "the image of a kernel is no PTX and no cubin",
        "A driver loads PTX text or a cubin of one architecture:\n\n    nvcc -arch=sm_90a -ptx k.cu       // k.ptx\n    nvcc -arch=sm_90a -cubin k.cu     // k.cubin\n\nA fatbin, an object or library of the host, a cubin that is not linked, and compressed files are refused. The message says what the file is.";
    ImageMismatch = "0326", "image-mismatch", Error, "a kernel's image does not fit its declaration",
        "The entry must be in the image, with as many parameters as declared and of the same sizes. A tensor is the address of its first element, 8 bytes; a tensor map is 128 bytes by value, aligned to 64; u32, i32 and f32 take 4 bytes, u64 and i64 take 8:\n\n    extern \"C\" __global__ void k(const __grid_constant__ CUtensorMap x, float *y, unsigned n)\n\n    extern kernel k(x: in tensor_map(f32[M, K], box = [64, 32]), y: out f32[M], n: u32)\n        from \"k.cubin\" entry \"k\";\n\nAn entry whose name begins with `_Z` was compiled without `extern \"C\"`; its whole name is the entry.";
    ImageTarget = "0327", "image-target", Error, "a kernel's image is not for the module's target",
        "A cubin runs on devices of the same major compute capability with the same or a higher minor one. PTX for `sm_90` runs on 9.0 and everything later, for `sm_100f` on its family, and what is built for `sm_90a` on 9.0 alone. PTX of a later version than the driver's is refused by it; a target document may state that version.";
    LaunchMismatch = "0328", "launch-mismatch", Error, "a launch does not keep to what its kernel was compiled for",
        "`__launch_bounds__(256)` limits the threads of a block, `__block_size__` and `.reqntid` fix its extents, and `__cluster_dims__(2, 1, 1)` the cluster, of which the grid is a multiple. The static shared memory of the kernel and the `smem` of the launch together fit what a CTA can have on the target.";
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
        let grouped = |c: &Code| GROUPS.iter().filter(|(d, _)| c.in_group(d)).count() == 1;
        assert!(Code::ALL.iter().all(grouped));
        assert!(Code::ALL.iter().all(|c| !c.summary().is_empty() && c.long().len() > 40));
    }
}
