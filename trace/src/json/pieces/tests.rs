use std::io::Read;

use super::{Document, Piece};
use crate::error::TraceError;

/// Gives one byte at a time, so that every seam is met.
struct Drip<'a>(&'a [u8]);

impl Read for Drip<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        match (self.0.split_first(), room.first_mut()) {
            (Some((&first, rest)), Some(place)) => {
                *place = first;
                self.0 = rest;
                Ok(1)
            }
            _ => Ok(0),
        }
    }
}

fn pieces(
    text: &[u8],
    allow_cut: bool,
) -> Result<(Vec<(Piece, String)>, super::Oddities), TraceError> {
    let whole = walk(Document::new("t.json", text, "nodes", allow_cut));
    let drip = walk(Document::new("t.json", Drip(text), "nodes", allow_cut));
    match (&whole, &drip) {
        (Ok(whole), Ok(drip)) => assert_eq!(whole, drip),
        (Err(whole), Err(drip)) => assert_eq!(whole.to_string(), drip.to_string()),
        _ => panic!("read at once and byte by byte differ: {whole:?} {drip:?}"),
    }
    whole
}

fn walk<R: Read>(
    mut document: Document<R>,
) -> Result<(Vec<(Piece, String)>, super::Oddities), TraceError> {
    let mut pieces = Vec::new();
    loop {
        match document.next()? {
            Piece::End => return Ok((pieces, document.oddities())),
            piece => {
                let text = document.text().to_owned();
                pieces.push((piece, text));
            }
        }
    }
}

#[test]
fn properties_and_elements_come_in_order() {
    let text = br#"{"a": 1, "nodes": [{"x": "]}\""}, 2 ,[3]], "b": {"nodes": [1]}, "c":null}"#;
    let (pieces, oddities) = pieces(text, false).unwrap();
    let texts: Vec<&str> = pieces.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["1", r#"{"x": "]}\""}"#, "2", "[3]", r#"{"nodes": [1]}"#, "null"]);
    assert_eq!(pieces[0].0, Piece::Property("a".into()));
    assert_eq!(pieces[3].0, Piece::Element(2));
    assert_eq!(oddities, super::Oddities::default());
}

#[test]
fn what_serde_json_would_refuse_is_mended_and_counted() {
    let text =
        b"{\"nodes\": [{\"a\x01b\": [NaN, -Infinity, inf, \"NaN\", null]}, \"\xff\", \"\\\n\"]}";
    let (pieces, oddities) = pieces(text, false).unwrap();
    assert_eq!(pieces[0].1, r#"{"a\u0001b": [null, null, null, "NaN", null]}"#);
    assert_eq!(pieces[1].1, "\"\u{fffd}\"");
    assert_eq!(pieces[2].1, r#""\\\u000a""#);
    assert_eq!((oddities.control_characters, oddities.no_numbers), (2, 3));
    // The byte that is no UTF-8, and the escape that means nothing.
    assert_eq!(oddities.broken_characters, 2);
}

#[test]
fn a_bare_list_is_read_and_said() {
    let (pieces, oddities) = pieces(b"\xef\xbb\xbf[1,2,]\n", false).unwrap();
    assert_eq!(pieces.len(), 2);
    assert!(oddities.bare_list);
}

#[test]
fn a_cut_document_is_read_only_when_allowed() {
    let text = b"{\"a\": 1,\n\"nodes\": [{\"x\": 1},\n{\"y\": ";
    let error = pieces(text, false).unwrap_err().to_string();
    assert_eq!(
        error,
        "t.json: byte 29, line 3: the file ends inside the document, after 1 elements"
    );
    let (pieces, oddities) = pieces(text, true).unwrap();
    assert_eq!(pieces.len(), 2);
    assert!(oddities.cut);
}

#[test]
fn what_is_no_document_is_refused_with_its_place() {
    for (text, expected) in [
        (&b""[..], "t.json: the file is empty"),
        (b"  hello", "t.json: byte 2, line 1: this is no JSON object"),
        (b"{1: 2}", "t.json: byte 1, line 1: expected a key in quotes or `}`"),
        (b"{} {}", "t.json: byte 3, line 1: more follows after the end of the document"),
        (b"{\"nodes\": [1}]", "t.json: byte 12, line 1: expected an element or `]`"),
    ] {
        assert_eq!(pieces(text, true).unwrap_err().to_string(), expected);
    }
}
