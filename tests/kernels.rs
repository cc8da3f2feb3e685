//! What stands in the repository for a device: each `.cu` has its `.ptx`, and the small kernels with
//! planted faults have twins that compile. Nothing here runs on a device.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every `.cu` below a folder.
fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for p in std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()) {
        if p.is_dir() {
            sources(&p, out);
        } else if p.extension().is_some_and(|e| e == "cu") {
            out.push(p);
        }
    }
}

/// Where the parentheses that a text begins with, after some name, close.
fn closed(text: &str) -> Option<usize> {
    let mut open = 0;
    for (i, c) in text.char_indices() {
        open += i32::from(c == '(') - i32::from(c == ')');
        if c == ')' && open == 0 {
            return Some(i + 1);
        }
    }
    None
}

/// The names of the kernels in CUDA C++, behind their attributes.
fn kernels(text: &str) -> Vec<String> {
    let name = |part: &str| {
        let part = part.trim_start().strip_prefix("void")?.trim_start();
        let mut part = part;
        while part.starts_with("__") {
            part = part.get(closed(part)?..)?.trim_start();
        }
        Some(part.split_once('(')?.0.trim().to_string())
    };
    text.split("extern \"C\" __global__").skip(1).filter_map(name).collect()
}

#[test]
fn ptx_has_the_kernels_of_its_source() {
    let mut all = vec![];
    for dir in ["examples", "kernels", "tests/kernels"] {
        sources(&root().join(dir), &mut all);
    }
    assert!(all.len() >= 6, "{all:?}");
    for cu in all {
        let text = std::fs::read_to_string(&cu).unwrap();
        let ptx = std::fs::read_to_string(cu.with_extension("ptx")).unwrap();
        let entries: Vec<&str> = ptx
            .lines()
            .filter_map(|l| l.strip_prefix(".visible .entry "))
            .map(|l| l.trim_end_matches(['(', ')']))
            .collect();
        // kernels whose names macros make are not seen
        let named = kernels(&text);
        let named = named.iter().filter(|n| n.as_str() != "NAME");
        let missing: Vec<&String> = named.filter(|n| !entries.contains(&n.as_str())).collect();
        assert!(missing.is_empty(), "{}: {missing:?}: run scripts/build-kernels.sh", cu.display());
        assert!(ptx.contains(".version 9.0\n.target sm_90a\n"), "{}", cu.display());
    }
}

#[test]
fn twins_with_planted_faults_compile() {
    let out = Command::new(env!("CARGO_BIN_EXE_tilefoundry"))
        .args(["compile", "faults.tf"])
        .current_dir(root().join("tests/kernels"))
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && stderr.is_empty(), "{stderr}");
}
