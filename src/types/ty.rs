//! The type of a tensor: dtype, logical shape, placement, range of values.

use super::dim::{Expr, VarTable};
use super::dtype::DType;
use super::placement::{MeshTable, Placement, Storage};

#[derive(Clone, Debug, PartialEq)]
pub struct TensorTy {
    pub dtype: DType,
    pub shape: Vec<Expr>,
    pub place: Placement,
    /// Inclusive bounds of the values, for integers.
    pub range: Option<(Expr, Expr)>,
}

impl TensorTy {
    /// Whole in gmem, where values are unless something says otherwise.
    pub fn new(dtype: DType, shape: Vec<Expr>) -> TensorTy {
        let rank = shape.len();
        TensorTy { dtype, shape, place: Placement::whole(Storage::Gmem, rank), range: None }
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// `f16[1, 4096, 2048]`, or `f32` at rank 0.
    pub fn show(&self, vars: &VarTable) -> String {
        show_shape(self.dtype, &self.shape, vars)
    }

    /// With the placement: `f16[4096] in rmem[4096 @ g.x]`.
    pub fn show_placed(&self, vars: &VarTable, meshes: &MeshTable) -> String {
        format!("{} in {}", self.show(vars), self.place.show(&self.shape, vars, meshes))
    }
}

pub fn show_shape(dtype: DType, shape: &[Expr], vars: &VarTable) -> String {
    if shape.is_empty() {
        return dtype.name().to_string();
    }
    let dims: Vec<String> = shape.iter().map(|e| vars.show(e)).collect();
    format!("{}[{}]", dtype, dims.join(", "))
}
