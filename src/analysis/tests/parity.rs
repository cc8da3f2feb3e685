//! Figures that an independent tool prints for the same programs, where the definitions agree.

use super::build::*;
use crate::analysis::{Analysis, Options, Show, analyze, refusals, text};
use crate::base::SourceMap;
use crate::graph::{Graph, ValueId};
use crate::types::dim::{Env, Expr};
use crate::types::dtype::DType;
use crate::types::placement::{Reduction, Storage};
use crate::types::ty::TensorTy;

fn run(g: &Graph) -> Analysis {
    let t = h200();
    let a = analyze(g, &Env::default(), Some(&t), &Options::default()).unwrap();
    let report = text(&a, &SourceMap::default(), Show::all());
    assert!(report.lines().count() < 40, "{report}");
    assert!(
        text(&a, &SourceMap::default(), Show { full: true, ..Show::all() }).lines().count() >= 5
    );
    serde_json::to_string(&a).unwrap();
    a
}

/// `(logical, total)` read and written.
fn moved(a: &Analysis, s: &str) -> [u128; 4] {
    let t = a.costs.traffic(s).unwrap();
    [t.read.logical, t.read.total, t.write.logical, t.write.total]
}

fn flops(a: &Analysis, d: DType) -> (u128, u128) {
    a.costs.flops(d).map_or((0, 0), |f| (f.logical, f.total))
}

const X: i64 = 16_777_216;

/// x * x + x, times x, with the types that every value has.
fn chain(b: &mut Build, x: ValueId, t: &TensorTy) -> ValueId {
    let y = b.op(&MUL, &[x, x], t.clone());
    let z = b.op(&ADD, &[y, x], t.clone());
    b.op(&MUL, &[z, x], t.clone())
}

#[test]
fn chain_logical() {
    let mut b = Build::new();
    let t = ty(DType::F16, &[1, 4096, 2048]);
    let x = b.param("x", t.clone());
    let w = chain(&mut b, x, &t);
    let a = run(&b.finish(w));
    assert_eq!(flops(&a, DType::F16), (25_165_824, 25_165_824));
    assert_eq!(moved(&a, "gmem"), [100_663_296, 100_663_296, 50_331_648, 50_331_648]);
    let p = a.peak("gmem", "gpu").unwrap();
    assert_eq!((p.live, p.live_in_place), (3 * X as u128, 33_554_432));
    assert_eq!(a.unplaced_ops, 3);
    let r = a.roofline.as_ref().unwrap();
    // 32 MiB at 4.8e12 B/s
    let d = r.bound("device", "cold").unwrap();
    assert_eq!(d.binds, "gmem");
    assert_eq!(
        d.ps.unwrap(),
        crate::analysis::record::Ratio::new(33_554_432_000_000_000_000, 4_800_000_000_000)
    );
}

/// The chain in registers on `rows x cols` CTAs, and threads if there are any.
fn chain_placed(rows: i64, cols: i64, threads: bool) -> Graph {
    let mut b = Build::new();
    b.g.topology =
        vec![("cta".into(), Some(Expr::int(rows * cols))), ("thread".into(), Some(Expr::int(256)))];
    let t = ty(DType::F16, &[1, 4096, 2048]);
    let x = b.param("x", t.clone());
    let (g, gx) = b.mesh("cta", 2, &[("g.row", rows), ("g.col", cols)]);
    let mut meshes = vec![g];
    let (mut r, mut c) = (vec![(rows, Some(gx[0]))], vec![(cols, Some(gx[1]))]);
    if threads {
        let (m, tx) = b.mesh("thread", 5, &[("t.row", 32), ("t.col", 8)]);
        meshes.push(m);
        r.extend([(4096 / rows / 32, None), (32, Some(tx[0]))]);
        c.extend([(8, Some(tx[1])), (2048 / cols / 8, None)]);
    } else {
        r.push((4096 / rows, None));
        c.push((2048 / cols, None));
    }
    let placed_ty = placed(DType::F16, &[1, 4096, 2048], Storage::Rmem, &[&[], &r, &c]);
    let out = b.in_mesh(&meshes, |b| {
        let xr = b.op(&RESHARD, &[x], placed_ty.clone());
        let w = chain(b, xr, &placed_ty);
        b.op(&RESHARD, &[w], t)
    });
    b.finish(out)
}

#[test]
fn chain_good() {
    let a = run(&chain_placed(8, 32, true));
    assert_eq!(flops(&a, DType::F16), (25_165_824, 25_165_824));
    assert_eq!(moved(&a, "gmem"), [16_777_216, 16_777_216, 16_777_216, 16_777_216]);
    assert_eq!(moved(&a, "rmem"), [117_440_512, 117_440_512, 67_108_864, 67_108_864]);
    let p = a.peak("rmem", "cta").unwrap();
    assert_eq!((p.live, p.live_in_place, p.allocated_in_place), (196_608, 131_072, 131_072));
    assert_eq!(a.peak("gmem", "gpu").unwrap().live_in_place, 33_554_432);
    assert_eq!(a.peak("rmem", "thread").unwrap().allocated_in_place, 512);
    assert!(a.fits());
    let per_cta = &a.costs.work("fma.f16").unwrap().per_unit[0];
    assert_eq!((per_cta.level.as_str(), per_cta.units, per_cta.max), ("cta", 256, 98_304));
}

#[test]
fn chain_crowded() {
    let g = chain_placed(8, 1, true);
    let a = run(&g);
    let p = a.peak("rmem", "cta").unwrap();
    assert_eq!(p.live_in_place, 4_194_304);
    assert!(p.exceeded && !a.fits());
    // 128 CTAs fill the register file to the byte but need 256 registers of a thread's 255
    assert!(
        p.would_fit[0].starts_with("a split over 256 ctas instead of 8 at 256 threads"),
        "{:?}",
        p.would_fit
    );
    assert!(
        p.would_fit[0].ends_with("; 128 ctas would need 1024 B a thread, which has 1020 B"),
        "{:?}",
        p.would_fit
    );
    assert_eq!(p.values.len(), 2);
    let d = refusals(&g, &a);
    assert_eq!(d.len(), 2);
    assert!(d[0].help.as_ref().unwrap().contains("256 ctas"));
    // one copy for a CTA, spread over the threads of the topology, is the same
    let a = run(&chain_placed(8, 1, false));
    let p = a.peak("rmem", "cta").unwrap();
    assert_eq!((p.live_in_place, p.exceeded), (4_194_304, true));
    assert!(p.would_fit[0].contains("256 ctas instead of 8 at 256 threads"), "{:?}", p.would_fit);
}

#[test]
fn chain_two_inputs() {
    let mut b = Build::new();
    let t = ty(DType::F16, &[1, 4096, 2048]);
    let (x, y) = (b.param("a", t.clone()), b.param("b", t.clone()));
    let (g, gx) = b.mesh("cta", 2, &[("g.x", 8), ("g.y", 32)]);
    let s = placed(
        DType::F16,
        &[1, 4096, 2048],
        Storage::Rmem,
        &[&[], &[(8, Some(gx[0])), (512, None)], &[(32, Some(gx[1])), (64, None)]],
    );
    let out = b.in_mesh(&[g], |b| {
        let ar = b.op(&RESHARD, &[x], s.clone());
        let br = b.op(&RESHARD, &[y], s.clone());
        let p = b.op(&MUL, &[ar, br], s.clone());
        let z = b.op(&ADD, &[p, ar], s.clone());
        let w = b.op(&MUL, &[z, br], s.clone());
        b.op(&RESHARD, &[w], t)
    });
    let a = run(&b.finish(out));
    assert_eq!(moved(&a, "gmem"), [33_554_432, 33_554_432, 16_777_216, 16_777_216]);
    assert_eq!(moved(&a, "rmem"), [117_440_512, 117_440_512, 83_886_080, 83_886_080]);
    assert_eq!(a.peak("gmem", "gpu").unwrap().live_in_place, 50_331_648);
    assert_eq!(a.peak("rmem", "cta").unwrap().live_in_place, 196_608);
}

#[test]
fn matmul_plain_and_split() {
    let n = 4096;
    let t = ty(DType::Bf16, &[n, n]);
    let mut b = Build::new();
    let (x, y) = (b.param("a", t.clone()), b.param("b", t.clone()));
    let c = b.op(&MATMUL, &[x, y], t.clone());
    let a = run(&b.finish(c));
    assert_eq!(flops(&a, DType::Bf16), (137_438_953_472, 137_438_953_472));
    assert_eq!(moved(&a, "gmem"), [67_108_864, 67_108_864, 33_554_432, 33_554_432]);
    assert_eq!(a.peak("gmem", "gpu").unwrap().live, 100_663_296);

    let mut b = Build::new();
    let (x, y) = (b.param("a", t.clone()), b.param("b", t.clone()));
    let (g, gx) = b.mesh("cta", 2, &[("g.m", 8), ("g.n", 16)]);
    let (m, k) = ([(8, Some(gx[0])), (512, None)], [(16, Some(gx[1])), (256, None)]);
    let at_gmem = |s: &[&[_]]| placed(DType::Bf16, &[n, n], Storage::Gmem, s);
    let out = b.in_mesh(&[g], |b| {
        let at = b.op(&RESHARD, &[x], at_gmem(&[&m, &[]]));
        let bt = b.op(&RESHARD, &[y], at_gmem(&[&[], &k]));
        let c = b.op(&MATMUL, &[at, bt], at_gmem(&[&m, &k]));
        b.op(&RESHARD, &[c], t)
    });
    let a = run(&b.finish(out));
    assert_eq!(flops(&a, DType::Bf16), (137_438_953_472, 137_438_953_472));
    assert_eq!(moved(&a, "gmem"), [67_108_864, 805_306_368, 33_554_432, 33_554_432]);
    let print = |n: &str| a.footprints.iter().find(|f| f.buffer == n).unwrap().read;
    assert_eq!((print("a"), print("b")), (33_554_432, 33_554_432));
}

/// RMS norm of `[rows, h]`, decomposed, with the types of the three shapes it goes through: the
/// row, its mean (before and after the reduction is finished), and the weight.
struct Norm {
    row: TensorTy,
    partial: TensorTy,
    mean: TensorTy,
    weight: TensorTy,
}

fn with(t: &TensorTy, d: DType) -> TensorTy {
    TensorTy { dtype: d, ..t.clone() }
}

fn norm(b: &mut Build, x: ValueId, w: ValueId, n: &Norm) -> ValueId {
    use DType::{Bf16, F32};
    let f = b.op(&CAST, &[x], with(&n.row, F32));
    let sq = b.op(&MUL, &[f], with(&n.row, F32));
    let mut ms = b.op(&SUM, &[sq], with(&n.partial, F32));
    if n.partial != n.mean {
        ms = b.op(&COMPLETE, &[ms], with(&n.mean, F32));
    }
    // one operand: the constant is no tensor
    let e = b.op(&ADD, &[ms], with(&n.mean, F32));
    let inv = b.op(&RSQRT, &[e], with(&n.mean, F32));
    let y = b.op(&MUL, &[f, inv], with(&n.row, F32));
    let y = b.op(&CAST, &[y], with(&n.row, Bf16));
    let wr = if n.weight.place.storage == Storage::Gmem {
        w
    } else {
        b.op(&RESHARD, &[w], n.weight.clone())
    };
    b.op(&MUL, &[y, wr], with(&n.row, Bf16))
}

#[test]
fn rms_norm_decomposed() {
    let mut b = Build::new();
    let row = ty(DType::Bf16, &[4096, 4096]);
    let mean = ty(DType::F32, &[4096, 1]);
    let weight = ty(DType::Bf16, &[1, 4096]);
    let (x, w) = (b.param("x", row.clone()), b.param("w", weight.clone()));
    let n = Norm { row, partial: mean.clone(), mean, weight };
    let y = norm(&mut b, x, w, &n);
    let a = run(&b.finish(y));
    // its 67,112,960 and 33,554,432 count a cast as a flop of its result's dtype
    assert_eq!(flops(&a, DType::F32), (67_112_960 - 16_777_216, 67_112_960 - 16_777_216));
    assert_eq!(flops(&a, DType::Bf16).0, 16_777_216);
    assert_eq!(a.costs.work("cvt").unwrap().total, 2 * 16_777_216);
    assert_eq!(a.costs.work("sfu").unwrap().total, 4096);
    assert_eq!(moved(&a, "gmem"), [335_601_664, 335_601_664, 268_484_608, 268_484_608]);
    assert_eq!(a.peak("gmem", "gpu").unwrap().live_in_place, 167_796_736);
}

/// A row split over threads, as `[rows] x [h]` on `ctas x u x t`.
fn norm_threads(
    b: &mut Build,
    rows: i64,
    h: i64,
    ctas: i64,
    (u, t): (i64, i64),
) -> (Norm, [crate::types::placement::MeshId; 2]) {
    let (g, gx) = b.mesh("cta", 2, &[("g.row", ctas)]);
    let (m, tx) = b.mesh("thread", 5, &[("t.u", u), ("t.x", t)]);
    let r: &[_] = &[(ctas, Some(gx[0])), (u, Some(tx[0])), (rows / ctas / u, None)];
    let c: &[_] = &[(t, Some(tx[1])), (h / t, None)];
    let row = placed(DType::Bf16, &[rows, h], Storage::Rmem, &[r, c]);
    let mean = placed(DType::F32, &[rows, 1], Storage::Rmem, &[r, &[]]);
    let mut partial = mean.clone();
    partial.place.set_partial(tx[1], Reduction::Sum);
    let weight = placed(DType::Bf16, &[1, h], Storage::Rmem, &[&[], c]);
    (Norm { row, partial, mean, weight }, [g, m])
}

#[test]
fn rms_norm_placed() {
    let mut b = Build::new();
    let t = ty(DType::Bf16, &[4096, 4096]);
    let (x, w) = (b.param("x", t.clone()), b.param("w", ty(DType::Bf16, &[1, 4096])));
    let (n, meshes) = norm_threads(&mut b, 4096, 4096, 128, (4, 64));
    let out = b.in_mesh(&meshes, |b| {
        let xr = b.op(&RESHARD, &[x], n.row.clone());
        let y = norm(b, xr, w, &n);
        b.op(&RESHARD, &[y], t)
    });
    let a = run(&b.finish(out));
    assert_eq!(moved(&a, "gmem"), [33_562_624, 34_603_008, 33_554_432, 33_554_432]);
    let f = a.costs.flops(DType::F32).unwrap();
    assert_eq!((f.logical, f.grid), (67_112_960 - 16_777_216, 67_112_960 - 16_777_216));
    let sfu = a.costs.work("sfu").unwrap();
    // each of the 64 threads of a row takes the root again
    assert_eq!((sfu.logical, sfu.grid, sfu.total), (4096, 4096, 4096 * 64));
    let p = a.peak("rmem", "cta").unwrap();
    assert_eq!((p.live_in_place, p.exceeded), (1_048_704, true));
    assert_eq!(a.peak("gmem", "gpu").unwrap().live_in_place, 67_117_056);
    let c = &a.costs.communication[0];
    assert_eq!((c.level.as_str(), c.per_unit), ("thread", 2 * 32 * 63 / 64));
}

/// Residual add, then the norm; both results.
fn residual(
    b: &mut Build,
    x: ValueId,
    r: ValueId,
    w: ValueId,
    n: &Norm,
    out: &TensorTy,
) -> [ValueId; 2] {
    let xr = b.op(&RESHARD, &[x], n.row.clone());
    let rr = b.op(&RESHARD, &[r], n.row.clone());
    let s = b.op(&ADD, &[xr, rr], n.row.clone());
    let y = norm(b, s, w, n);
    let first = b.op(&RESHARD, &[y], out.clone());
    [first, b.op(&RESHARD, &[s], out.clone())]
}

#[test]
fn residual_norm_two_rows() {
    let mut b = Build::new();
    let t = ty(DType::Bf16, &[264, 2816]);
    let (x, r) = (b.param("x", t.clone()), b.param("res", t.clone()));
    let w = b.param("w", ty(DType::Bf16, &[1, 2816]));
    let (n, meshes) = norm_threads(&mut b, 264, 2816, 132, (2, 128));
    let mut second = None;
    let first = b.in_mesh(&meshes, |b| {
        let [y, s] = residual(b, x, r, w, &n, &t);
        second = Some(s);
        y
    });
    // the second result leaves the same mesh
    b.g.outputs.push(crate::graph::Output { name: "output[1]".into(), value: second.unwrap() });
    let a = run(&b.finish(first));
    assert_eq!(moved(&a, "gmem"), [2_979_328, 3_717_120, 2_973_696, 2_973_696]);
    assert_eq!(a.peak("rmem", "cta").unwrap().live_in_place, 56_328);
    assert_eq!(a.peak("gmem", "gpu").unwrap().live_in_place, 5_953_024);
    assert!(a.fits());
}

#[test]
fn residual_norm_in_smem() {
    let mut b = Build::new();
    let (rows, h) = (132, 2816);
    let t = ty(DType::Bf16, &[rows, h]);
    let (x, r) = (b.param("x", t.clone()), b.param("res", t.clone()));
    let w = b.param("w", ty(DType::Bf16, &[1, h]));
    let (g, gx) = b.mesh("cta", 2, &[("g.row", rows)]);
    let split: &[_] = &[(rows, Some(gx[0]))];
    let mean = placed(DType::F32, &[rows, 1], Storage::Smem, &[split, &[]]);
    let n = Norm {
        row: placed(DType::Bf16, &[rows, h], Storage::Smem, &[split, &[]]),
        partial: mean.clone(),
        mean,
        weight: placed(DType::Bf16, &[1, h], Storage::Smem, &[&[], &[]]),
    };
    let mut second = None;
    let first = b.in_mesh(&[g], |b| {
        let [y, s] = residual(b, x, r, w, &n, &t);
        second = Some(s);
        y
    });
    b.g.outputs.push(crate::graph::Output { name: "output[1]".into(), value: second.unwrap() });
    let a = run(&b.finish(first));
    assert_eq!(moved(&a, "gmem"), [1_492_480, 2_230_272, 1_486_848, 1_486_848]);
    // without the product by 1/h: here the mean is one op, there a sum and a product
    let one = 132 * 4;
    assert_eq!(
        moved(&a, "smem"),
        [10_415_680 - one, 11_153_472 - one, 8_185_408 - one, 8_923_200 - one]
    );
    assert_eq!(a.peak("smem", "cta").unwrap().live_in_place, 28_164);
}

/// 512 x 512 x 1024 on 4 x 4 CTAs, k in tiles of 64.
pub fn k_tiles(atom: bool) -> Graph {
    let (m, n, k) = (512, 512, 1024);
    let mut b = Build::new();
    b.g.topology =
        vec![("cta".into(), Some(Expr::int(16))), ("thread".into(), Some(Expr::int(128)))];
    let x = b.param("a", ty(DType::F16, &[m, k]));
    let y = b.param("b", ty(DType::F16, &[k, n]));
    let (g, gx) = b.mesh("cta", 2, &[("g.m", 4), ("g.n", 4)]);
    let (r, c): (&[_], &[_]) = (&[(4, Some(gx[0])), (128, None)], &[(4, Some(gx[1])), (128, None)]);
    let acc_ty = placed(DType::F32, &[m, n], Storage::Rmem, &[r, c]);
    let out = b.in_mesh(&[g], |b| {
        let acc = b.op(&ZEROS, &[], acc_ty.clone());
        let last = b.repeat((Expr::zero(), Expr::int(k), 64), &[acc], |b, i, carried| {
            let xk = b.read(x, &[(Expr::zero(), m), (i.clone(), 64)], ty(DType::F16, &[m, 64]));
            let yk = b.read(y, &[(i, 64), (Expr::zero(), n)], ty(DType::F16, &[64, n]));
            let xs = b.op(&RESHARD, &[xk], placed(DType::F16, &[m, 64], Storage::Smem, &[r, &[]]));
            let ys = b.op(&RESHARD, &[yk], placed(DType::F16, &[64, n], Storage::Smem, &[&[], c]));
            if atom {
                b.hints = vec![hint("atom", &[])];
            }
            let p = b.op(&MATMUL, &[xs, ys], acc_ty.clone());
            let s = b.op(&ADD, &[carried[0], p], acc_ty.clone());
            b.hints.clear();
            vec![s]
        });
        b.op(&RESHARD, &[last[0]], ty(DType::F32, &[m, n]))
    });
    b.finish(out)
}

#[test]
fn loop_of_k_tiles() {
    let a = run(&k_tiles(false));
    assert_eq!(flops(&a, DType::F16), (536_870_912, 536_870_912));
    assert_eq!(flops(&a, DType::F32), (4_194_304, 4_194_304));
    assert_eq!(moved(&a, "gmem"), [2_097_152, 8_388_608, 1_048_576, 1_048_576]);
    assert_eq!(moved(&a, "smem"), [2_097_152, 8_388_608, 2_097_152, 8_388_608]);
    // its reads count 512 B of scalar indices too
    assert_eq!(moved(&a, "rmem"), [34_603_008; 4]);
    assert_eq!(a.peak("smem", "cta").unwrap().live_in_place, 32_768);
    let p = a.peak("rmem", "cta").unwrap();
    assert_eq!((p.live_in_place, p.live), (131_072, 196_608));
    assert_eq!(a.peak("gmem", "gpu").unwrap().live_in_place, 3_145_728);
}

#[test]
fn atom_accumulates_in_place() {
    let a = run(&k_tiles(true));
    assert_eq!(flops(&a, DType::F16), (536_870_912, 536_870_912));
    assert_eq!(flops(&a, DType::F32), (0, 0));
    assert_eq!(a.peak("rmem", "cta").unwrap().live_in_place, 65_536);
}
