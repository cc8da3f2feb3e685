//! What an expression means while a function is elaborated.

use std::sync::Arc;

use crate::base::Span;
use crate::graph::ValueId;
use crate::types::dim::Expr;
use crate::types::dtype::DType;
use crate::types::num::Num;
use crate::types::placement::{MeshId, Placement};

use super::ItemRef;

/// A tensor type as it was written: dtype, extents, placement, range.
#[derive(Clone, Debug)]
pub struct WrittenType {
    pub dtype: DType,
    pub shape: Vec<Expr>,
    pub place: Option<Placement>,
    pub range: Option<(Expr, Expr)>,
}

/// A range of integers, used as a subscript or walked by a loop.
#[derive(Clone, Debug)]
pub struct Window {
    pub start: Expr,
    pub stop: Expr,
    /// Set for the windows that `tile` makes.
    pub tile: Option<Tile>,
}

/// The part of a window that only `tile` knows.
#[derive(Clone, Debug)]
pub struct Tile {
    /// The trip number, from 0.
    pub index: Expr,
    /// The end of the range that is tiled; a padded window may reach past it.
    pub end: Expr,
    /// What reads past the end give.
    pub pad: Option<Num>,
}

impl Window {
    pub fn len(&self) -> Expr {
        self.stop.sub(&self.start)
    }
}

/// A child instance: the module, and for each child on the way its key prefix, count and index.
#[derive(Clone, Debug)]
pub struct Instance {
    pub module: Option<ItemRef>,
    pub path: Vec<Step>,
}

#[derive(Clone, Debug)]
pub struct Step {
    /// `model.layers`
    pub prefix: String,
    /// The child's name in its module, for the parameters' names.
    pub name: String,
    pub count: Option<Expr>,
    /// The numbers of the array's children in the checkpoint, where they do not count from 0.
    pub at: Option<Vec<i64>>,
    /// The index of the instance; absent until the child is subscripted.
    pub index: Option<Expr>,
}

#[derive(Clone, Debug)]
pub enum Val {
    Num(Num),
    Bool(bool),
    Str(String),
    Tensor(ValueId),
    Tuple(Vec<Val>),
    List(Vec<Val>),
    Window(Box<Window>),
    Mesh(MeshId),
    DType(DType),
    Type(Box<WrittenType>),
    Placement(Box<Placement>),
    Config(Arc<serde_json::Value>),
    /// A child, or one of an array of children.
    Child(Box<Instance>),
    /// A function of a file, a module or (with an instance) of a child.
    Func(ItemRef, Option<Box<Instance>>),
    /// `none`: an optional argument that was not given.
    None,
    Unit,
    /// An error was reported; uses stay silent.
    Error,
}

impl Val {
    pub fn int(e: Expr) -> Val {
        Val::Num(Num::Int(e))
    }

    /// What it is, for messages.
    pub fn what(&self) -> &'static str {
        match self {
            Val::Num(Num::Int(_)) => "an integer",
            Val::Num(Num::Float(_)) => "a number",
            Val::Bool(_) => "a bool",
            Val::Str(_) => "a string",
            Val::Tensor(_) => "a tensor",
            Val::Tuple(_) => "a tuple",
            Val::List(_) => "a list",
            Val::Window(_) => "a range",
            Val::Mesh(_) => "a mesh",
            Val::DType(_) => "a dtype",
            Val::Type(_) => "a type",
            Val::Placement(_) => "a placement",
            Val::Config(_) => "a config value",
            Val::Child(_) => "a child",
            Val::Func(..) => "a function",
            Val::None => "`none`",
            Val::Unit => "nothing",
            Val::Error => "an error",
        }
    }

    /// Whether a part of it stands for a reported error.
    pub fn has_error(&self) -> bool {
        match self {
            Val::Error => true,
            Val::Tuple(vs) | Val::List(vs) => vs.iter().any(Val::has_error),
            _ => false,
        }
    }

    /// The elements of a list; the characters of a string.
    pub fn items(&self) -> Option<Vec<Val>> {
        match self {
            Val::List(vs) => Some(vs.clone()),
            Val::Str(s) => Some(s.chars().map(|c| Val::Str(c.to_string())).collect()),
            _ => None,
        }
    }

    /// The tensors in it, left to right.
    pub fn leaves(&self, out: &mut Vec<ValueId>) {
        match self {
            Val::Tensor(v) => out.push(*v),
            Val::Tuple(vs) | Val::List(vs) => vs.iter().for_each(|v| v.leaves(out)),
            _ => {}
        }
    }

    /// The same structure with its tensors replaced, left to right.
    pub fn with_leaves(&self, new: &mut dyn Iterator<Item = ValueId>) -> Val {
        match self {
            Val::Tensor(v) => Val::Tensor(new.next().unwrap_or(*v)),
            Val::Tuple(vs) => Val::Tuple(vs.iter().map(|v| v.with_leaves(new)).collect()),
            Val::List(vs) => Val::List(vs.iter().map(|v| v.with_leaves(new)).collect()),
            other => other.clone(),
        }
    }
}

/// A name of a body.
#[derive(Clone, Debug)]
pub struct Binding {
    pub name: String,
    pub val: Val,
    pub mutable: bool,
    /// Declared with a placement, which later values of the variable must have.
    pub place: Option<Placement>,
    pub span: Span,
}
