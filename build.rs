//! Compiles the grammar with lalrpop, and lists what the binary carries: the pages of the book and
//! the models of `examples/models`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=grammar/tf.lalrpop");
    println!("cargo:rerun-if-changed=book/src");
    // the folder of models may not exist yet; a path that does not would make every build run this
    println!("cargo:rerun-if-changed=examples");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    if Path::new("grammar/tf.lalrpop").exists() {
        lalrpop::Configuration::new()
            .set_in_dir("grammar")
            .set_out_dir(&out)
            .process()
            .unwrap_or_else(|e| panic!("grammar/tf.lalrpop: {e}"));
    }
    std::fs::write(out.join("embedded.rs"), embedded()).expect("OUT_DIR can be written");
}

/// What is in a folder, sorted; nothing where there is none.
fn list(dir: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}

fn has_extension(path: &Path, known: &[&str]) -> bool {
    path.extension().is_some_and(|e| known.iter().any(|k| e == *k))
}

/// `("name", include_str!(..)),`
fn entry(name: &str, path: &Path) -> String {
    let path = path.display().to_string().replace('\\', "/");
    format!("({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{path}\"))),\n")
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
}

fn embedded() -> String {
    let mut pages = String::new();
    for p in list("book/src").iter().filter(|p| has_extension(p, &["md"])) {
        pages += &entry(name(p).trim_end_matches(".md"), p);
    }
    let mut models = String::new();
    for dir in list("examples/models").iter().filter(|p| p.is_dir()) {
        let files: String = list(&dir.display().to_string())
            .iter()
            .filter(|p| has_extension(p, &["tf", "json", "md", "cu", "ptx"]))
            .map(|p| entry(&name(p), p))
            .collect();
        write!(models, "({:?}, &[\n{files}]),\n", name(dir)).expect("strings can be written");
    }
    format!(
        "/// Pages of the book, by name.\npub static PAGES: &[(&str, &str)] = &[\n{pages}];\n\n\
         /// Files of each model, by name.\n\
         pub static MODELS: &[(&str, &[(&str, &str)])] = &[\n{models}];\n"
    )
}
