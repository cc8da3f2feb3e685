//! Images that `nvcc` and `ptxas` built from `tests/data/images`. What is expected of them is in
//! the signatures of the kernels, or was printed by `ptxas -v` and `cuobjdump -res-usage`.

use super::*;

const PTX: &[u8] = include_bytes!("../../../tests/data/images/kernels.ptx");
const ODD: &[u8] = include_bytes!("../../../tests/data/images/odd.ptx");
const SM_80: &[u8] = include_bytes!("../../../tests/data/images/kernels.sm_80.cubin");
const SM_90A: &[u8] = include_bytes!("../../../tests/data/images/kernels.sm_90a.cubin");
const SM_90A_OLD: &[u8] = include_bytes!("../../../tests/data/images/kernels.sm_90a.old.cubin");
const SM_100: &[u8] = include_bytes!("../../../tests/data/images/kernels.sm_100.cubin");
const ALL: [&[u8]; 6] = [PTX, ODD, SM_80, SM_90A, SM_90A_OLD, SM_100];

fn read(bytes: &[u8]) -> Image {
    Image::read(bytes).unwrap()
}

fn arch(name: &str) -> Arch {
    Arch::parse(name).unwrap()
}

/// Offset and bytes of each parameter.
fn params(e: &Entry) -> Vec<(u64, u64)> {
    e.params.iter().map(|p| (p.offset, p.bytes)).collect()
}

#[test]
fn entries_of_every_form_are_as_their_source() {
    for (bytes, name, registers) in [
        (PTX, "sm_90a", None),
        (SM_80, "sm_80", Some([8, 10, 8])),
        (SM_90A, "sm_90a", Some([10, 12, 8])),
        (SM_90A_OLD, "sm_90a", Some([10, 12, 8])),
        (SM_100, "sm_100", Some([10, 12, 8])),
    ] {
        let image = read(bytes);
        assert_eq!(image.archs, [arch(name)]);
        assert_eq!(image.address_size, 64);
        assert_eq!(image.entries.len(), 3, "{name}");
        let get = |n: &str| image.entry(n).unwrap();
        let (scale, mapped, fill) = (get("scale"), get("mapped"), get("_Z4fillPfi"));
        // const float *, float *, unsigned, float, long long
        assert_eq!(params(scale), [(0, 8), (8, 8), (16, 4), (20, 4), (24, 8)], "{name}");
        // Map by value, float *, struct of five ints, char
        assert_eq!(params(mapped), [(0, 128), (128, 8), (136, 20), (156, 1)], "{name}");
        assert_eq!(params(fill), [(0, 8), (8, 4)], "{name}");
        assert_eq!([scale.shared, mapped.shared, fill.shared], [1024, 0, 0], "{name}");
        assert_eq!(
            [scale.max_block, mapped.max_block, fill.max_block],
            [Some([128, 1, 1]), Some([256, 1, 1]), None]
        );
        let cluster = (name != "sm_80").then_some([2, 1, 1]);
        assert_eq!([scale.cluster, mapped.cluster, fill.cluster], [None, cluster, None], "{name}");
        assert!(image.entries.iter().all(|e| e.block.is_none()));
        let all = [scale, mapped, fill];
        assert_eq!(all.map(|e| e.registers), registers.map_or([None; 3], |r| r.map(Some)));
        assert_eq!(all.map(|e| e.frame), [registers.map(|_| 0); 3]);
    }
}

#[test]
fn ptx_tells_version_types_and_alignment() {
    let image = read(PTX);
    assert_eq!((image.kind, image.version), (Kind::Ptx, Some((9, 0))));
    let types = |e: &str| -> Vec<String> {
        image.entry(e).unwrap().params.iter().filter_map(|p| p.ty.clone()).collect()
    };
    assert_eq!(types("scale"), [".u64", ".u64", ".u32", ".f32", ".u64"]);
    assert_eq!(types("mapped"), [".b8[128]", ".u64", ".b8[20]", ".u8"]);
    let aligns: Vec<_> = image.entry("mapped").unwrap().params.iter().map(|p| p.align).collect();
    assert_eq!(aligns, [Some(64), Some(8), Some(4), Some(1)]);
    let cubin = read(SM_90A);
    assert_eq!((cubin.kind, cubin.version), (Kind::Cubin, None));
}

#[test]
fn comments_strings_and_sections_hold_no_entries() {
    let image = read(ODD);
    assert_eq!((image.version, &*image.archs), (Some((8, 4)), &[arch("sm_90")][..]));
    let names: Vec<&str> = image.entries.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["weak_one", "hidden", "later"]);
    let [weak, hidden, later] = image.entries.as_slice() else { panic!() };
    assert_eq!(params(weak), [(0, 8), (8, 1), (16, 20), (36, 2)]);
    // the alignment of what is pointed to is not the parameter's
    assert_eq!(weak.params[0].align, Some(8));
    assert_eq!((weak.block, weak.max_block), (Some([64, 2, 1]), None));
    // the variables have 127 bytes, `ptxas` takes 144
    assert!((127..=144).contains(&weak.shared), "{}", weak.shared);
    assert!(hidden.params.is_empty() && hidden.block.is_none());
    assert_eq!((later.max_block, later.cluster), (Some([96, 1, 1]), Some([4, 2, 1])));
}

#[test]
fn a_capability_runs_what_the_vendor_says() {
    // CUDA C++ Programming Guide, "Application Compatibility" and its family-specific features
    let table = [
        ("sm_80", (9, 0), true, false),
        ("sm_80", (8, 9), true, true),
        ("sm_89", (8, 0), false, false),
        ("sm_90", (9, 0), true, true),
        ("sm_90", (10, 0), true, false),
        ("sm_90a", (9, 0), true, true),
        ("sm_90a", (10, 0), false, false),
        ("sm_100", (10, 3), true, true),
        ("sm_100a", (10, 3), false, false),
        ("sm_100f", (10, 3), true, true),
        ("sm_100f", (12, 0), false, false),
        ("sm_103f", (10, 0), false, false),
        ("sm_120", (12, 1), true, true),
    ];
    for (name, cc, ptx, cubin) in table {
        let a = arch(name);
        assert_eq!(a.to_string(), name);
        assert_eq!((a.ptx_runs_on(cc), a.cubin_runs_on(cc)), (ptx, cubin), "{name} on {cc:?}");
    }
    for none in ["sm_", "sm_9", "sm_a", "sm_90ab", "sm_90x", "sm_+90", "compute_90", "x86_64"] {
        assert_eq!(Arch::parse(none), None, "{none}");
    }
}

#[test]
fn other_files_are_told_apart() {
    let elf = |class: u8, machine: u16| {
        let mut b = b"\x7fELF".to_vec();
        b.resize(64, 0);
        (b[4], b[5]) = (class, 1);
        b[18..20].copy_from_slice(&machine.to_le_bytes());
        b
    };
    let of = |b: &[u8]| Image::read(b).unwrap_err();
    assert_eq!(of(b""), ImageError::Empty);
    assert_eq!(of(b" \n\0"), ImageError::Empty);
    assert_eq!(of(&0xBA55_ED50u32.to_le_bytes()), ImageError::Fatbin);
    assert_eq!(of(&0x4662_43B1u32.to_le_bytes()), ImageError::Fatbin);
    assert_eq!(of(b"\x1f\x8b\x08"), ImageError::Packed("gzip"));
    assert_eq!(of(b"BC\xc0\xde"), ImageError::Bitcode);
    assert_eq!(of(b"!<arch>\n"), ImageError::Archive);
    assert_eq!(of(&elf(2, 62)), ImageError::HostObject("x86-64".into()));
    assert_eq!(of(&elf(1, 190)), ImageError::Narrow);
    let mut rel = SM_90A.to_vec();
    rel[16] = 1;
    assert_eq!(of(&rel), ImageError::Relocatable);
    assert_eq!(of(b"__global__ void k() {}"), ImageError::Neither);
    assert_eq!(of(b"// .version 9.0\n.target sm_90"), ImageError::Neither);
    let damaged = |text: &str| matches!(of(text.as_bytes()), ImageError::Damaged(Kind::Ptx, ..));
    let head = ".version 9.0\n.target sm_90\n";
    for tail in [
        ".entry k(.param .u64 a",
        ".entry k(.param .q7 a) { ret; }",
        ".entry k() { ret;",
        ".entry k() .maxntid x { ret; }",
        "/* ",
        ".file 1 \"",
        "}",
        ".entry k(.param .b8 a[4294967295][4294967295][9]) { ret; }",
    ] {
        assert!(damaged(&format!("{head}{tail}")), "{tail}");
    }
    assert!(damaged(".version 9\n"));
    assert!(damaged(".version 9.0\n"));
    assert!(damaged(".version 9.0\n.target sm_ninety\n"));
}

#[test]
fn truncated_images_are_refused_or_read() {
    for bytes in ALL {
        let whole = read(bytes);
        for n in 0..bytes.len() {
            if let Ok(i) = Image::read(&bytes[..n]) {
                // what is read of a part is part of the whole
                assert!(i.entries.iter().all(|e| whole.entries.contains(e)), "{n}");
            }
        }
    }
}

#[test]
fn corrupted_images_do_no_harm() {
    for bytes in ALL {
        let mut b = bytes.to_vec();
        let headers = 64.min(b.len());
        for at in 0..b.len() {
            let old = b[at];
            let some = [old ^ 1, old ^ 0x80, 0, 0xff];
            for new in some.into_iter().take(if at < headers { 4 } else { 1 }) {
                b[at] = new;
                if let Err(e) = Image::read(&b) {
                    assert!(!e.to_string().is_empty() && !e.remedy().is_empty());
                }
            }
            b[at] = old;
        }
        assert!(Image::read(&b).is_ok());
    }
}
