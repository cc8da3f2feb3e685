//! Findings of `analyze --advice` on small programs: each rule finds its pattern with the size that
//! the comment derives, and does not find it in the corrected program.

use tilefoundry::analysis::advice::Finding;
use tilefoundry::analysis::record::{Certainty, Ratio};
use tilefoundry::analysis::{Analysis, Options, Show, analyze, text};
use tilefoundry::base::SourceMap;
use tilefoundry::hir::ItemRef;
use tilefoundry::session::{MemorySources, Selection, Session, Targets, points};

/// The analysis of `M`'s entry.
fn analysis(src: &str) -> Analysis {
    analysis_of("main.tf", src, "M")
}

fn analysis_of(path: &str, src: &str, module: &str) -> Analysis {
    let s = Session::open(&MemorySources::one(path, src), path, &[], Targets::default());
    let root = s.select(&Selection::parse(&format!("{path}:{module}"))).unwrap();
    let c = s.compile(root);
    let g = c.graph.as_ref().unwrap_or_else(|| panic!("does not compile: {:?}", c.diags));
    let at = ItemRef { file: root.file, module: None, item: root.module.unwrap() };
    let env = points(g, &[]).unwrap().remove(0).env;
    analyze(g, &env, s.target(at).as_deref(), &Options::default()).unwrap()
}

fn sample(file: &str, module: &str) -> Analysis {
    let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    analysis_of(file, &std::fs::read_to_string(path).unwrap(), module)
}

/// The only finding of a kind.
fn one(a: &Analysis, kind: &str) -> Finding {
    let all: Vec<&Finding> = a.advice.iter().filter(|f| f.kind == kind).collect();
    assert_eq!(all.len(), 1, "{kind}: {:#?}", a.advice);
    all[0].clone()
}

fn none(a: &Analysis, kind: &str) {
    assert!(a.advice.iter().all(|f| f.kind != kind), "{kind}: {:#?}", a.advice);
}

/// Bytes read and written that a finding names.
fn moved(f: &Finding) -> (u128, u128) {
    f.bytes.as_ref().map_or((0, 0), |b| (b.read, b.write))
}

fn time(a: &Analysis) -> Ratio {
    a.prediction.as_ref().unwrap().ps
}

/// Where a finding says that the prediction goes, and where that of the edited program is.
fn off(f: &Finding, edited: &Analysis) -> f64 {
    let to = f.saves.as_ref().unwrap().predicted.as_ref().unwrap().to_ps;
    to.as_f64() / time(edited).as_f64()
}

fn bound(a: &Analysis) -> Ratio {
    a.roofline.as_ref().unwrap().bound("placed", "cold").unwrap().ps.unwrap()
}

/// 264 rows of 7168 bf16 are 264 x 7168 x 2 B = 3,784,704 B, written by `norm` and read by `quant`.
/// Without them the bound is that of `Fused`, which is the same program in one launch.
#[test]
fn rows_between_two_launches() {
    let two = sample("tests/samples/rms_norm_quant.tf", "TwoPass");
    let f = one(&two, "gmem-round-trip");
    assert_eq!(moved(&f), (3_784_704, 3_784_704));
    assert_eq!(f.is, Certainty::Exact);
    assert_eq!(f.sites.len(), 2);
    let fused = sample("tests/samples/rms_norm_quant.tf", "Fused");
    assert!((off(&f, &fused) - 1.0).abs() < 0.01, "{}", off(&f, &fused));
    let s = f.saves.unwrap();
    assert_eq!(s.bound_ps, bound(&fused));
    assert_eq!(s.ps, bound(&two).minus(bound(&fused)));
    none(&fused, "gmem-round-trip");
}

/// 4 MiB rows on 2 CTAs: one mesh over the ops moves less and takes the work of 132 units on 2 of
/// them. That is predicted slower, and not what to do next. Of 132 rows it lowers both. Of 2 rows
/// of 28 KiB it is slower only by its launch, which the report says.
#[test]
fn what_is_predicted_slower_is_not_next() {
    let next = |a: &Analysis| {
        let text = text(a, &SourceMap::default(), Show::all());
        let lines = text.lines().skip_while(|l| !l.starts_with("next"));
        lines.take(2).collect::<Vec<_>>().join("\n")
    };
    let few = analysis(
        "module M { target \"nvidia.h200_sxm\"; entry func main(x: f32[2, 1048576]) -> \
         f32[2, 1048576] { exp(x / sum(x, dim = 1, keepdim = true)) * x } }",
    );
    let f = few.advice.iter().find(|f| f.kind == "gmem-round-trip").unwrap();
    let s = f.saves.as_ref().unwrap();
    let p = s.predicted.as_ref().unwrap();
    assert!(s.ps.num > 0 && p.to_ps.minus(p.launch_ps) > p.from_ps, "{p:?}");
    assert!(
        next(&few).starts_with("next: nothing found lowers the predicted time"),
        "{}",
        next(&few)
    );
    let file = "examples/rms_norm_quant/rms_norm_quant.tf";
    let (loose, fused) = (sample(file, "Landed"), sample(file, "Fused"));
    let launch = fused.prediction.as_ref().unwrap().launches[0].overhead_ps;
    assert!(time(&fused) > time(&loose) && time(&fused).minus(launch) < time(&loose));
    let p = one(&loose, "gmem-round-trip").saves.unwrap().predicted.unwrap();
    assert!(p.to_ps > p.from_ps && p.launch_ps == launch, "{p:?}");
    let said = next(&loose);
    assert!(
        said.contains("gmem-round-trip") && said.contains("which is more: ops outside"),
        "{said}"
    );
    let file = "examples/residual_rms_norm/residual_rms_norm.tf";
    let (loose, fused) = (sample(file, "Logical"), sample(file, "AddNorm"));
    let f = one(&loose, "gmem-round-trip");
    assert!((off(&f, &fused) - 1.0).abs() < 0.1, "{}", off(&f, &fused));
    assert!(next(&loose).contains("gmem-round-trip"), "{}", next(&loose));
}

/// 260 elements over 256 threads of 2 have 252 slots of padding: the 14 `exp` of each slot bind, and
/// nothing else gives as much.
#[test]
fn padding_that_binds_comes_first() {
    let many = "exp(".repeat(14) + "r" + &")".repeat(14);
    let a = analysis(&format!(
        "module M {{ target \"nvidia.h200_sxm\"; topology cta, thread = 256; \
         entry func main(x: f32[8448, 260]) -> f32[8448, 260] {{ \
         mesh g = cta[p: 8448], t = thread[x: 256] {{ \
         let r = reshard(x, rmem[8448 @ g.p, pad(2, 256 @ t.x)]); reshard({many}, gmem) }} }} }}"
    ));
    assert_eq!(a.advice.first().unwrap().kind, "padding", "{:#?}", a.advice);
}

/// A split that is named divides: of parts of 126 of a padded axis and of 2700, 48 times as many CTAs
/// would be 1/6 of the 2700; 4 does not divide 2700 to fit.
#[test]
fn a_split_that_would_fit_divides() {
    let a = placed(
        "(x: f32[1000, 2700]) -> f32[1000, 2700]",
        "mesh g = cta[p: 8] {
            let r = reshard(x, smem[pad(126, 8 @ g.p), 2700]);
            reshard(exp(r), gmem)
        }",
    );
    let smem = a.capacity.iter().find(|p| p.exceeded).unwrap();
    let fit = smem.would_fit.first().unwrap();
    let part: u64 = fit
        .split_once("an axis of 2700 in ")
        .unwrap()
        .1
        .split(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(2700 % part == 0 && fit.contains(&format!("over {} ctas", 8 * part)), "{fit}");
    let idle = one(&a, "idle-units");
    let times: u64 =
        idle.edit.split_once("1/").unwrap().1.split(' ').next().unwrap().parse().unwrap();
    assert!(2700 % times == 0, "{}", idle.edit);
}

/// Three ops outside meshes on f32[1024]: two values go through gmem, 4096 B each; the first is
/// read twice.
#[test]
fn ops_outside_meshes() {
    let a = analysis(
        r#"module M {
    target "nvidia.h200_sxm";
    entry func main(x: f32[1024]) -> f32[1024] {
        let a = exp(x);
        let b = a * a;
        b + x
    }
}"#,
    );
    let f = one(&a, "gmem-round-trip");
    assert_eq!(moved(&f), (3 * 4096, 2 * 4096));
}

/// The result of the first product, f32[64, 256], 65,536 B, can stay where it is made: it is written
/// and read once. That of `relu` cannot: a block of rows of the second product would need all of
/// `w2` again.
#[test]
fn two_products_are_two_ops() {
    let a = analysis(
        r#"module M {
    target "nvidia.h200_sxm";
    entry func main(x: f32[64, 128], w1: f32[128, 256], w2: f32[256, 128]) -> f32[64, 128] {
        matmul(relu(matmul(x, w1)), w2)
    }
}"#,
    );
    let f = one(&a, "gmem-round-trip");
    assert_eq!(moved(&f), (65_536, 65_536));
    assert_eq!(f.is, Certainty::Exact);
    // a batch of such pairs is as many blocks: both intermediate results stay, 4 x 65,536 B each
    let a = analysis(
        r#"module M {
    target "nvidia.h200_sxm";
    entry func main(
        x: f32[4, 64, 128],
        w1: f32[4, 128, 256],
        w2: f32[4, 256, 128],
    ) -> f32[4, 64, 128] {
        matmul(relu(matmul(x, w1)), w2)
    }
}"#,
    );
    let f = one(&a, "gmem-round-trip");
    assert_eq!(moved(&f), (2 * 262_144, 2 * 262_144));
    assert!(f.what.contains("4 blocks"), "{}", f.what);
}

/// The sums of columns, f32[1, 1024], 4096 B, are used by columns and stay; the quotients, 1 MiB, are
/// made by columns and used by rows, and no CTA can hold them all.
#[test]
fn columns_then_rows() {
    let of = |n: u32| {
        analysis(&format!(
            "module M {{ target \"nvidia.h200_sxm\"; entry func main(x: f32[{n}, 1024]) -> f32[{n}] \
             {{ sum(x / sum(x, dim = 0, keepdim = true), dim = 1) }} }}"
        ))
    };
    assert_eq!(moved(&one(&of(256), "gmem-round-trip")), (4096, 4096));
    // 16 rows are 65,536 B, which fit one CTA with the sums
    let f = one(&of(16), "gmem-round-trip");
    assert_eq!(moved(&f), (4096 + 65_536, 4096 + 65_536));
    assert!(f.what.contains("one position can hold"), "{}", f.what);
}

/// The body of `main` in a module with a grid of CTAs of 128 threads.
fn placed(signature: &str, body: &str) -> Analysis {
    analysis(&format!(
        "module M {{ target \"nvidia.h200_sxm\"; topology cta, thread = 128; \
         entry func main{signature} {{ {body} }} }}"
    ))
}

/// 8 positions load all of x, 4096 B: if they share one load, 7 x 4096 B are not read again. A tile
/// of a loop has no positions to share with; twice the tile loads half.
#[test]
fn one_tile_for_every_position() {
    let all = "(x: f32[1024], y: f32[8, 1024]) -> f32[8, 1024]";
    let a = placed(
        all,
        "mesh g = cta[p: 8] {
            let xs = reshard(x, smem);
            let ys = reshard(y, rmem[8 @ g.p, 1024]);
            reshard(ys * xs, gmem)
        }",
    );
    let f = one(&a, "repeated-load");
    assert_eq!(moved(&f), (7 * 4096, 0));
    assert!(f.what.contains("8 times") && f.what.contains("g.p (8)"), "{}", f.what);
    let b = placed(
        all,
        "mesh g = cta[p: 8] {
            let xs = reshard(x, smem[1024 @ g.p]);
            let ys = reshard(y, rmem[8, 1024 @ g.p]);
            reshard(ys * xs, gmem)
        }",
    );
    none(&b, "repeated-load");
    // each of 8 trips loads all of x
    let c = placed(
        all,
        "let mut o = empty(f32[8, 1024]);
        mesh g = cta[p: 1] {
            for i in 0..8 {
                let xs = reshard(x, smem);
                o[i] = reshard(y[i], rmem) * xs;
            }
        }
        o",
    );
    let f = one(&c, "repeated-load");
    assert_eq!(moved(&f), (4 * 4096, 0));
    assert!(f.edit.contains("4 loads of it instead of 8"), "{}", f.edit);
}

/// A cluster holds 8 CTAs at most: with 4 in each, a load can reach those 4, or those of 2 clusters.
#[test]
fn a_group_has_room_for_few_more() {
    let of = |hints: &str| {
        analysis(&format!(
            "module M {{ target \"nvidia.h200_sxm\"; topology cluster = 32, cta = 4, thread = 128;
             entry func f(w: bf16[1000]) -> f32[128, 8] {{
                 let mut o = empty(f32[128, 8]);
                 mesh c = cluster[i: 32], g = cta[row: 4], t = thread[l: 128] {{
                     {hints}
                     let ws = reshard(w, smem);
                     o[c.i * 4 + g.row, ..] = cast(ws[..8], f32);
                 }}
                 o
             }} }}"
        ))
    };
    let f = one(&of("#[via(tma)]"), "repeated-load");
    assert!(f.edit.contains("let 4 positions along g.row share"), "{}", f.edit);
    assert_eq!(moved(&f), (128 * 2000 - 32 * 2000, 0));
    let f = one(&of("#[via(tma), multicast]"), "repeated-load");
    assert!(f.edit.contains("let 2 positions along c.i share"), "{}", f.edit);
    assert_eq!(moved(&f), (32 * 2000 - 16 * 2000, 0));
}

/// 256 f32 are 1024 B of smem, read to rmem and written back.
#[test]
fn there_and_back() {
    let all = "(x: f32[256]) -> f32[256]";
    let a = placed(
        all,
        "mesh g = cta[p: 2] {
            let a = reshard(x, smem[256 @ g.p]);
            let b = reshard(a, rmem[256 @ g.p]);
            let c = reshard(b, smem[256 @ g.p]);
            reshard(exp(c), gmem)
        }",
    );
    let f = one(&a, "reshard-back");
    assert_eq!(f.bytes.as_ref().unwrap().of, "smem");
    assert_eq!(moved(&f), (1024, 1024));
    assert!(f.edit.contains("use `a` instead of `c`"), "{}", f.edit);
    let b = placed(
        all,
        "mesh g = cta[p: 2] {
            let a = reshard(x, smem[256 @ g.p]);
            let b = reshard(a, rmem[256 @ g.p]);
            reshard(exp(b), gmem)
        }",
    );
    none(&b, "reshard-back");
}

/// 1024 f32 are 4096 B written and 4096 B read; as bf16 they are half of it.
#[test]
fn stored_wider_than_used() {
    let all = "(x: f32[1024]) -> bf16[1024]";
    let src = |body: &str| {
        analysis(&format!(
            "module M {{ target \"nvidia.h200_sxm\"; entry func main{all} {{ {body} }} }}"
        ))
    };
    let a = src("let a = exp(x); cast(a, bf16)");
    let f = one(&a, "wide-value");
    assert_eq!(moved(&f), (2048, 2048));
    none(&src("let a = exp(cast(x, bf16)); a * a"), "wide-value");
}

/// 8 trips load the same 512 B: 7 of them for nothing.
#[test]
fn the_same_in_every_trip() {
    let all = "(x: f32[128], y: f32[8, 128]) -> f32[8, 128]";
    let body = |before: &str, inside: &str| {
        placed(
            all,
            &format!(
                "let mut o = empty(f32[8, 128]);
                mesh g = cta[p: 1] {{
                    {before}
                    for i in 0..8 {{
                        {inside}
                        o[i] = xs * reshard(y[i], rmem);
                    }}
                }}
                o"
            ),
        )
    };
    let a = body("", "let xs = exp(reshard(x, rmem));");
    let f = one(&a, "loop-invariant");
    assert_eq!(moved(&f), (7 * 512, 0));
    assert!(f.what.contains("8 trips"), "{}", f.what);
    none(&body("let xs = exp(reshard(x, rmem));", ""), "loop-invariant");
}

/// 1000 elements on 128 threads of 8 are 1024: 24 of them padding. 125 threads hold all.
#[test]
fn more_than_there_is() {
    let a = placed(
        "(x: f32[1000]) -> f32[1000]",
        "mesh g = cta[p: 1], t = thread[l: 128] {
            let r = reshard(x, rmem[pad(128 @ t.l, 8)]);
            reshard(exp(r), gmem)
        }",
    );
    let f = one(&a, "padding");
    assert!(f.what.contains("1024 elements, of which 24 are padding"), "{}", f.what);
    assert!(f.edit.contains("125 positions"), "{}", f.edit);
    let b = placed(
        "(x: f32[1000]) -> f32[1000]",
        "mesh g = cta[p: 1], t = thread[l: 125] {
            let r = reshard(x, rmem[(125 @ t.l, 8)]);
            reshard(exp(r), gmem)
        }",
    );
    none(&b, "padding");
}

/// A CTA has 227 KiB of smem, 232,448 B: 57,000 f32 are 228,000 B (98 %), 64,000 are 256,000 B.
#[test]
fn full_and_too_full() {
    let of = |n: u32| {
        placed(
            &format!("(x: f32[{n}]) -> f32[{n}]"),
            "mesh g = cta[p: 1] { let s = reshard(x, smem); reshard(exp(s), gmem) }",
        )
    };
    let near = one(&of(57_000), "capacity");
    assert!(!near.blocking && near.what.contains("smem of a cta takes 223 KiB"), "{}", near.what);
    let over: Vec<Finding> =
        of(64_000).advice.into_iter().filter(|f| f.kind == "capacity").collect();
    let smem = over.iter().find(|f| f.what.starts_with("smem")).unwrap();
    assert!(smem.blocking && smem.edit.contains("a split over 2 ctas"), "{}", smem.edit);
    none(&of(32_000), "capacity");
}

/// An SM has 228 KiB for its CTAs and takes 1 KiB of each: two need at most 113 KiB each, 115,712 B.
/// 29,000 f32 are 116,000 B, rounded to 16: 0.3 % too much. With 28,900, 115,600 B, two fit.
#[test]
fn almost_two_on_a_unit() {
    let of = |n: u32| {
        placed(
            &format!("(x: f32[400, {n}]) -> f32[400, 1]"),
            &format!(
                "mesh g = cta[p: 400] {{
                    let s = reshard(x, smem[400 @ g.p, {n}]);
                    reshard(sum(s, dim = 1, keepdim = true), gmem)
                }}"
            ),
        )
    };
    let f = one(&of(29_000), "occupancy");
    assert!(f.edit.contains("115712 B") && f.edit.contains("hold 2"), "{}", f.edit);
    none(&of(28_900), "occupancy");
}

/// 33 CTAs on 132 SMs: an even spread takes a quarter of the time of the exponentials.
#[test]
fn fewer_positions_than_units() {
    let of = |n: u32, split: u32| {
        placed(
            &format!("(x: f32[{n}, 4096]) -> f32[{n}, 4096]"),
            &format!(
                "mesh g = cta[p: {split}] {{
                    let r = reshard(x, rmem[{n} @ g.p, 4096]);
                    reshard(exp(r), gmem)
                }}"
            ),
        )
    };
    let a = of(33, 33);
    let f = one(&a, "idle-units");
    assert!(f.what.contains("99 are idle") && f.edit.contains("132 ctas of 1/4"), "{}", f.edit);
    let s = f.saves.unwrap();
    let sfu = a.roofline.as_ref().unwrap().bound("placed", "cold").unwrap();
    let sfu = sfu.rows.iter().find(|r| r.resource == "sfu").unwrap().ps.unwrap();
    // three quarters of it are saved
    assert_eq!(s.resource.as_deref(), Some("sfu"));
    assert_eq!(s.resource_ps, Ratio::new(sfu.num * 3, sfu.den * 4));
    none(&of(132, 132), "idle-units");
}

/// 140 CTAs on 132 SMs: 8 SMs run two, so the units are 140 / 264 = 53 % busy. 264 fill two waves.
#[test]
fn a_last_wave_of_eight() {
    let of = |n: u32| {
        placed(
            &format!("(x: f32[{n}, 1024]) -> f32[{n}, 1024]"),
            &format!(
                "mesh g = cta[p: {n}] {{
                    let r = reshard(x, rmem[{n} @ g.p, 1024]);
                    reshard(exp(r), gmem)
                }}"
            ),
        )
    };
    let f = one(&of(140), "last-wave");
    assert!(f.what.contains("53% busy"), "{}", f.what);
    assert!(f.edit.contains("132 ctas fill 1") && f.edit.contains("264 fill 2"), "{}", f.edit);
    none(&of(264), "last-wave");
}

/// 4.8e12 B/s x 353 ns = 1,694,400 B in flight, of 132 CTAs each 12,837 B. Tiles of 4096 B need a
/// ring of 4 (16,384 B); of 2 they have 8192 B.
#[test]
fn a_ring_of_two() {
    let of = |depth: u32| {
        placed(
            "(x: f32[132, 65536]) -> f32[132, 1]",
            &format!(
                "mesh g = cta[p: 132] {{
                    let mut acc: f32[132, 1] in rmem[132 @ g.p, 1] = zeros(f32[132, 1]);
                    for k in tile(65536, 1024) {{
                        #[via(cp_async), buffers({depth})]
                        let t = reshard(x[.., k], smem[132 @ g.p, 1024]);
                        acc = acc + sum(t, dim = 1, keepdim = true);
                    }}
                    reshard(acc, gmem)
                }}"
            ),
        )
    };
    let shallow = of(2);
    let f = one(&shallow, "shallow-ring");
    assert!(f.edit.contains("`#[buffers(4)]`"), "{}", f.edit);
    let deep = of(4);
    let saves = f.saves.unwrap();
    assert_eq!(saves.bound_ps, bound(&deep));
    let predicted = saves.predicted.unwrap();
    assert_eq!((predicted.from_ps, predicted.to_ps), (time(&shallow), time(&deep)));
    none(&deep, "shallow-ring");
}

/// No instruction of this device multiplies f32. 4 rows are half of the 8 columns of `mma.sync`,
/// turned around, and a quarter of its 16 rows.
#[test]
fn products_off_the_matrix_unit() {
    let of = |t: &str, out: &str| {
        placed(
            &format!("(a: {t}[16, 128], b: {t}[128, 128]) -> {out}[16, 128]"),
            &format!(
                "mesh g = cta[p: 1] {{
                    let at = reshard(a, smem);
                    let bt = reshard(b, smem);
                    reshard(matmul(at, bt, out = {out}), gmem)
                }}"
            ),
        )
    };
    let f = one(&of("f32", "f32"), "matrix-unit");
    assert!(f.what.contains("no matrix rate") && f.edit.contains("tf32"), "{} {}", f.what, f.edit);
    none(&of("bf16", "f32"), "matrix-unit");
    let small = placed(
        "(a: bf16[4, 128], b: bf16[128, 128]) -> f32[4, 128]",
        "mesh g = cta[p: 1] {
            let at = reshard(a, smem);
            let bt = reshard(b, smem);
            reshard(matmul(at, bt, out = f32), gmem)
        }",
    );
    let f = one(&small, "matrix-unit");
    assert!(f.what.contains("4 x 128 x 128 fills 50%"), "{}", f.what);
    assert!(f.saves.unwrap().beyond);
}

/// An exponential of each of 4096 resident elements, 64 times over: nothing else is near the unit
/// of special functions.
#[test]
fn special_functions_bind() {
    let of = |body: &str| {
        placed(
            "(x: f32[132, 1024]) -> f32[132, 1024]",
            &format!(
                "mesh g = cta[p: 132] {{
                    let mut r = reshard(x, rmem[132 @ g.p, 1024]);
                    for i in 0..64 {{ r = {body}; }}
                    reshard(r, gmem)
                }}"
            ),
        )
    };
    let f = one(&of("exp(r)"), "scalar-unit");
    assert!(f.what.contains("`sfu` binds with 8.65M results; `exp` makes 100%"), "{}", f.what);
    assert_eq!(f.is, Certainty::UpperBound);
    none(&of("r * r"), "scalar-unit");
}

/// 8 trips complete one f32 for each of 4 rows over 32 lanes. Once is an eighth of it.
#[test]
fn completed_in_every_trip() {
    let of = |inside: &str, behind: &str| {
        placed(
            "(x: f32[4, 1024]) -> f32[4, 1]",
            &format!(
                "mesh g = cta[p: 1], t = thread[r: 4, l: 32] {{
                    let mut acc = {inside};
                    for k in tile(1024, 128) {{
                        let v = reshard(x[.., k], rmem[4 @ t.r, (32 @ t.l, 4)]);
                        acc = acc + {behind};
                    }}
                    reshard(complete(acc), gmem)
                }}"
            ),
        )
    };
    let f = one(&of("zeros(f32[4, 1])", "complete(sum(v, dim = 1, keepdim = true))"), "partial");
    assert!(f.what.contains("8 trips"), "{}", f.what);
    // each thread sends 2 x 4 B x 31 / 32, rounded up to 8 B; 128 threads, 7 of 8 trips
    assert_eq!(moved(&f), (0, 128 * 8 * 7));
}

/// The same sum without `complete` in the loop: the carried value is partial.
#[test]
fn completed_once() {
    let a = placed(
        "(x: f32[4, 1024]) -> f32[4, 1]",
        "mesh g = cta[p: 1], t = thread[r: 4, l: 32] {
            let first = reshard(x[.., 0..128], rmem[4 @ t.r, (32 @ t.l, 4)]);
            let mut acc = sum(first, dim = 1, keepdim = true);
            for k in tile(128..1024, 128) {
                let v = reshard(x[.., k], rmem[4 @ t.r, (32 @ t.l, 4)]);
                acc = acc + sum(v, dim = 1, keepdim = true);
            }
            reshard(complete(acc), gmem)
        }",
    );
    none(&a, "partial");
}

/// A row's sum is one f32; times a vector of 8 it is eight times as large when it is completed.
#[test]
fn completed_after_it_has_grown() {
    let of = |value: &str| {
        placed(
            "(x: f32[4, 128], y: f32[1, 8]) -> f32[4, 8]",
            &format!(
                "mesh g = cta[p: 1], t = thread[r: 4, l: 32] {{
                    let v = reshard(x, rmem[4 @ t.r, (32 @ t.l, 4)]);
                    let w = reshard(y, rmem);
                    let s = sum(v, dim = 1, keepdim = true);
                    reshard({value}, gmem)
                }}"
            ),
        )
    };
    let f = one(&of("complete(s * w)"), "partial");
    assert!(f.what.contains("`s`") && f.what.contains("8 times as large"), "{}", f.what);
    none(&of("complete(s) * w"), "partial");
}

/// Lane l reads row l, 16 B at a time. The rows are 128 B apart, so that 8 lanes, which together
/// could have all 32 banks, ask 4 banks for 8 words each: 8 steps instead of 1, 4 times over. A
/// swizzle of 16 B parts by the row sends them to different banks; lanes along the columns are
/// neighbours.
#[test]
fn rows_in_one_bank() {
    let of = |layout: &str, split: &str| {
        placed(
            "(x: f32[32, 32]) -> f32[32, 32]",
            &format!(
                "mesh g = cta[p: 1], t = thread[l: 32] {{
                    let s = reshard(x, smem {layout});
                    let r = reshard(s, rmem[{split}]);
                    reshard(exp(r), gmem)
                }}"
            ),
        )
    };
    let f = one(&of("", "32 @ t.l, 32"), "bank-conflict");
    assert!(f.what.contains("32 steps where 4 would do"), "{}", f.what);
    assert!(f.edit.contains("smem swizzle(3, 4, 3)"), "{}", f.edit);
    none(&of("swizzle(3, 4, 3)", "32 @ t.l, 32"), "bank-conflict");
    none(&of("", "32, 32 @ t.l"), "bank-conflict");
}

/// One f32 of each of 32 rows that are 4096 B apart: 32 sectors of 32 B for 128 B, which 4 would
/// hold; 32 / 4 x 128 - 128 = 896 B too many. Rows that neighbours read 16 B at a time have none.
#[test]
fn one_element_of_each_row() {
    let a = placed(
        "(x: f32[32, 1024]) -> f32[32, 1]",
        "mesh g = cta[p: 1], t = thread[l: 32] {
            let r = reshard(x[.., 0..1], rmem[32 @ t.l, 1]);
            reshard(exp(r), gmem)
        }",
    );
    let f = one(&a, "uncoalesced");
    assert!(f.what.contains("32 sectors of 32 B where 4 would do"), "{}", f.what);
    assert_eq!(moved(&f), (896, 0));
    let b = placed(
        "(x: f32[1024]) -> f32[1024]",
        "mesh g = cta[p: 1], t = thread[l: 32] {
            let r = reshard(x, rmem[(8, 32 @ t.l, 4)]);
            reshard(exp(r), gmem)
        }",
    );
    none(&b, "uncoalesced");
}

/// Each of 32 lanes has 4 bf16 that are 32 apart: 2 B an access, where 4 in a row are 8 B.
#[test]
fn two_bytes_at_a_time() {
    let of = |split: &str| {
        placed(
            "(x: bf16[128]) -> bf16[128]",
            &format!(
                "mesh g = cta[p: 1], t = thread[l: 32] {{
                    let r = reshard(x, rmem[{split}]);
                    reshard(exp(r), gmem)
                }}"
            ),
        )
    };
    let f = one(&of("(4, 32 @ t.l)"), "narrow-access");
    assert!(f.what.contains("`x` 2 B at a time") && f.edit.contains("8 accesses"), "{}", f.edit);
    assert_eq!(f.sites.len(), 2);
    none(&of("(32 @ t.l, 4)"), "narrow-access");
}

/// x, f32[64, 4096], is 1 MiB. `first` splits its rows over 64 positions and `second` its columns over
/// n: each of those reads a part of what all 64 wrote. Over 8 parts of the columns in `first` too,
/// the rows over 8, one reads what 8 wrote, as many as a cluster of the target has.
#[test]
fn a_value_split_one_way_and_another() {
    let two = |first: &str, second: &str| {
        placed(
            "(x: f32[64, 4096]) -> f32[64, 4096]",
            &format!(
                "let y = mesh g = cta[r: 8, c: 8] {{
                    reshard(exp(reshard(x, rmem[{first}])), gmem)
                }};
                mesh g = cta[r: 8, c: 8] {{
                    reshard(exp(reshard(y, rmem[{second}])), gmem)
                }}"
            ),
        )
    };
    let mib = 64 * 4096 * 4;
    let rows = "64 @ (g.r, g.c), 4096";
    let a = two(rows, "64, 4096 @ (g.r, g.c)");
    let f = one(&a, "gmem-round-trip");
    assert_eq!((moved(&f), f.is), ((mib, mib), Certainty::UpperBound));
    assert!(f.edit.contains("what 64 ctas of"), "{}", f.edit);
    assert!(f.edit.contains("more than the 8 of a cluster"), "{}", f.edit);

    let b = two(rows, "64 @ g.r, 4096 @ g.c");
    let f = one(&b, "gmem-round-trip");
    assert_eq!((moved(&f), f.is), ((mib, mib), Certainty::UpperBound));
    assert!(f.edit.contains("groups of 8 ctas, each in a cluster"), "{}", f.edit);

    // split alike, nothing is to be exchanged
    let f = one(&two(rows, rows), "gmem-round-trip");
    assert_eq!((moved(&f), f.is), ((mib, mib), Certainty::Exact));
    assert!(f.edit.contains("alike"), "{}", f.edit);

    // in one launch it stays where it is
    let fused = placed(
        "(x: f32[64, 4096]) -> f32[64, 4096]",
        &format!(
            "mesh g = cta[r: 8, c: 8] {{ reshard(exp(exp(reshard(x, rmem[{rows}]))), gmem) }}"
        ),
    );
    none(&fused, "gmem-round-trip");
}

/// One position of 64 reads 64 rows of 4096 f32, 1 MiB, a row a trip, when it uses them: 16 KiB are
/// under way. 4.8 TB/s for 346.4 ns are 1.66 MB, 25,980 B of each of 64 positions: 2 rows.
#[test]
fn loads_without_a_ring() {
    let all = "(x: f32[64, 64, 4096]) -> f32[64, 4096]";
    let body = |row: &str| {
        format!(
            "let mut o = empty(f32[64, 4096]);
            mesh g = cta[p: 64] {{
                let mut acc = zeros(f32[4096]);
                for i in 0..64 {{
                    {row}
                    acc = acc + r;
                }}
                o[g.p] = acc;
            }}
            o"
        )
    };
    let a = placed(all, &body("let r = exp(x[g.p, i]);"));
    let f = one(&a, "shallow-ring");
    assert!(f.what.contains("no ring") && f.what.contains("16 KiB"), "{}", f.what);
    assert!(f.edit.contains("buffers(2)") && f.edit.contains("reshard(.., smem)"), "{}", f.edit);
    assert_eq!(f.is, Certainty::UpperBound);
    let b = placed(all, &body("#[via(cp_async), buffers(2)] let r = reshard(x[g.p, i], smem);"));
    none(&b, "shallow-ring");
}

/// 4 x 128 x 64 multiply-adds, with 2 columns of the first operand in each of 32 lanes: every lane
/// multiplies for itself, as many multiply-adds of a scalar unit as twice the flops of a matrix unit.
/// With the operands whole the product is the matrix unit's.
#[test]
fn products_split_over_lanes() {
    let product = |k: &str, end: &str| {
        placed(
            "(x: bf16[4, 64], w: bf16[128, 64]) -> f32[4, 128]",
            &format!(
                "mesh g = cta[p: 1], t = thread[lane: 32] {{
                    let a = reshard(x, rmem[4, {k}]);
                    let b = reshard(w, rmem[128, {k}]);
                    reshard({end}(matmul(a, b, transpose_b = true, out = f32)), gmem)
                }}"
            ),
        )
    };
    let split = product("64 @ t.lane", "complete");
    assert_eq!(split.costs.work("fma.f32").unwrap().total, 4 * 128 * 64);
    assert!(split.costs.work("tensor.bf16").is_none());
    let flops = split.costs.flops.iter().map(|f| f.total).sum::<u128>();
    assert_eq!(flops, 2 * 4 * 128 * 64);
    let f = one(&split, "matrix-unit");
    assert!(f.what.contains("split over `t.lane`") && f.what.contains("fma.f32"), "{}", f.what);
    // the device is not bound by how it is split
    let device = split.roofline.as_ref().unwrap().bound("device", "cold").unwrap();
    assert!(
        device.rows.iter().any(|r| r.resource == "tensor.bf16" && r.amount == 2 * 4 * 128 * 64)
    );
}
