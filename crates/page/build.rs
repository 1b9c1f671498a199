//! Packs the dashboard: compresses every file of `web/`, so that nothing is compressed while a phone waits, and keeps a file
//! as it is if that is smaller. All files in the directory belong to the page; there is no list of them.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    println!("cargo::rerun-if-changed={}", web.display());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut files = Vec::new();
    collect(&web, &web, &mut files);
    files.sort();
    let mut table = String::from("&[\n");
    for (at, path) in files.iter().enumerate() {
        let file = web.join(path);
        println!("cargo::rerun-if-changed={}", file.display());
        let content = fs::read(&file).expect("web/ is readable");
        let packed = compress(&content);
        // Pictures are compressed already.
        let is_packed = packed.len() < content.len();
        let kept = out.join(at.to_string());
        fs::write(&kept, if is_packed { packed } else { content }).expect("OUT_DIR is writable");
        let _ = writeln!(table, "    asset({path:?}, include_bytes!({kept:?}), {is_packed}),");
    }
    table.push(']');
    fs::write(out.join("assets.rs"), table).expect("OUT_DIR is writable");
}

/// The paths below `dir`, as the page names them.
fn collect(web: &Path, dir: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(dir).expect("web/ is readable") {
        let path = entry.expect("web/ is readable").path();
        if path.is_dir() {
            collect(web, &path, files);
        } else if let Some(name) = path.strip_prefix(web).ok().and_then(Path::to_str) {
            files.push(name.replace('\\', "/"));
        }
    }
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(bytes).and_then(|()| packed.finish()).expect("writing to memory does not fail")
}
