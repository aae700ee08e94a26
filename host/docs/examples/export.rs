//! Temporary.
fn main() {
    let folder = std::path::PathBuf::from(std::env::args().nth(1).unwrap());
    for (path, bytes) in segno_docs::export() {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    std::fs::write(folder.join("served-search.html"), segno_docs::search("lease version").bytes())
        .unwrap();
}
