//! Compiles the grammar with lalrpop.
fn main() {
    println!("cargo:rerun-if-changed=grammar/tf.lalrpop");
    if std::path::Path::new("grammar/tf.lalrpop").exists() {
        lalrpop::Configuration::new()
            .set_in_dir("grammar")
            .set_out_dir(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"))
            .process()
            .unwrap_or_else(|e| panic!("grammar/tf.lalrpop: {e}"));
    }
}
