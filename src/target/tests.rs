use super::*;

fn target(id: &str) -> Target {
    match Target::builtin(id) {
        Ok(t) => t,
        Err(e) => panic!("{e}"),
    }
}

fn value<T: Copy>(d: &Datum<T>) -> T {
    d.known().unwrap().value
}

fn capacity(t: &Target, storage: &str) -> u64 {
    value(&t.storage(storage).unwrap().capacity)
}

fn pool(t: &Target, storage: &str) -> u64 {
    value(t.storage(storage).unwrap().pool.as_ref().unwrap())
}

fn peak(t: &Target, resource: &str) -> f64 {
    t.rate_or_reason(RateSet::Peak, resource).unwrap().value
}

#[test]
fn every_document_checks() {
    for id in ids() {
        let t = target(id);
        assert_eq!(t.id(), id);
        assert!(t.grid_level().is_some_and(|l| l.grid) && t.grid_unit().is_some(), "{id}");
        for row in t.facts() {
            assert!(!row.source.is_empty(), "{id}: {}", row.path);
        }
        for i in t.instructions() {
            assert_eq!(t.instruction(&i.hint), Some(i));
        }
        assert_eq!(check(id, builtin_device(id).unwrap(), |_| None), Ok(DocumentKind::Device));
    }
    for id in architecture_ids() {
        let text = builtin_architecture(id).unwrap();
        assert_eq!(check(id, text, |_| None), Ok(DocumentKind::Architecture), "{id}");
    }
}

#[test]
fn device_facts() {
    // count, clock, memory, L2, memory bandwidth, f32, f16, f8
    let table = [
        (
            "nvidia.h200_sxm",
            132,
            1_982_717_803.0,
            141_000_000_000,
            62_914_560,
            [4.8e12, 67e12, 989.5e12, 1979e12],
        ),
        (
            "nvidia.b200_sxm",
            148,
            1_979_518_581.0,
            180_000_000_000,
            132_644_864,
            [7.672e12, 75e12, 2250e12, 4500e12],
        ),
        (
            "nvidia.rtx_6000_ada",
            142,
            2_506_051_936.0,
            48_000_000_000,
            100_663_296,
            [0.96e12, 91.1e12, 364e12, 728.5e12],
        ),
    ];
    for (id, sms, clock, memory, l2, [bandwidth, f32, f16, f8]) in table {
        let t = target(id);
        assert_eq!(value(&t.unit("sm").unwrap().count), sms, "{id}");
        assert_eq!(t.clock(RateSet::Peak).unwrap().value, clock, "{id}");
        assert_eq!(capacity(&t, "gmem"), memory, "{id}");
        assert_eq!(value(&t.cache("l2").unwrap().capacity), l2, "{id}");
        assert_eq!(peak(&t, "gmem"), bandwidth, "{id}");
        assert_eq!(peak(&t, "fma.f32"), f32 / 2.0, "{id}");
        assert_eq!(peak(&t, "tensor.f16"), f16, "{id}");
        assert_eq!(peak(&t, "tensor.bf16"), f16, "{id}");
        assert_eq!(peak(&t, "tensor.f8e4m3"), f8, "{id}");
        // The clock is the one that the f32 rate implies.
        let per_clock = peak(&t, "fma.f32") / clock / sms as f64;
        assert!((per_clock - 128.0).abs() < 1e-6, "{id}: {per_clock}");
        assert_eq!(peak(&t, "sfu"), 16.0 * sms as f64 * clock, "{id}");
        assert_eq!(peak(&t, "int"), 64.0 * sms as f64 * clock, "{id}");
    }
    assert_eq!(peak(&target("nvidia.b200_sxm"), "tensor.f4e2m1"), 9000e12);
    let h200 = target("nvidia.h200_sxm");
    let why = h200.rate_or_reason(RateSet::Peak, "tensor.f4e2m1").unwrap_err();
    assert_eq!(why, "the architecture has no f4 matrix unit");
    assert_eq!(value(h200.storage("gmem").unwrap().latency.as_ref().unwrap()), 346.1);
    assert_eq!(h200.rate(RateSet::Sustained, "gmem").unwrap().value, 4.099e12);
    assert_eq!(h200.rate(RateSet::Sustained, "gmem").unwrap().origin, Origin::Measured);
    assert_eq!(h200.clock(RateSet::Sustained).unwrap().value, 1.952e9);
    let a100 = target("nvidia.a100_sxm_80gb");
    assert!(a100.rate(RateSet::Sustained, "smem").is_none(), "bandwidths must be measured");
    assert!(a100.cost("launch").is_err());
}

#[test]
fn per_unit_facts() {
    // architecture's device, smem per sm, per CTA, L1, threads, CTAs
    let table = [
        ("nvidia.a100_sxm_80gb", 167_936, 166_912, 196_608, 2048, 32),
        ("nvidia.rtx_6000_ada", 102_400, 101_376, 131_072, 1536, 24),
        ("nvidia.h100_sxm", 233_472, 232_448, 262_144, 2048, 32),
        ("nvidia.b200_sxm", 233_472, 232_448, 262_144, 2048, 32),
    ];
    for (id, per_sm, per_cta, l1, threads, ctas) in table {
        let t = target(id);
        assert_eq!(pool(&t, "smem"), per_sm, "{id}");
        assert_eq!(capacity(&t, "smem"), per_cta, "{id}");
        assert_eq!(value(t.storage("smem").unwrap().reserved.as_ref().unwrap()), 1024);
        assert_eq!(value(&t.cache("l1").unwrap().capacity), l1, "{id}");
        let sm = t.grid_unit().unwrap();
        assert_eq!(value(&sm.resident["thread"]), threads, "{id}");
        assert_eq!(value(&sm.resident["cta"]), ctas, "{id}");
        assert_eq!(pool(&t, "rmem"), 65_536 * 4);
        assert_eq!(capacity(&t, "rmem"), 255 * 4);
        assert_eq!(t.extent("thread", "cta"), Extent::AtMost(1024));
        assert_eq!(t.extent("warp", "cta"), Extent::AtMost(32));
        assert_eq!(t.extent("thread", "warpgroup"), Extent::Exactly(128));
        assert_eq!(t.extent("thread", "warp"), Extent::Exactly(32));
        assert_eq!(t.extent("warp", "warpgroup"), Extent::Exactly(4));
        assert_eq!(t.extent("cta", "gpu"), Extent::Unstated);
        assert_eq!(t.extent("cta", "thread"), Extent::Unstated);
        assert_eq!(t.storage("tmem").is_some(), id == "nvidia.b200_sxm");
    }
    let b200 = target("nvidia.b200_sxm");
    assert_eq!(capacity(&b200, "tmem"), 262_144);
    assert_eq!(b200.extent("cta", "cluster"), Extent::AtMost(8));
    let h200 = target("nvidia.h200_sxm");
    assert_eq!(peak(&h200, "smem"), 128.0 * 132.0 * 1_982_717_803.0);
    assert_eq!(value(&h200.storage("smem").unwrap().align["swizzle"]), 128);
}

#[test]
fn instruction_families() {
    let h200 = target("nvidia.h200_sxm");
    let wgmma = h200.instruction("wgmma").unwrap();
    assert_eq!((wgmma.participants, wgmma.level.as_str()), (128, "warpgroup"));
    assert_eq!(wgmma.b, ["smem"]);
    assert_eq!(wgmma.acc, ["rmem"]);
    use DType::{Bf16, F8e4m3, F8e5m2, F16, F32};
    let fits = |a, b, tile| wgmma.forms.iter().any(|f| f.fits(a, b, F32, tile));
    assert!(fits(Bf16, Bf16, [64, 256, 16]));
    assert!(fits(F8e4m3, F8e5m2, [64, 8, 32]));
    assert!(!fits(Bf16, F16, [64, 256, 16]), "operands of 16 bits do not mix");
    assert!(!fits(Bf16, Bf16, [64, 260, 16]));
    assert!(!fits(Bf16, Bf16, [64, 256, 32]));
    assert!(!fits(Bf16, Bf16, [128, 256, 16]));
    assert_eq!(h200.instruction("tma").unwrap().align, Some(1024));
    assert!(h200.instruction("tcgen05").is_none());
    let hints: Vec<&str> = h200.matrix(Bf16, Bf16, F32).map(|(i, _)| i.hint.as_str()).collect();
    assert_eq!(hints, ["mma", "wgmma"]);
    let copies: Vec<&str> = h200.copies("gmem", "smem").map(|i| i.hint.as_str()).collect();
    assert_eq!(copies, ["cp_async", "tma"]);
    let a100 = target("nvidia.a100_sxm_80gb");
    assert!(a100.instruction("tma").is_none() && a100.instruction("wgmma").is_none());
    assert_eq!(a100.matrix(F8e4m3, F8e4m3, F32).count(), 0);
    let b200 = target("nvidia.b200_sxm");
    assert!(b200.instruction("wgmma").is_none());
    let tcgen05 = b200.instruction("tcgen05").unwrap();
    assert_eq!(tcgen05.acc, ["tmem"]);
    let f4 = DType::F4e2m1;
    assert!(tcgen05.forms.iter().any(|f| f.fits(f4, f4, F32, [128, 256, 64])));
    assert!(!tcgen05.forms.iter().any(|f| f.fits(f4, f4, F32, [64, 256, 64])));
}

const TINY_ARCH: &str = r#"
kind = "architecture"
id = "tiny"
name = "tiny array"
[[levels]]
name = "board"
[[levels]]
name = "tile"
grid = true
[[levels]]
name = "lane"
at_most.tile = { value = 8, unit = "lane", origin = "vendor", source = "manual" }
[units.engine]
level = "tile"
[storages.gmem]
owner = "board"
[storages.smem]
owner = "tile"
capacity = { value = 1000, unit = "B", origin = "vendor", source = "manual" }
pool = { value = 4096, unit = "B", origin = "vendor", source = "manual" }
pool_unit = "engine"
[per_clock]
sfu = { value = 2, unit = "op/clock", origin = "vendor", source = "manual" }
[[instructions]]
name = "gemm8"
hint = "gemm"
kind = "matrix"
level = "tile"
participants = 8
a = ["smem"]
b = ["smem"]
acc = ["smem"]
forms = [{ a = ["i8"], acc = ["i32"], m = [8], n = [8], k_bytes = { min = 8, max = 64, step = 8 } }]
origin = "vendor"
source = "manual"
"#;

const TINY: &str = r#"kind = "device"
id = "tiny.one"
name = "tiny one"
architecture = "tiny"
[units.engine]
count = { value = 4, unit = "engine", origin = "vendor", source = "manual" }
[clocks]
peak = { value = 1000, unit = "Hz", origin = "vendor", source = "manual" }
[storages.gmem]
capacity = { value = 65536, unit = "B", origin = "vendor", source = "manual" }
[rates.peak]
gmem = { value = 512.5, unit = "B/s", origin = "vendor", source = "manual" }
tensor.i8 = { value = 1e6, unit = "flop/s", origin = "vendor", source = "manual" }
[costs]
launch = { value = 0, unit = "ns", origin = "vendor", source = "manual" }
grid_barrier = { absent = "has none" }
"#;

fn tiny(text: &str) -> Result<Target, TargetError> {
    Target::parse("tiny.one", text, |id| (id == "tiny").then(|| TINY_ARCH.to_string()))
}

/// The problems of a text that is `TINY` with one part replaced.
fn problems(from: &str, to: &str) -> String {
    assert!(TINY.contains(from), "{from}");
    tiny(&TINY.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn another_vendor() {
    let t = tiny(TINY).unwrap();
    assert_eq!(t.grid_level().unwrap().name, "tile");
    assert_eq!(t.grid_unit().unwrap().name, "engine");
    assert_eq!(t.extent("lane", "tile"), Extent::AtMost(8));
    assert_eq!(peak(&t, "sfu"), 8000.0);
    assert_eq!(t.rate(RateSet::Peak, "sfu").unwrap().origin, Origin::Derived);
    assert_eq!(t.resources(RateSet::Peak), ["gmem", "sfu", "tensor.i8"]);
    assert!(t.resources(RateSet::Sustained).is_empty());
    assert_eq!(t.cost("launch").unwrap().value, 0.0);
    assert_eq!(t.cost("grid_barrier").unwrap_err(), "has none");
    assert!(t.storage("rmem").is_none());
    assert_eq!(t.matrix(DType::I8, DType::I8, DType::I32).count(), 1);
}

#[test]
fn a_users_document_goes_before_a_built_in_one() {
    let own = builtin_device("nvidia.h200_sxm").unwrap().replace("141_000_000_000", "7");
    let t =
        Target::find("nvidia.h200_sxm", |id| (id == "nvidia.h200_sxm").then(|| own.clone()), &[]);
    assert_eq!(capacity(&t.unwrap(), "gmem"), 7);
}

#[test]
fn problems_have_places() {
    let cases = [
        (
            "[units.engine]\ncount",
            "[units.engine]\ncuont",
            "tiny.one:6:1: `units.engine.cuont`: expected no such key here; did you mean `count`?",
        ),
        (
            "value = 65536, unit = \"B\"",
            "value = 65536, unit = \"KiB\"",
            "tiny.one:10:36: `storages.gmem.capacity.unit`: expected the unit `B`, found `KiB`",
        ),
        (
            "value = 65536",
            "value = 65536.0",
            "tiny.one:10:22: `storages.gmem.capacity.value`: expected an integer of at least 0, \
             found the float 65536.0",
        ),
        (
            "value = 65536",
            "value = 0",
            "tiny.one:10:22: `storages.gmem.capacity.value`: expected a value above 0, found the \
             integer 0",
        ),
        (
            "value = 4, unit = \"engine\", origin = \"vendor\"",
            "value = 4, unit = \"engine\", origin = \"vendro\"",
            "tiny.one:6:48: `units.engine.count.origin`: expected an origin, found `vendro`; did \
             you mean `vendor`?",
        ),
        (
            "tensor.i8",
            "tensor.i9",
            "tiny.one:13:8: `rates.peak.tensor.i9`: expected a resource, found `tensor.i9`; did \
             you mean `tensor.i8`?",
        ),
        (
            "grid_barrier = { absent = \"has none\" }",
            "",
            "tiny.one:14:1: `costs.grid_barrier`: expected this fact, found none; a fact that is \
             not known is `{ absent = \"reason\" }`",
        ),
        (
            "absent = \"has none\"",
            "absent = \"has none\", value = 1",
            "tiny.one:16:39: `costs.grid_barrier.value`: expected `absent` alone, found a second \
             key beside it",
        ),
        (
            "architecture = \"tiny\"",
            "architecture = \"sm_91\"",
            "tiny.one:4:16: `architecture`: expected a known architecture, found `sm_91`; did you \
             mean `sm_90`?",
        ),
        (
            "[storages.gmem]",
            "[storages.gmen]",
            "`storages.gmen`: expected a storage of the language, found `gmen`; did you mean \
             `gmem`?",
        ),
        ("kind = \"device\"", "kind = ", "tiny.one:1:"),
    ];
    for (from, to, expected) in cases {
        let found = problems(from, to);
        assert!(found.contains(expected), "expected {expected}\nfound {found}");
    }
    // One run reports all of them.
    let two = TINY.replace("unit = \"B/s\"", "unit = \"GB/s\"").replace("clocks", "clokcs");
    assert!(tiny(&two).unwrap_err().problems.len() >= 2);
}

#[test]
fn problems_of_an_architecture() {
    let cases = [
        ("grid = true", "", "`levels`: expected one level with `grid = true`, found none"),
        ("level = \"tile\"\n[s", "level = \"tiel\"\n[s", "did you mean `tile`?"),
        ("value = 1000", "value = 5000", "within the pool of 4096 B, found 5000 B + 0 B"),
        ("k_bytes = { min = 8", "k_bytes = { min = 80", "with min <= max"),
        ("a = [\"i8\"]", "a = [\"int8\"]", "expected a dtype, found `int8`"),
        ("acc = [\"smem\"]", "acc = [\"rmem\"]", "expected a storage, found `rmem`"),
        ("hint = \"gemm\"\n", "", "expected the string `hint`"),
    ];
    for (from, to, expected) in cases {
        assert!(TINY_ARCH.contains(from), "{from}");
        let text = TINY_ARCH.replacen(from, to, 1);
        let found = Target::parse("tiny.one", TINY, |_| Some(text.clone())).unwrap_err();
        let shown = found.to_string();
        assert!(shown.contains(expected), "expected {expected}\nfound {shown}");
        assert!(found.problems.iter().all(|p| p.document == "tiny" && p.line > 0), "{shown}");
    }
}

#[test]
fn unknown_ids() {
    let e = Target::builtin("nvidia.h20").unwrap_err().to_string();
    assert_eq!(
        e,
        "target: expected the id of a target, found `nvidia.h20`; did you mean `nvidia.h200_sxm`?"
    );
    let e = Target::builtin("nvidia.a100_sxm_8gb").unwrap_err().to_string();
    assert!(e.ends_with("did you mean `nvidia.a100_sxm_80gb`?"), "{e}");
    let e = Target::builtin("abacus").unwrap_err().to_string();
    assert!(e.contains("known targets: `cpu.generic_x86_64`, `nvidia.a100_sxm_80gb`"), "{e}");
}

#[test]
fn damaged_documents_are_problems_and_no_panics() {
    let device = builtin_device("nvidia.h200_sxm").unwrap();
    let arch = builtin_architecture("sm_90").unwrap();
    let without = |text: &str, skip: usize| {
        let kept = text.lines().enumerate().filter(|(i, _)| *i != skip).map(|(_, l)| l);
        kept.collect::<Vec<_>>().join("\n")
    };
    for i in 0..device.lines().count() {
        let _ = Target::parse("nvidia.h200_sxm", &without(device, i), |_| None);
    }
    for i in 0..arch.lines().count() {
        let text = without(arch, i);
        let _ = Target::parse("nvidia.h200_sxm", device, |_| Some(text.clone()));
    }
    for end in (0..device.len()).step_by(97).filter(|e| device.is_char_boundary(*e)) {
        let cut = device.get(..end).unwrap();
        assert!(Target::parse("nvidia.h200_sxm", cut, |_| None).is_err(), "{end}");
    }
}

#[test]
fn facts_are_listed_exactly() {
    let rows = target("nvidia.h200_sxm").facts();
    let row = |path: &str| rows.iter().find(|r| r.path == path).unwrap();
    let smem = row("storages.smem.capacity");
    assert_eq!((smem.value.as_deref(), smem.unit.as_str()), (Some("232448"), "B"));
    assert_eq!(row("clocks.peak").value.as_deref(), Some("1982717803"));
    assert_eq!(row("rates.peak.tensor.bf16").value.as_deref(), Some("989500000000000"));
    assert_eq!(row("costs.launch").value.as_deref(), Some("1413"));
    assert_eq!(row("rates.peak.l2").value, None);
    assert!(rows.windows(2).all(|w| w[0].path != w[1].path));
}
