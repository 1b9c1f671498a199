//! Turns the rule files into tables.

mod tables;

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=rules");
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    if let Err(error) = tables::generate(Path::new("rules"), &Path::new(&out).join("guard")) {
        panic!("the guard's rules: {error}");
    }
}
