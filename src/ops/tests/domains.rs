//! Domains and accesses, held against evaluation by brute force.

use proptest::prelude::*;

use super::run::{Case, concrete, exprs, f32s, i32s, noise, op, ty};
use crate::ops::cuts::{On, Shape};
use crate::ops::facts::{Access, AxisAccess, Domain, Per, Resource};
use crate::ops::registry::OPS;
use crate::ops::support::access;
use crate::ops::{Attr, Call, EvalCx, OutTy, Role, Sub};
use crate::types::dim::{Env, Expr, VarTable};
use crate::types::dtype::DType;
use crate::types::value::Tensor;

fn domain(c: &Case) -> (Domain, Vec<crate::types::ty::TensorTy>) {
    let vars = VarTable::default();
    let inputs = c.types();
    let call = Call { inputs: &inputs, attrs: &c.attrs, vars: &vars };
    let outs = c.op.infer(&call).unwrap_or_else(|e| panic!("{}", e.message));
    (c.op.domain(&call, &outs), outs)
}

fn work(c: &Case) -> Vec<(Resource, i64)> {
    let vars = VarTable::default();
    let inputs = c.types();
    let call = Call { inputs: &inputs, attrs: &c.attrs, vars: &vars };
    let (d, outs) = domain(c);
    let total = |w: &crate::ops::facts::Work| (w.resource, w.total(&d, &outs).as_int().unwrap());
    c.op.work(&call, &outs).iter().map(total).collect()
}

/// The index of each axis at a point; `None` where the access does not say.
fn index(a: &Access, extents: &[i64], point: &[i64]) -> Vec<Option<i64>> {
    let at = |x: &AxisAccess| match x {
        AxisAccess::Dims(dims) => Some(dims.iter().fold(0, |i, d| i * extents[*d] + point[*d])),
        AxisAccess::Window { dim, start } => Some(start.as_int().unwrap() + point[*dim]),
        AxisAccess::At(e) => e.as_int(),
        AxisAccess::Any { .. } => None,
    };
    a.axes.iter().map(at).collect()
}

fn points(extents: &[i64]) -> Vec<Vec<i64>> {
    extents.iter().fold(vec![vec![]], |all, n| {
        all.iter().flat_map(|p| (0..*n).map(move |i| [p.as_slice(), &[i]].concat())).collect()
    })
}

/// Blocks of the operands along a dimension that may be cut give blocks of the results.
fn blocks(c: &Case) {
    let (Ok(whole), true) = (c.results(), c.op.blockwise() && c.op.role() != Role::Create) else {
        return;
    };
    if matches!(c.op.role(), Role::Read | Role::Write) {
        return;
    }
    let (d, _) = domain(c);
    let shape = Shape::new(d, &Env::default()).unwrap();
    for dim in shape.free() {
        let wide = |t: &Tensor| match c.wide && t.dtype().is_float() {
            true => t.cast(DType::F64),
            false => t.clone(),
        };
        let (cut, n) = (shape.cut(dim, 1).unwrap(), shape.extent(dim));
        for (from, len) in [(0, 1), (1, n - 1), (n / 2, n - n / 2)] {
            let part = |t: &Tensor, on: Option<On>| {
                let (mut starts, mut lens) = (vec![0; t.rank()], t.shape().to_vec());
                if let Some(on) = on {
                    (starts[on.axis], lens[on.axis]) = (from * on.unit, len * on.unit);
                }
                t.slice_block(&starts, &lens)
            };
            let inputs: Vec<Tensor> =
                c.inputs.iter().zip(&cut.reads).map(|(t, on)| part(&wide(t), *on)).collect();
            let want: Vec<Tensor> =
                whole.iter().zip(&cut.writes).map(|(t, on)| part(t, Some(*on))).collect();
            let outs: Vec<OutTy> = want
                .iter()
                .map(|t| OutTy { dtype: t.dtype(), shape: t.shape().to_vec() })
                .collect();
            let (attrs, env) = (&c.attrs, &Env::default());
            let (wide, exact_order) = (c.wide, c.exact_order);
            let declared: Vec<DType> = c.inputs.iter().map(Tensor::dtype).collect();
            let declared = &declared;
            let cx =
                EvalCx { declared, inputs: &inputs, attrs, env, outs: &outs, wide, exact_order };
            let name = c.op.name();
            let got =
                c.op.eval(&cx).unwrap_or_else(|e| panic!("`{name}` dim {dim}: {}", e.message));
            for (g, w) in got.iter().zip(&want) {
                let close = |(x, y): (&f64, &f64)| x == y || (x - y).abs() < 1e-5 || x.is_nan();
                let same = match c.op.contraction() {
                    // a library may add in another order
                    true => g.to_f64s().iter().zip(w.to_f64s().iter()).all(close),
                    false => g.bit_equal(w),
                };
                assert!(same && g.shape() == w.shape(), "`{name}` cut at {from} of dim {dim}");
            }
        }
    }
}

/// Reads and writes fit their tensors, and the writes reach every element of a result whose
/// accesses are all known. Every example of a document is held to this as well.
pub fn check(c: &Case) {
    blocks(c);
    let (d, outs) = domain(c);
    let name = c.op.name();
    assert_eq!((d.reads.len(), d.writes.len()), (c.inputs.len(), outs.len()), "{name}");
    let extents: Vec<i64> = d.dims.iter().map(|d| d.extent.as_int().unwrap()).collect();
    let points = points(&extents);
    let shapes = c.inputs.iter().map(|t| t.shape().to_vec());
    let shapes = shapes.chain(outs.iter().map(|t| concrete(&t.shape)));
    for (i, (a, shape)) in d.reads.iter().chain(&d.writes).zip(shapes).enumerate() {
        assert_eq!(a.axes.len(), shape.len(), "{name}");
        let mut seen = std::collections::BTreeSet::new();
        for p in &points {
            let at = index(a, &extents, p);
            let inside = at.iter().zip(&shape).all(|(k, n)| k.is_none_or(|k| k < *n as i64));
            assert!(inside, "{name}: {at:?} of {shape:?}");
            seen.insert(at);
        }
        let known = a.axes.iter().all(|x| matches!(x, AxisAccess::Dims(_)));
        if i >= d.reads.len() && known && !points.is_empty() {
            assert_eq!(seen.len(), shape.iter().product::<usize>(), "{name}: {a:?}");
        }
    }
}

#[test]
fn accesses_fit_and_cover() {
    let (a, b) = (f32s(&[2, 3], &[0.0; 6]), f32s(&[3], &[0.0; 3]));
    let (q, k) = (f32s(&[2, 1, 4, 3], &[0.0; 24]), f32s(&[5, 2, 3], &[0.0; 30]));
    let ids = i32s(&[4], &[0, 1, 1, 0]);
    check(&op("add", &[&a, &b]));
    check(&op("sum", &[&a]).dims(&[0]));
    check(&op("mean", &[&a]).dims(&[1]).flag("keepdim"));
    check(&op("argmax", &[&a]).dims(&[1]));
    check(&op("matmul", &[&q, &k]).flag("transpose_b"));
    let spec = |s: &str| Attr::Str(s.into());
    check(&op("einsum", &[&a, &b, &a]).attr("spec", spec("ij,j,kj->ki")));
    check(&op("reshape", &[&q]).shape("shape", &[4, 6]));
    check(&op("transpose", &[&q]).attr("perm", Attr::Ints(vec![3, 0, 2, 1])));
    check(&op("expand", &[&b]).shape("shape", &[4, 3]));
    check(&op("repeat_interleave", &[&a]).int("repeats", 2).dims(&[0]));
    check(&op("concat", &[&a, &a]).dims(&[1]));
    check(&op("stack", &[&a, &a]).int("dim", 1));
    check(&op("flip", &[&a]).dims(&[0]));
    check(&op("split", &[&a]).shape("sizes", &[1, 2]).dims(&[1]));
    check(&op("index_select", &[&a, &ids]).dims(&[0]));
    check(&op("embedding", &[&ids, &a]));
    check(&op("cumsum", &[&a]).dims(&[1]));
    check(&op("sort", &[&a]));
    check(&op("topk", &[&a]).int("k", 2));
    check(&op("one_hot", &[&ids]).int("n", 3));
    check(&op("bincount", &[&ids]).int("n", 3));
    check(&op("index_add", &[&a, &ids, &f32s(&[4, 3], &[0.0; 12])]));
    check(&op("cache_update", &[&a, &f32s(&[1, 3], &[0.0; 3])]).int("pos", 1));
    let subs = vec![
        Sub::Window { start: 1.into(), len: 1.into(), end: None, pad: None },
        Sub::At(2.into()),
    ];
    check(&op("slice", &[&a]).attr("subs", Attr::Subs(subs.clone())));
    check(&op("window_write", &[&a, &f32s(&[1], &[0.0])]).attr("subs", Attr::Subs(subs)));
    check(&op("tril_mask", &[]).shape("shape", &[2, 3]));
    check(&op("where", &[&op("lt", &[&a, &b]).get(), &a, &b]));
}

#[test]
fn work_is_what_the_table_says() {
    let (a, b) = (noise(DType::Bf16, &[2, 4, 8], 1), noise(DType::Bf16, &[8, 16], 2));
    assert_eq!(
        work(&op("matmul", &[&a, &b])),
        [(Resource::Tensor(DType::Bf16), 2 * 2 * 4 * 8 * 16)]
    );
    let f = noise(DType::F32, &[4, 8], 3);
    assert_eq!(work(&op("sum", &[&f]).dims(&[1])), [(Resource::Fma(DType::F32), 32)]);
    assert_eq!(work(&op("mean", &[&f]).dims(&[1])), [(Resource::Fma(DType::F32), 32)]);
    assert_eq!(work(&op("cast", &[&f]).dtype("dtype", DType::F16)), [(Resource::Cvt, 32)]);
    assert_eq!(work(&op("cast", &[&f]).dtype("dtype", DType::F32)), []);
    assert_eq!(work(&op("div", &[&f, &f])), [(Resource::Fma(DType::F32), 32), (Resource::Sfu, 32)]);
    assert_eq!(work(&op("exp", &[&f])), [(Resource::Sfu, 32)]);
    let i = i32s(&[4], &[1, 2, 3, 4]);
    assert_eq!(work(&op("add", &[&i, &i])), [(Resource::Int, 4)]);
    assert_eq!(work(&op("reshape", &[&f]).shape("shape", &[32])), []);
    let lse = work(&op("logsumexp", &[&f]).dims(&[1]));
    assert_eq!(lse.iter().map(|w| w.1).collect::<Vec<_>>(), [96, 32, 4, 4]);
}

#[test]
fn convolutions_and_grouped_products_are_counted() {
    let f16 = Resource::Tensor(DType::F16);
    // N O L_out C / groups K = 2 x 6 x 5 x 2 x 3
    let (x, w) = (noise(DType::F16, &[2, 4, 7], 1), noise(DType::F16, &[6, 2, 3], 2));
    let c = op("conv1d", &[&x, &w]).int("groups", 2);
    assert_eq!(work(&c), [(f16, 2 * 2 * 6 * 5 * 2 * 3)]);
    let c = op("conv1d", &[&x, &w, &noise(DType::F16, &[6], 3)])
        .int("groups", 2)
        .attr("bias", Attr::Operand(2));
    assert_eq!(work(&c), [(f16, 2 * 2 * 6 * 5 * 2 * 3), (Resource::Fma(DType::F32), 2 * 6 * 5)]);
    assert!(domain(&c).0.dims.iter().filter(|d| d.reduce.is_some()).all(|d| !d.splittable));
    let (x, w) = (noise(DType::Bf16, &[5, 3], 1), noise(DType::Bf16, &[8, 3, 4], 2));
    let c = op("grouped_matmul", &[&x, &w, &i32s(&[8], &[0, 0, 1, 1, 5, 5, 5, 5])]);
    assert_eq!(work(&c), [(Resource::Tensor(DType::Bf16), 2 * 5 * 3 * 4)]);
    let (d, _) = domain(&c);
    assert!(!d.exact);
    assert_eq!(d.reads[1].axes[0], AxisAccess::Any { touched: 5.into() });
    assert_eq!(dims_of(&d.reads[0]), [vec![0], vec![2]]);
}

/// The positions that windows read, counted, against what the access says.
#[test]
fn windows_read_no_more_than_they_say() {
    for len in 1..9i64 {
        for (taps, stride, dilation) in
            (1..4i64).flat_map(|k| (1..4i64).flat_map(move |s| (1..4i64).map(move |d| (k, s, d))))
        {
            for (padding, causal) in [(0, false), (1, false), (3, false), (0, true)] {
                let x = Tensor::zeros(DType::F32, vec![1, 1, len as usize]);
                let w = Tensor::zeros(DType::F32, vec![1, 1, taps as usize]);
                let c = op("conv1d", &[&x, &w])
                    .int("stride", stride)
                    .int("dilation", dilation)
                    .int("padding", padding)
                    .attr("causal", Attr::Bool(causal));
                if c.infer().is_err() {
                    continue;
                }
                let (d, outs) = domain(&c);
                let left = if causal { (taps - 1) * dilation } else { padding };
                let count = outs[0].shape[2].as_int().unwrap();
                let read: std::collections::BTreeSet<i64> = (0..count)
                    .flat_map(|l| (0..taps).map(move |k| l * stride + k * dilation - left))
                    .filter(|p| (0..len).contains(p))
                    .collect();
                let said = match &d.reads[0].axes[2] {
                    AxisAccess::Any { touched } => touched.as_int().unwrap(),
                    a => {
                        assert_eq!(a, &AxisAccess::Dims(vec![1 + 1]));
                        count
                    }
                };
                let read = read.len() as i64;
                let what = (len, taps, stride, dilation, padding, causal);
                assert!(if d.exact { read == said } else { read <= said }, "{what:?}: {said}");
            }
        }
    }
}

#[test]
fn channels_of_groups_keep_their_own_dimensions() {
    let reads = |x: &[usize], w: &[usize], groups: i64| {
        let (x, w) = (noise(DType::F32, x, 1), noise(DType::F32, w, 2));
        let (d, _) =
            domain(&op("conv1d", &[&x, &w]).int("groups", groups).attr("causal", Attr::Bool(true)));
        let channels = |a: &Access, axis: usize| match &a.axes[axis] {
            AxisAccess::Dims(d) => d.clone(),
            a => panic!("{a:?}"),
        };
        (
            d.dims.len(),
            channels(&d.reads[0], 1),
            channels(&d.reads[1], 0),
            channels(&d.writes[0], 1),
        )
    };
    // every result sees every channel; one channel each; two channels of two each
    assert_eq!(reads(&[1, 4, 5], &[6, 4, 3], 1), (5, vec![3], vec![1], vec![1]));
    assert_eq!(reads(&[1, 4, 5], &[4, 1, 3], 4), (5, vec![1], vec![1], vec![1]));
    assert_eq!(reads(&[1, 4, 5], &[6, 2, 3], 2), (6, vec![1, 4], vec![1, 2], vec![1, 2]));
}

#[test]
fn each_step_of_an_einsum_is_counted() {
    let spec = |s: &str| Attr::Str(s.into());
    let (g, r, p, n) = (2, 3, 5, 7);
    let [a, b, c] = [vec![g, r], vec![g, r, p], vec![g, n]]
        .map(|s| noise(DType::F32, &s.iter().map(|n| *n as usize).collect::<Vec<_>>(), 1));
    let fma = Resource::Fma(DType::F32);
    assert_eq!(
        work(&op("einsum", &[&a, &b, &c]).attr("spec", spec("gr,grp,gn->grpn"))),
        [(fma, g * r * p), (fma, g * r * p * n)]
    );
    let (x, y, z) = (
        noise(DType::F16, &[2, 3], 1),
        noise(DType::F16, &[3, 4], 2),
        noise(DType::F16, &[4, 5], 3),
    );
    assert_eq!(
        work(&op("einsum", &[&x, &y, &z]).attr("spec", spec("ab,bc,cd->ad"))),
        [
            (Resource::Tensor(DType::F16), 2 * 2 * 3 * 4),
            (Resource::Tensor(DType::F32), 2 * 2 * 4 * 5)
        ]
    );
    assert_eq!(
        work(&op("einsum", &[&x]).attr("spec", spec("ab->b"))),
        [(Resource::Fma(DType::F16), 6)]
    );
}

#[test]
fn an_rms_norm_counts_as_published() {
    // 4096 rows of 4096, cast, square, mean, + eps, rsqrt, scale: 67,112,960 f32 flops and 4,096
    // special functions elsewhere, where the cast counts one flop an element; casts are none here
    let x = |shape: &[usize]| {
        let mut t = ty(&f32s(&[1], &[0.0]));
        t.shape = exprs(shape);
        t
    };
    let vars = VarTable::default();
    let (full, row, one) = (x(&[4096, 4096]), x(&[4096, 1]), x(&[]));
    let mut attrs = crate::ops::Attrs::default();
    attrs.0.push(("dim", Attr::Ints(vec![1])));
    attrs.0.push(("keepdim", Attr::Bool(true)));
    let (mut flops, mut special) = (0, 0);
    let ops: [(&str, Vec<_>); 5] = [
        ("square", vec![full.clone()]),
        ("mean", vec![full.clone()]),
        ("add", vec![row.clone(), one]),
        ("rsqrt", vec![row.clone()]),
        ("mul", vec![full.clone(), row]),
    ];
    for (name, inputs) in ops {
        let op = crate::ops::registry::find(name).unwrap();
        let call = Call { inputs: &inputs, attrs: &attrs, vars: &vars };
        let outs = op.infer(&call).unwrap();
        let d = op.domain(&call, &outs);
        for w in op.work(&call, &outs) {
            let n = w.total(&d, &outs).as_int().unwrap();
            match w.resource {
                Resource::Fma(DType::F32) => flops += n,
                Resource::Sfu => special += n,
                r => panic!("{r:?}"),
            }
        }
    }
    assert_eq!((flops, special), (67_112_960 - 4096 * 4096, 4096));
}

#[test]
fn every_op_says_what_it_does_with_a_wrong_call() {
    // no operands and no attributes: an error or an empty domain, never a panic
    let vars = VarTable::default();
    let attrs = crate::ops::Attrs::default();
    for op in OPS {
        let call = Call { inputs: &[], attrs: &attrs, vars: &vars };
        let _ = op.infer(&call).map_err(|e| assert!(!e.message.is_empty()));
        let _ = (op.domain(&call, &[]), op.work(&call, &[]));
    }
}

fn dims_of(a: &Access) -> Vec<Vec<usize>> {
    let dims = |x: &AxisAccess| match x {
        AxisAccess::Dims(d) => d.clone(),
        x => panic!("{x:?}"),
    };
    a.axes.iter().map(dims).collect()
}

#[test]
fn a_reshape_is_refined_to_common_factors() {
    let vars = VarTable::default();
    let d = access::reshape(&exprs(&[264, 7168]), &exprs(&[264, 56, 128]), &vars);
    assert_eq!(d.dims.len(), 3);
    assert_eq!(dims_of(&d.reads[0]), [vec![0], vec![1, 2]]);
    assert_eq!(dims_of(&d.writes[0]), [vec![0], vec![1], vec![2]]);
    // axes of extent 1 have no index
    let d = access::reshape(&exprs(&[4, 1]), &exprs(&[1, 4]), &vars);
    assert_eq!(dims_of(&d.reads[0]), [vec![0], vec![]]);
    // 4 x 6 to 6 x 4 has no common factors; the axis beside it still has its own
    let d = access::reshape(&exprs(&[5, 4, 6]), &exprs(&[5, 6, 4]), &vars);
    assert!(!d.dims[0].splittable);
    let d = access::reshape(&exprs(&[4, 6, 5]), &exprs(&[6, 4, 5]), &vars);
    assert_eq!(d.dims.len(), 2);
    assert!(!d.dims[0].splittable && d.dims[1].splittable);
    assert_eq!(d.dims[0].extent, Expr::int(24));
    assert!(matches!(d.reads[0].axes[0], AxisAccess::Any { .. }));
    assert_eq!(d.reads[0].axes[2], AxisAccess::Dims(vec![1]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every point of a reshape's domain reads and writes the same row-major position.
    #[test]
    fn a_reshape_moves_nothing(f in prop::collection::vec(1usize..5, 1..5), cuts in any::<u16>(), cuts2 in any::<u16>()) {
        let group = |cuts: u16| {
            let mut out = vec![1];
            for (i, n) in f.iter().enumerate() {
                if (cuts >> i) & 1 == 1 { out.push(1); }
                *out.last_mut().unwrap() *= n;
            }
            out
        };
        let (a, b) = (group(cuts), group(cuts2));
        let d = access::reshape(&exprs(&a), &exprs(&b), &VarTable::default());
        let extents: Vec<i64> = d.dims.iter().map(|d| d.extent.as_int().unwrap()).collect();
        prop_assert_eq!(extents.iter().product::<i64>(), a.iter().product::<usize>() as i64);
        let flat = |at: &[Option<i64>], shape: &[usize]| {
            at.iter().zip(shape).try_fold(0, |p, (k, n)| k.map(|k| p * *n as i64 + k))
        };
        for p in points(&extents) {
            let (r, w) = (index(&d.reads[0], &extents, &p), index(&d.writes[0], &extents, &p));
            if let (Some(r), Some(w)) = (flat(&r, &a), flat(&w, &b)) {
                prop_assert_eq!(r, w);
            }
        }
    }

    /// The points of a reduction times its work are the elements.
    #[test]
    fn a_reduction_counts_each_element_once(shape in prop::collection::vec(0usize..5, 1..4), axis in 0usize..4) {
        let axis = axis % shape.len();
        let x = Tensor::zeros(DType::F32, shape.clone());
        let c = op("sum", &[&x]).dims(&[axis as i64]);
        let (d, outs) = domain(&c);
        let n: i64 = d.dims.iter().map(|d| d.extent.as_int().unwrap()).product();
        prop_assert_eq!(n as usize, x.len());
        prop_assert_eq!(work(&c)[0].1 as usize, x.len());
        prop_assert_eq!(outs[0].rank(), shape.len() - 1);
    }
}

#[test]
fn symbolic_totals_stay_symbolic() {
    let (vars, t) = super::infer::dim("ctx", 1, 8192);
    let x = crate::types::ty::TensorTy::new(DType::F32, vec![t.clone(), 128.into()]);
    let op = crate::ops::registry::find("sum").unwrap();
    let mut attrs = crate::ops::Attrs::default();
    attrs.0.push(("dim", Attr::Ints(vec![1])));
    let call = Call { inputs: std::slice::from_ref(&x), attrs: &attrs, vars: &vars };
    let outs = op.infer(&call).unwrap();
    let d = op.domain(&call, &outs);
    let w = op.work(&call, &outs)[0];
    assert_eq!(w.per, Per::Point);
    assert_eq!(vars.show(&w.total(&d, &outs)), "128 * ctx");
    let mut env = Env::default();
    env.set(*t.vars().iter().next().unwrap(), 3);
    assert_eq!(w.total(&d, &outs).eval(&env), Some(384));
}
