//! The syntax tree. Every node has the span of its text; comments stand beside the tree, in
//! [`File::comments`], and doc comments are attached to their items as well.

use crate::base::Span;

/// An identifier.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    pub text: String,
    pub span: Span,
}

/// `a::b::c`; a plain name is a path of one segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub segs: Vec<Name>,
    pub span: Span,
}

/// A string literal with its escapes resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Str {
    pub value: String,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentKind {
    /// `// ...`
    Line,
    /// `/// ...`, documents the next item.
    Doc,
    /// `//! ...`, documents the file.
    FileDoc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Comment {
    pub kind: CommentKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct File {
    pub items: Vec<Item>,
    /// In source order.
    pub comments: Vec<Comment>,
    /// Text of the `//!` lines.
    pub doc: Option<String>,
    pub span: Span,
}

/// `#[name(args)]`; one `#[a, b(1)]` gives two hints.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    pub name: Name,
    pub args: Vec<Arg>,
    pub span: Span,
}

/// An item of a file, a module or a twin. Which kinds may stand where is the grammar's affair.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub hints: Vec<Hint>,
    /// Text of the `///` lines before it.
    pub doc: Option<String>,
    pub kind: ItemKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// `use std::nn::{a, b};` or `use std::nn::a;` (`names` is absent)
    Use {
        path: Path,
        names: Option<Vec<Name>>,
    },
    /// `use "f.tf" as f;`
    UseFile {
        path: Str,
        alias: Name,
    },
    Config {
        name: Name,
        path: Str,
    },
    Const {
        name: Name,
        value: Expr,
    },
    TypeAlias {
        name: Name,
        ty: Type,
    },
    /// `dim n in 1..=8;` where `range` is [`ExprKind::Range`]
    Dim {
        name: Name,
        range: Expr,
    },
    Func(Func),
    Module {
        name: Name,
        items: Vec<Item>,
    },
    Twin {
        name: Name,
        of: Path,
        items: Vec<Item>,
    },
    // in modules
    Target(Str),
    Topology(Vec<Level>),
    Mesh(Vec<MeshBind>),
    Weight {
        name: Name,
        ty: Type,
        from: Option<Str>,
    },
    // in modules and twins
    Prepare {
        name: Name,
        ty: Type,
        value: Expr,
    },
    /// `child layers: Layer[28] from "model.layers";`
    Child {
        name: Name,
        of: Path,
        count: Option<Expr>,
        from: Option<Str>,
    },
    // in twins
    ExternKernel {
        name: Name,
        params: Vec<KernelParam>,
        from: Str,
        entry: Str,
    },
    /// What recovery skipped; a diagnostic was reported. `names` are those it would have declared.
    Error {
        names: Vec<Name>,
    },
}

/// One level of a topology: `cta = 132`, or `cta` alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub name: Name,
    pub extent: Option<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vis {
    Private,
    Pub,
    Entry,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Func {
    pub vis: Vis,
    pub name: Name,
    pub generics: Vec<Generic>,
    pub params: Vec<Param>,
    /// Absent in twins and in helpers that return nothing.
    pub ret: Option<Type>,
    pub body: Block,
    /// From `func` to the end of the signature.
    pub header: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Generic {
    /// `N`
    Extent(Name),
    /// `T: float`
    DType { name: Name, class: Name },
    /// `..B`
    Pack(Name),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub inout: bool,
    pub name: Name,
    /// Absent only in twins.
    pub ty: Option<Type>,
    pub default: Option<Expr>,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    In,
    Out,
    Inout,
}

#[derive(Clone, Debug, PartialEq)]
pub struct KernelParam {
    pub name: Name,
    /// Absent for scalars.
    pub mode: Option<Mode>,
    pub ty: Type,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    pub kind: TypeKind,
    pub placement: Option<Placement>,
    /// `range 0..V`
    pub range: Option<Box<Expr>>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `f32`, `index`, `Act`: a dtype, a generic, an alias or `index`
    Named(Path),
    /// `bf16[1, H]`; an extent `..B` is [`ExprKind::Range`] with only `hi`
    Tensor {
        head: Path,
        dims: Vec<Expr>,
    },
    /// `(A, B)`
    Tuple(Vec<Type>),
    /// `mesh[w, l]`, the type of a mesh parameter
    Mesh(Vec<Name>),
    /// `tensor_map(bf16[M, K], box = [64, 64])`: a named form with arguments
    Apply {
        head: Path,
        args: Vec<Arg>,
    },
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Storage {
    Host,
    Gmem,
    Smem,
    Rmem,
    Tmem,
}

impl Storage {
    pub const ALL: [Storage; 5] =
        [Storage::Host, Storage::Gmem, Storage::Smem, Storage::Rmem, Storage::Tmem];

    pub fn name(self) -> &'static str {
        match self {
            Storage::Host => "host",
            Storage::Gmem => "gmem",
            Storage::Smem => "smem",
            Storage::Rmem => "rmem",
            Storage::Tmem => "tmem",
        }
    }
}

/// `rmem[4096 @ g.tile, 2048] partial(sum, t.x)`
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    pub storage: Storage,
    pub storage_span: Span,
    /// Factors of each axis; `@` is [`BinaryOp::At`], a factored axis is a tuple or parentheses.
    pub axes: Option<Vec<Expr>>,
    pub suffixes: Vec<Suffix>,
    pub span: Span,
}

/// `swizzle(3, 4, 3)`, `layout (128, (16, 4)):(16, (1, 2048))`, `partial(sum, t.x)`
#[derive(Clone, Debug, PartialEq)]
pub struct Suffix {
    pub name: Name,
    pub args: Vec<Arg>,
    /// After the `:` of a layout.
    pub strides: Option<Vec<Arg>>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub stmts: Vec<Stmt>,
    /// The block's value.
    pub tail: Option<Box<Expr>>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    pub hints: Vec<Hint>,
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    Let {
        pat: Pat,
        ty: Option<Type>,
        value: Expr,
    },
    /// The target is a name or a subscript of one.
    Assign {
        target: Expr,
        value: Expr,
    },
    /// An expression whose value is dropped.
    Expr(Expr),
    Return(Expr),
    Launch(Launch),
    /// What recovery skipped; `names` are those it would have declared.
    Error {
        names: Vec<Name>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    pub kernel: Path,
    pub args: Vec<Arg>,
    /// `grid(..)`, `block(..)`, `smem(..)`, `cluster(..)`, `cooperative`
    pub options: Vec<LaunchOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LaunchOption {
    pub name: Name,
    pub args: Vec<Arg>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Pat {
    Name { mutable: bool, name: Name },
    Wild(Span),
    Tuple(Vec<Pat>, Span),
}

/// An argument of a call, a hint, a suffix or an option.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// `name = value`
    pub name: Option<Name>,
    /// `inout x`
    pub inout: bool,
    pub value: Expr,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
    /// Hints before the expression, as in `= #[via(tma)] reshard(..)`.
    pub hints: Vec<Hint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    Neg,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    At,
}

impl BinaryOp {
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
            BinaryOp::At => "@",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Int(i64),
    /// Also `inf` and `nan`.
    Float(f64),
    Bool(bool),
    Str(String),
    Path(Path),
    /// `[a, b]`
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    /// `(a)`, kept for the formatter; means `a`.
    Paren(Box<Expr>),
    Call {
        func: Box<Expr>,
        args: Vec<Arg>,
    },
    Index {
        base: Box<Expr>,
        subs: Vec<Expr>,
    },
    Field {
        base: Box<Expr>,
        name: Name,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        op_span: Span,
        lhs: Box<Expr>,
        rhs: Box<Expr>,
    },
    /// `a..b`, `a..=b`; `a..`, `..b`, `..` only in subscripts and patterns.
    Range {
        lo: Option<Box<Expr>>,
        hi: Option<Box<Expr>>,
        inclusive: bool,
    },
    /// `T in smem`: a placed type as an argument.
    In {
        value: Box<Expr>,
        placement: Placement,
    },
    /// `smem swizzle(3, 4, 3)` as an argument.
    Placement(Placement),
    For {
        var: Name,
        iter: Box<Expr>,
        step: Option<Box<Expr>>,
        body: Block,
    },
    Mesh {
        binds: Vec<MeshBind>,
        body: Block,
    },
    On {
        part: Name,
        body: Block,
    },
    Match {
        value: Box<Expr>,
        arms: Vec<Arm>,
    },
    Block(Block),
    /// What recovery skipped.
    Error,
}

/// `grid = cta[row: 8, col: 32]`, `load = wg[0..1]`, `mma = wg[1..3] as [w: 2]`
#[derive(Clone, Debug, PartialEq)]
pub struct MeshBind {
    pub name: Name,
    /// A topology level or a mesh bound before.
    pub of: Path,
    pub subs: Vec<MeshSub>,
    /// After `as`.
    pub axes: Option<Vec<MeshAxis>>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MeshSub {
    Axis(MeshAxis),
    /// A position or a range of positions of a mesh's axis.
    Sub(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub struct MeshAxis {
    pub name: Name,
    pub extent: Expr,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// A range, a literal, a const or `_` (a path of that name).
    pub pat: Expr,
    pub body: Expr,
    pub span: Span,
}
