//! Ops that the engines carry out: what they say of themselves.

use super::run::{exprs, f32s, op};
use crate::ops::registry::find;
use crate::ops::{Attr, Attrs, Call, Role};
use crate::types::dim::{Expr, VarTable};
use crate::types::dtype::DType;
use crate::types::placement::{AxisId, Factor, Storage};
use crate::types::ty::TensorTy;

#[test]
fn roles_are_their_own() {
    let roles = [
        ("reshard", Role::Reshard),
        ("complete", Role::Complete),
        ("local", Role::Local),
        ("collect", Role::Collect),
    ];
    for (name, role) in roles {
        assert_eq!(find(name).unwrap().role(), role);
    }
}

#[test]
fn a_local_piece_has_the_factors_that_are_left() {
    let mut t = TensorTy::new(DType::F32, exprs(&[64, 32]));
    t.place.storage = Storage::Rmem;
    t.place.axes[0].factors = vec![
        Factor { extent: Expr::int(8), axis: Some(AxisId(0)) },
        Factor { extent: Expr::int(8), axis: None },
    ];
    let (vars, attrs) = (VarTable::default(), Attrs::default());
    let call = Call { inputs: &[t.clone()], attrs: &attrs, vars: &vars };
    let out = find("local").unwrap().infer(&call).unwrap();
    assert_eq!(out[0].shape, exprs(&[8, 32]));
    let attrs = Attrs(vec![("extents", Attr::Shape(exprs(&[4, 2])))]);
    let call = Call { inputs: &out, attrs: &attrs, vars: &vars };
    let whole = find("collect").unwrap().infer(&call).unwrap();
    assert_eq!(whole[0].shape, exprs(&[4, 2, 8, 32]));
    let domain = find("collect").unwrap().domain(&call, &whole);
    assert_eq!(domain.reads[0].axes.len(), 2);
}

#[test]
fn whole_values_pass_unchanged() {
    let x = f32s(&[2], &[1.0, 2.0]);
    assert!(op("complete", &[&x]).get().bit_equal(&x));
    assert!(op("reshard", &[&x]).get().bit_equal(&x));
    assert!(op("local", &[&x]).error().contains("each position"));
}
