use super::*;
use crate::types::dtype::DType;
use std::io::Write;
use std::path::PathBuf;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn load(name: &str) -> Vec<NamedTensor> {
    read(&fixture(name)).unwrap_or_else(|e| panic!("{e}"))
}

/// The only tensor of a file.
fn one(name: &str) -> Tensor {
    let mut all = load(name);
    assert_eq!(all.len(), 1, "{name}");
    all.remove(0).tensor
}

fn named<'a>(all: &'a [NamedTensor], name: &str) -> &'a Tensor {
    let found = all.iter().find(|t| t.name.as_deref() == Some(name));
    &found
        .unwrap_or_else(|| {
            panic!("no {name} in {:?}", all.iter().map(|t| &t.name).collect::<Vec<_>>())
        })
        .tensor
}

fn refused(name: &str) -> String {
    let e = read(&fixture(name)).unwrap_err();
    assert!(e.file.is_some());
    let text = e.to_string();
    assert!(!text.ends_with('.') && text.contains(name.rsplit('/').next().unwrap()), "{text}");
    text
}

#[test]
fn pt_equals_safetensors_bit_for_bit() {
    let x = one("rms_norm_quant/x.pt");
    assert_eq!((x.dtype(), x.shape()), (DType::Bf16, &[2, 7168][..]));
    assert!(x.bit_equal(&one("rms_norm_quant/x.safetensors")));
    let pt = load("rms_norm_quant/expected.pt");
    let st = load("rms_norm_quant/expected.safetensors");
    assert_eq!(pt[0].name.as_deref(), Some("[0]"));
    assert_eq!(pt[0].tensor.dtype(), DType::F8e4m3);
    for t in &pt {
        let name = format!("output{}", t.name.as_deref().unwrap());
        assert!(t.tensor.bit_equal(named(&st, &name)), "{name}");
    }
}

#[test]
fn npy_of_every_dtype() {
    let signed: Vec<i64> = (-2..4).collect();
    for (name, dtype) in [
        ("f8", DType::F64),
        ("f4", DType::F32),
        ("f2", DType::F16),
        ("i8", DType::I64),
        ("i4", DType::I32),
        ("i2", DType::I16),
        ("i1", DType::I8),
    ] {
        let t = one(&format!("arrays/{name}.npy"));
        assert_eq!((t.dtype(), t.shape()), (dtype, &[2, 3][..]));
        assert_eq!(*t.to_i64s(), signed, "{name}");
        let file = std::fs::read(fixture(&format!("arrays/{name}.npy"))).unwrap();
        assert_eq!(write_npy(&t), file, "{name} is written as numpy writes it");
    }
    for (name, dtype) in [("u8", DType::U64), ("u4", DType::U32), ("u1", DType::U8)] {
        let t = one(&format!("arrays/{name}.npy"));
        assert_eq!(t.dtype(), dtype);
        assert_eq!(*t.to_i64s(), [0, 1, 2, 3, 4, 5]);
    }
    let b = one("arrays/b1.npy");
    assert_eq!((b.dtype(), b.to_i64s().into_owned()), (DType::Bool, vec![0, 1, 0, 1, 0, 1]));
}

#[test]
fn npy_orders_versions_and_shapes() {
    assert_eq!(*one("arrays/big_f4.npy").to_f32s(), [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]);
    assert_eq!(*one("arrays/big_i2.npy").to_i64s(), (-300..-294).collect::<Vec<_>>());
    assert_eq!(*one("arrays/fortran.npy").to_i64s(), (0..24).collect::<Vec<_>>());
    assert_eq!(*one("arrays/fortran_big.npy").to_i64s(), (0..6).collect::<Vec<_>>());
    let scalar = one("arrays/scalar.npy");
    assert_eq!((scalar.rank(), scalar.get_f64(0)), (0, 2.5));
    assert_eq!(one("arrays/empty.npy").shape(), [3, 0, 2]);
    for version in [2, 3] {
        assert_eq!(*one(&format!("arrays/version{version}.npy")).to_i64s(), [0, 1, 2, 3]);
    }
    assert!(refused("arrays/complex.npy").contains("found `<c8`"));
    assert!(refused("arrays/object.npy").contains("found `|O`"));
}

#[test]
fn npz_stored_and_deflated() {
    let all = load("arrays/stored.npz");
    assert_eq!(*named(&all, "a").to_f32s(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(*named(&all, "b").to_i64s(), [1, 0]);
    let all = load("arrays/deflated.npz");
    assert!(named(&all, "zeros").bit_equal(&Tensor::zeros(DType::F64, vec![64, 64])));
}

#[test]
fn pt_views_nesting_and_late_dtypes() {
    let all = load("arrays/nested.pt");
    let w = named(&all, "model.w");
    assert_eq!((w.shape(), w.dtype()), (&[3, 4][..], DType::F32));
    assert_eq!(*w.to_i64s(), (0..12).collect::<Vec<_>>());
    let t = named(&all, "model.t");
    assert_eq!(*t.to_i64s(), [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
    for name in ["list[0]", "list[1][0]", "list[2][3]"] {
        assert_eq!(*named(&all, name).to_i64s(), [5, 7, 9, 11], "{name}");
    }
    assert_eq!(*named(&all, "wide").to_i64s(), [-2, -2, -2]);
    assert_eq!(named(&all, "e5m2").dtype(), DType::F8e5m2);
    assert_eq!(named(&all, "e5m2").to_f32s()[..2], [1.0, 2.0]);
    let f4 = named(&all, "f4");
    assert_eq!((f4.dtype(), f4.shape()), (DType::F4e2m1, &[2, 6][..]));
    assert_eq!(f4.to_f32s()[..8], [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
    assert_eq!(named(&all, "u32").bits(0), 0x3210_403c);
    assert_eq!((named(&all, "bool").rank(), named(&all, "bool").get_i64(0)), (0, 1));
    assert_eq!(named(&all, "none").shape(), [0, 5]);
    assert_eq!(all.len(), 11);

    let four = load("arrays/protocol4.pt");
    assert!(four[0].tensor.bit_equal(w));
    assert!(one("arrays/big.pt").bit_equal(w));
}

/// Every code of the narrow floats, in files that PyTorch and the safetensors library wrote.
#[test]
fn narrow_floats_are_read_as_pytorch_writes_them() {
    let (pt, st) = (load("arrays/narrow.pt"), load("arrays/narrow.safetensors"));
    assert_eq!((pt.len(), st.len()), (10, 7));
    for t in &st {
        let name = t.name.as_deref().unwrap();
        assert!(t.tensor.bit_equal(named(&pt, name)), "{name}");
    }
    for dtype in [DType::F8e4m3, DType::F8e5m2, DType::F8e8m0] {
        let (t, values) = (named(&st, &dtype.to_string()), named(&st, &format!("{dtype}_values")));
        assert_eq!((t.dtype(), t.shape()), (dtype, &[16, 16][..]));
        assert!((0..256).all(|i| t.bits(i) == i as u64));
        for (got, want) in t.to_f32s().iter().zip(values.to_f32s().iter()) {
            let nan = got.is_nan() && want.is_nan();
            assert!(nan || got.to_bits() == want.to_bits(), "{dtype}: {got} for {want}");
        }
    }
    let codes = |t: &Tensor| (0..t.len()).map(|i| t.bits(i)).collect::<Vec<_>>();
    let f4 = named(&st, "f4");
    assert_eq!((f4.dtype(), f4.shape()), (DType::F4e2m1, &[2, 8][..]));
    assert_eq!(codes(f4), (0..16).collect::<Vec<_>>());
    // the axes are exchanged, each pair stays together
    let turned = named(&pt, "f4_turned");
    assert_eq!(turned.shape(), [4, 4]);
    assert_eq!(codes(turned), [0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15]);
    assert_eq!(codes(named(&pt, "f8e4m3_window")), [49, 54, 59, 65, 70, 75]);
    assert_eq!(named(&pt, "parameter").dtype(), DType::F8e5m2);

    // and written as the library writes them
    let all: Vec<(String, Tensor)> = st.into_iter().map(|t| (t.name.unwrap(), t.tensor)).collect();
    let (ours, theirs) = (
        write_safetensors(&all).unwrap(),
        std::fs::read(fixture("arrays/narrow.safetensors")).unwrap(),
    );
    let ours = ::safetensors::SafeTensors::deserialize(&ours).unwrap();
    let theirs = ::safetensors::SafeTensors::deserialize(&theirs).unwrap();
    for (name, _) in &all {
        let (a, b) = (ours.tensor(name).unwrap(), theirs.tensor(name).unwrap());
        assert_eq!((a.dtype(), a.shape(), a.data()), (b.dtype(), b.shape(), b.data()), "{name}");
    }
}

#[test]
fn halves_of_a_byte_are_refused() {
    let file = |shape: &str, bytes: usize| {
        let header =
            format!(r#"{{"a":{{"dtype":"F4","shape":{shape},"data_offsets":[0,{bytes}]}}}}"#);
        read_bytes(Kind::Safetensors, &headed(&header, bytes))
    };
    // rows of three share a byte; all six are whole bytes
    assert_eq!(file("[2,3]", 3).unwrap()[0].tensor.shape(), [2, 3]);
    for (shape, bytes) in [("[3]", 2), ("[3,3]", 5), ("[]", 1)] {
        let e = file(shape, bytes).unwrap_err().to_string();
        assert!(e.contains("an even number of f4e2m1 elements, found"), "{e}");
    }
    let odd = Tensor::zeros(DType::F4e2m1, vec![3, 3]);
    let e = write_safetensors(&[("a".into(), odd)]).unwrap_err().to_string();
    assert!(e.contains("an even number of f4e2m1 elements, found 9 of shape [3, 3]"), "{e}");
}

#[test]
fn pt_refuses_what_is_not_a_tensor() {
    let evil = refused("arrays/evil.pt");
    let system = ["posix.system", "nt.system"]
        .iter()
        .any(|s| evil.contains(&format!("global `{s}` is not allowed")));
    assert!(system && evil.contains("entry `archive/data.pkl`, byte "), "{evil}");
    assert!(refused("arrays/outside.pt").contains("inside the storage's 48 bytes"));
    assert!(refused("arrays/short.pt").contains("expected 48 bytes of storage, found 40"));
    assert!(refused("arrays/expanded.pt").contains("expected at most"));
    assert!(refused("arrays/complex.pt").contains("found `complex64`"));
    assert!(refused("arrays/deep.pt").contains("32 levels"));
    assert!(refused("arrays/wide.pt").contains("expected at most"));
    let e = read_bytes(Kind::Pt, b"\x80\x02].").unwrap_err().to_string();
    assert!(e.contains("save them again"), "{e}");
}

#[test]
fn safetensors_are_written_as_the_official_crate_reads_them() {
    let tensors: Vec<(String, Tensor)> = DType::ALL
        .into_iter()
        .map(|d| {
            let t = Tensor::from_f64_iter(d, vec![2, 3], (0..6).map(f64::from));
            (format!("t \"{d}\" é"), t)
        })
        .collect();
    let bytes = write_safetensors(&tensors).unwrap();
    let official = ::safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let back = read_bytes(Kind::Safetensors, &bytes).unwrap();
    assert_eq!(back.len(), tensors.len());
    for ((name, tensor), back) in tensors.iter().zip(&back) {
        assert_eq!(Some(name), back.name.as_ref(), "the order is kept");
        let view = official.tensor(name).unwrap();
        assert_eq!(view.shape(), tensor.shape());
        assert_eq!(view.data(), tensor.to_bytes());
        assert!(back.tensor.bit_equal(tensor) || tensor.dtype() == DType::Tf32);
    }
    let pair = |n: &str| (n.to_string(), Tensor::zeros(DType::F4e2m1, vec![3]));
    assert!(write_safetensors(&[pair("a")]).is_err());
    assert!(write_safetensors(&[tensors[0].clone(), tensors[0].clone()]).is_err());
    assert!(write_safetensors(&[pair("__metadata__")]).is_err());
}

/// A file of this header and this many bytes of data.
fn headed(header: &str, data: usize) -> Vec<u8> {
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend_from_slice(header.as_bytes());
    out.extend(std::iter::repeat_n(1, data));
    out
}

#[test]
fn safetensors_errors_name_what_is_wrong() {
    let a = r#""a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}"#;
    let b =
        |begin, end| format!(r#""b":{{"dtype":"U8","shape":[4],"data_offsets":[{begin},{end}]}}"#);
    for (header, data, want) in [
        (format!("{{{a},{}}}", b(8, 12)), 12, ""),
        (format!("{{{a},{}}}", b(4, 8)), 8, "entry `b`: expected data from offset 8 on, found 4"),
        (format!("{{{a},{}}}", b(9, 13)), 13, "entry `b`: expected data from offset 8 on, found 9"),
        (
            format!("{{{a},{}}}", b(8, 13)),
            13,
            "entry `b`, byte 123: u8 of shape [4] takes 4 bytes, found 5",
        ),
        (
            format!("{{{a},{}}}", b(8, 12)),
            13,
            "expected 12 bytes of data after the header, found 13",
        ),
        (format!("{{{a},{a}}}"), 8, "entry `a`: expected each name once, found it twice"),
        (
            format!("{{{a}}}"),
            7,
            "entry `a`: expected offsets within the 7 bytes of data, found 0 to 8",
        ),
        (
            format!("{{{}}}", a.replace("F32", "C64")),
            8,
            "expected a dtype of the language, found `C64`",
        ),
        (
            format!("{{{}}}", a.replace("[2]", "[-2]")),
            8,
            "header is not as expected: invalid value: integer `-2`",
        ),
        (format!("{{{}}}", a.replace("[2]", "[4294967296,4294967296,4]")), 8, "too many elements"),
        ("[".repeat(100_000), 0, "byte 8: header is not as expected"),
    ] {
        match read_bytes(Kind::Safetensors, &headed(&header, data)) {
            Ok(_) => assert_eq!(want, "", "{header}"),
            Err(e) => assert!(e.to_string().contains(want) && !want.is_empty(), "{e} for {want}"),
        }
    }
    let e = read_bytes(Kind::Safetensors, &[0xff; 20]).unwrap_err().to_string();
    assert_eq!(
        e,
        "byte 0: expected a header inside the 12 bytes that follow, found a length of \
         18446744073709551615"
    );
}

#[test]
fn a_zip_bomb_is_refused() {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("a.npy", zip::write::SimpleFileOptions::default()).unwrap();
    for _ in 0..64 {
        zip.write_all(&vec![0; 1 << 20]).unwrap();
    }
    let bytes = zip.finish().unwrap().into_inner();
    assert!(bytes.len() < 1 << 17);
    let e = read_bytes(Kind::Npz, &bytes).unwrap_err().to_string();
    assert!(e.starts_with("entry `a.npy`: expected at most"), "{e}");
}

#[test]
fn the_format_is_found_by_extension_or_content() {
    let e = read(&fixture("arrays/absent.npy")).unwrap_err().to_string();
    assert!(e.contains("absent.npy`: cannot be read"), "{e}");
    for (name, kind) in [
        ("arrays/nested.pt", Kind::Pt),
        ("arrays/stored.npz", Kind::Npz),
        ("arrays/f4.npy", Kind::Npy),
        ("rms_norm_quant/x.safetensors", Kind::Safetensors),
    ] {
        let bytes = std::fs::read(fixture(name)).unwrap();
        assert_eq!(Kind::of(Path::new("x"), &bytes), Some(kind));
        assert_eq!(Kind::of(Path::new(name), b""), Some(kind));
    }
    assert_eq!(Kind::of(Path::new("x.txt"), b"hello, all"), None);
}

#[test]
fn checkpoints_are_files_or_indexed_directories() {
    let file = fixture("rms_norm_quant/model.safetensors");
    for path in [&file, &fixture("rms_norm_quant")] {
        let c = Checkpoint::open(path).unwrap();
        assert_eq!(c.names().collect::<Vec<_>>(), ["gamma"]);
        assert_eq!(c.shape("gamma"), Some(&[1, 7168][..]));
        let gamma = c.get("gamma").unwrap().unwrap();
        assert!(gamma.bit_equal(&one("rms_norm_quant/model.safetensors")));
        assert!(c.get("beta").unwrap().is_none());
    }
    let dir = std::env::temp_dir().join(format!("tf-checkpoint-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let t = |x| Tensor::full(DType::F16, vec![3], x);
    for (shard, name, x) in [("1.safetensors", "a", 1.0), ("2.safetensors", "b", 2.0)] {
        let bytes = write_safetensors(&[(name.into(), t(x)), ("other".into(), t(0.0))]).unwrap();
        std::fs::write(dir.join(shard), bytes).unwrap();
    }
    let open = |map: &str| {
        let index = format!(r#"{{"metadata":{{}},"weight_map":{map}}}"#);
        std::fs::write(dir.join("model.safetensors.index.json"), index).unwrap();
        Checkpoint::open(&dir).map_err(|e| e.to_string())
    };
    let c = open(r#"{"b":"2.safetensors","a":"1.safetensors"}"#).unwrap();
    assert_eq!(c.names().collect::<Vec<_>>(), ["a", "b"]);
    assert!(c.get("b").unwrap().unwrap().bit_equal(&t(2.0)));
    let wrong = |map: &str| open(map).err().unwrap();
    assert!(wrong(r#"{"b":"1.safetensors"}"#).contains("entry `b`: expected this tensor"));
    assert!(wrong(r#"{"b":"../1.safetensors"}"#).contains("expected a file's name"));
    assert!(wrong(r#"{"b":"3.safetensors"}"#).contains("3.safetensors`: cannot be read"));
    assert!(wrong("[]").contains("index.json`: not as expected"));
    std::fs::remove_file(dir.join("model.safetensors.index.json")).unwrap();
    let e = Checkpoint::open(&dir).err().unwrap().to_string();
    assert!(e.contains("found neither"), "{e}");
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Every fixture of a kind, its name beside it.
fn corpus() -> Vec<(String, Kind, Vec<u8>)> {
    let mut out = Vec::new();
    for folder in ["arrays", "rms_norm_quant", "attention_gqa"] {
        for entry in std::fs::read_dir(fixture(folder)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            if let Some(kind) = Kind::of(&path, &bytes) {
                out.push((path.display().to_string(), kind, bytes));
            }
        }
    }
    assert!(out.len() > 30);
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

#[test]
fn no_truncation_panics() {
    for (name, kind, bytes) in corpus() {
        let whole = read_bytes(kind, &bytes).is_ok();
        for n in 0..bytes.len() {
            let cut = read_bytes(kind, &bytes[..n]);
            assert!(cut.is_err() || !whole, "{name} cut to {n} bytes");
        }
    }
}

#[test]
fn no_flipped_byte_panics() {
    // xorshift64, so that a failure comes again.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for (name, kind, mut bytes) in corpus() {
        // Each reading of this one walks as many paths as the budget allows; of the others a
        // reading takes as long as they are.
        let rounds = match name.ends_with("wide.pt") {
            true => 100,
            false => (16_000_000 / bytes.len()).min(20_000),
        };
        for round in 0..rounds {
            // Most of a large file is data, where a flip is harmless: aim at the ends.
            let span = if round % 4 == 0 { bytes.len() } else { bytes.len().min(600) };
            let from_end = round % 2 == 1;
            let i = next() % span;
            let i = if from_end { bytes.len() - 1 - i } else { i };
            let old = bytes[i];
            bytes[i] = next() as u8;
            let _ = read_bytes(kind, &bytes);
            bytes[i] = old;
        }
    }
}
