//! Files, folders and archives of every kind, made here.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use kernelgauge_data::Diagnostic;

use super::{Loaded, load};
use crate::error::TraceError;
use crate::options::ReadOptions;
use crate::recording::RankSource;

/// A folder that goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kernelgauge-input-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A recording of one op, of a rank if one is given.
fn kineto(rank: Option<u32>, op: &str) -> Vec<u8> {
    let rank = rank.map_or(String::new(), |rank| {
        format!("\"distributedInfo\": {{\"rank\": {rank}, \"world_size\": 8}}, ")
    });
    format!(
        "{{\"schemaVersion\": 1, {rank}\"traceEvents\": [{{\"ph\": \"X\", \"cat\": \"cpu_op\", \
         \"name\": \"{op}\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 2, \"args\": {{}}}}]}}"
    )
    .into_bytes()
}

/// An execution trace of a process alone.
fn execution() -> Vec<u8> {
    br#"{"schema": "1.0.1", "pid": 1, "nodes": [{"name": "[pytorch|profiler|execution_graph|process]",
        "id": 1, "rf_id": 0, "parent": 1, "fw_parent": 0, "seq_id": -1, "scope": 7, "tid": 0,
        "fw_tid": 0, "op_schema": "", "inputs": [], "input_shapes": [], "input_types": [],
        "outputs": [], "output_shapes": [], "output_types": []}]}"#
        .to_vec()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn add(archive: &mut tar::Builder<Vec<u8>>, name: &str, content: &[u8]) {
    let mut header = tar::Header::new_ustar();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, name, content).unwrap();
}

fn read(paths: &[&Path]) -> Result<Loaded, TraceError> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    load(&paths, &ReadOptions::default())
}

/// Rank and first op of each recording.
fn ranks(loaded: &Loaded) -> Vec<(Option<(u32, RankSource)>, &str)> {
    let recordings = loaded.recordings.iter();
    recordings
        .map(|found| {
            let name = found.events.first().map_or("", |event| found.names.text(event.name));
            (found.rank.map(|stated| (stated.rank, stated.by)), name)
        })
        .collect()
}

#[test]
fn a_folder_of_ranks_is_read_whatever_they_are_wrapped_in() {
    let folder = Folder::new();
    let mut archive = tar::Builder::new(Vec::new());
    add(&mut archive, "traces/._rank-7.json", b"\0\x05\x16\x07");
    add(&mut archive, "traces/rank-7.json", &kineto(None, "in_archive"));
    add(&mut archive, "traces/rank-8.json.gz", &gzip(&kineto(None, "packed_in_archive")));
    add(&mut archive, "traces/readme.md", b"text");
    folder.file("all.tar.gz", &gzip(&archive.into_inner().unwrap()));
    folder.file("rank-10.json", &kineto(None, "by_name"));
    folder.file("rank-9.json", &kineto(Some(2), "by_content"));
    folder.file("sub/rank4/trace.json.gz", &gzip(&kineto(None, "by_folder")));
    folder.file("host_1.1694128201549.pt.trace.json", &kineto(None, "by_place"));
    folder.file("settings.json", b"{\"batch\": 16}");
    folder.file("notes.txt", b"not looked at");
    let mut two_members = gzip(&kineto(Some(1), "two_members")[..50]);
    two_members.extend(gzip(&kineto(Some(1), "two_members")[50..]));
    folder.file("two.json.gz", &two_members);

    let loaded = read(&[&folder.0]).unwrap();
    assert_eq!(
        ranks(&loaded),
        [
            (Some((0, RankSource::Order)), "by_place"),
            (Some((1, RankSource::Content)), "two_members"),
            (Some((2, RankSource::Content)), "by_content"),
            (Some((4, RankSource::Name)), "by_folder"),
            (Some((7, RankSource::Name)), "in_archive"),
            (Some((8, RankSource::Name)), "packed_in_archive"),
            (Some((10, RankSource::Name)), "by_name"),
        ]
    );
    let notes = loaded.notes.join("\n");
    assert!(notes.contains("traces/readme.md is no trace by its name: passed over"), "{notes}");
    assert!(notes.contains("settings.json is JSON, but no trace: passed over"), "{notes}");
    assert!(notes.contains("taken for rank 0 by its place"), "{notes}");
    assert_eq!(loaded.notes.len(), 3, "{notes}");
}

#[test]
fn an_execution_trace_and_a_recording_may_be_of_one_rank() {
    let folder = Folder::new();
    let recording = folder.file("kineto_3.json", &kineto(Some(3), "op"));
    let execution = folder.file("et_3.json.gz", &gzip(&execution()));
    let loaded = read(&[&recording, &execution]).unwrap();
    assert_eq!(loaded.recordings.len(), 1);
    assert_eq!(loaded.executions[0].rank.unwrap().rank, 3);
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
}

#[test]
fn one_file_without_a_rank_keeps_none() {
    let folder = Folder::new();
    let path = folder.file("trace.json", &kineto(None, "op"));
    assert_eq!(ranks(&read(&[&path]).unwrap()), [(None, "op")]);
}

#[test]
fn two_recordings_of_one_rank_are_refused_by_name() {
    let folder = Folder::new();
    let first = folder.file("a.json", &kineto(Some(3), "op"));
    let second = folder.file("rank3.json", &kineto(None, "op"));
    let error = read(&[&first, &second]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("a.json") && text.contains("rank3.json"), "{text}");
    assert!(text.contains("two recordings of one rank"), "{text}");
    assert!(error.hint().is_some());
}

#[test]
fn what_is_no_trace_is_refused_with_a_hint() {
    let folder = Folder::new();
    for (name, content, expected) in [
        ("a.zip", &b"PK\x03\x04rest"[..], "is a zip archive"),
        ("pointer.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:1", "Git LFS"),
        ("page.json", b"<!DOCTYPE html><html>", "HTML"),
        ("empty.json", b"", "is empty"),
        ("empty.json.gz", &gzip(b""), "is empty"),
        ("zip.json.gz", &gzip(b"PK\x03\x04rest"), "is a zip archive"),
        ("text.json", b"hello", "is no trace"),
        ("settings.json", b"{\"batch\": 16}", "is JSON, but no trace"),
        ("memory.json", b"[[-1, 1, 512, 7], [-1, 1, 512, 7]]", "is JSON, but no trace"),
    ] {
        let path = folder.file(name, content);
        let error = read(&[&path]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected) && text.contains(name), "{text}");
        assert!(error.hint().is_some(), "{text}");
    }
    let error = read(&[&folder.0.join("absent.json")]).unwrap_err();
    assert!(matches!(error, TraceError::Read { .. }), "{error}");
}

#[test]
fn a_folder_without_a_trace_is_refused() {
    let folder = Folder::new();
    folder.file("settings.json", b"{\"batch\": 16}");
    let text = read(&[&folder.0]).unwrap_err().to_string();
    assert!(text.contains("holds no trace") && text.contains("settings.json"), "{text}");
}

#[test]
fn links_of_an_archive_are_not_followed() {
    let folder = Folder::new();
    folder.file("secret.json", &kineto(Some(5), "secret"));
    let mut archive = tar::Builder::new(Vec::new());
    for (name, kind) in
        [("link.json", tar::EntryType::Symlink), ("hard.json", tar::EntryType::Link)]
    {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(kind);
        header.set_size(0);
        archive.append_link(&mut header, name, folder.0.join("secret.json")).unwrap();
    }
    add(&mut archive, "rank0.json", &kineto(None, "op"));
    let path = folder.file("links.tar", &archive.into_inner().unwrap());
    let loaded = read(&[&path]).unwrap();
    assert_eq!(ranks(&loaded), [(Some((0, RankSource::Name)), "op")]);
    assert_eq!(loaded.notes.len(), 2, "{:?}", loaded.notes);
}

#[test]
fn a_stream_that_breaks_off_is_refused_unless_allowed() {
    let folder = Folder::new();
    let mut events = Vec::new();
    for place in 0..20_000 {
        events.push(format!(
            "{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op{}\", \"pid\": 1, \"tid\": 1, \
             \"ts\": {place}.5, \"dur\": 0.5}}",
            place * 7919 % 10_007
        ));
    }
    let whole = format!("{{\"traceEvents\": [{}]}}", events.join(","));
    let packed = gzip(whole.as_bytes());
    let path = folder.file("cut.json.gz", &packed[..packed.len() / 2]);
    let error = read(&[&path]).unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("--allow-truncated")), "{error:?}");
    let options = ReadOptions { allow_truncated: true, ..ReadOptions::default() };
    let loaded = load(&[path], &options).unwrap();
    let recording = &loaded.recordings[0];
    assert!(recording.oddities.cut);
    assert!((1000..20_000).contains(&recording.events.len()), "{}", recording.events.len());
}

#[test]
fn damaged_archives_are_errors() {
    let folder = Folder::new();
    let mut archive = tar::Builder::new(Vec::new());
    add(&mut archive, "rank0.json", &kineto(None, "op"));
    let mut bytes = archive.into_inner().unwrap();
    bytes[150] ^= 1;
    let path = folder.file("damaged.tar", &bytes);
    assert!(read(&[&path]).is_err());
    let mut packed = gzip(&kineto(Some(0), "op"));
    let middle = packed.len() / 2;
    packed[middle] ^= 0x55;
    let path = folder.file("damaged.json.gz", &packed);
    assert!(read(&[&path]).is_err());
}
