//! JSON lines questions: one object a line, echoed with the answer as further members.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::blocks::{Quotes, records};
use super::desk::{Answered, Asked, RowError, Seat};
use super::names;
use super::output::{APPENDED, push_json_answer, push_json_problem, push_json_text};
use super::piece::{Piece, Rows, TOGETHER};

/// Rows that name their own members.
#[derive(Debug, Clone, Copy)]
pub struct JsonRows;

/// The members of a row, in the order they came, values as written.
#[derive(Default)]
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some((Key(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                match twice(&members) {
                    Some(name) => Err(A::Error::custom(format!("`{name}` is there twice"))),
                    None => Ok(Members(members)),
                }
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// A name that is there twice: two readers would take two values.
fn twice<'m>(members: &'m [(Cow<'_, str>, &RawValue)]) -> Option<&'m str> {
    /// Up to here comparing each with each costs less than a set.
    const FEW: usize = 16;
    let names = || members.iter().map(|(name, _)| name.as_ref());
    if members.len() <= FEW {
        return names()
            .enumerate()
            .find(|(at, name)| names().take(*at).any(|n| n == *name))
            .map(|(_, name)| name);
    }
    let mut seen = BTreeSet::new();
    names().find(|name| !seen.insert(*name))
}

/// A name that is borrowed where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// A value as the text a CSV cell would hold; none for null.
fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    let raw = value.get();
    if raw == "null" {
        return None;
    }
    match raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) if inner.contains('\\') => serde_json::from_str(raw).ok().map(Cow::Owned),
        Some(inner) => Some(Cow::Borrowed(inner)),
        None => Some(Cow::Borrowed(raw)),
    }
}

/// A member of a row under way.
struct Member<'a> {
    name: &'a str,
    /// What the name stands for, if that is something else.
    key: Option<&'static str>,
    text: Option<Cow<'a, str>>,
    read: Cell<bool>,
}

/// The members of a row that was read, and which of them were needed.
type Read<'a> = (Members<'a>, Vec<bool>);

fn read<'a>(record: &'a str, seat: &mut Seat<'_>) -> Result<(Asked, Read<'a>), RowError> {
    let all = parse(record)?;
    let Members(members) = &all;
    let texts: Vec<Member<'_>> = members
        .iter()
        .map(|(name, value)| Member {
            name,
            key: names::stands_for(name),
            text: text(value),
            read: Cell::new(false),
        })
        .collect();
    if let Some(length) = some_length(&texts) {
        return Err(RowError::Malformed(format!("`{length}` may be `query_len` or `kv_len`")));
    }
    let get = |name: &str| {
        let exact = texts.iter().find(|member| member.name == name);
        let found = exact.or_else(|| texts.iter().find(|member| member.key == Some(name)))?;
        found.read.set(true);
        found.text.as_deref()
    };
    let asked = seat.read(&get)?;
    let needed = texts.iter().map(|member| member.read.get()).collect();
    Ok((asked, (all, needed)))
}

fn write(
    record: &str,
    (Members(members), needed): &Read<'_>,
    answer: &Answered<'_>,
    piece: &mut Piece,
) {
    echo(record, members, &mut piece.bytes);
    push_json_answer(&mut piece.bytes, answer);
    piece.bytes.extend_from_slice(b"}\n");
    for ((name, _), needed) in members.iter().zip(needed) {
        piece.columns.see(name, *needed);
    }
}

/// A length of attention that may be either.
fn some_length<'a>(members: &[Member<'a>]) -> Option<&'a str> {
    let has = |name: &str| members.iter().any(|member| member.name == name);
    if !has("phase") || (has("query_len") && has("kv_len")) {
        return None;
    }
    members.iter().map(|member| member.name).find(|name| names::is_some_length(name))
}

fn parse(record: &str) -> Result<Members<'_>, RowError> {
    serde_json::from_str(record).map_err(|error| {
        // serde_json counts lines from the start of the row, which is always its first.
        let message = error.to_string();
        let (message, _) = message.split_once(" at line").unwrap_or((&message, ""));
        RowError::Malformed(match error.column() {
            0 => message.to_owned(),
            column => format!("column {column}: {message}"),
        })
    })
}

/// The members as they came and a comma, without the closing brace.
fn echo(record: &str, members: &[(Cow<'_, str>, &RawValue)], out: &mut Vec<u8>) {
    let ours = |(name, _): &(Cow<'_, str>, &RawValue)| APPENDED.contains(&name.as_ref());
    if !members.iter().any(ours) {
        let record = record.trim_ascii();
        let body = record.strip_suffix('}').unwrap_or(record).trim_ascii_end();
        out.extend_from_slice(body.as_bytes());
        if !members.is_empty() {
            out.push(b',');
        }
        return;
    }
    out.push(b'{');
    for (name, value) in members {
        let given = if APPENDED.contains(&name.as_ref()) { "given_" } else { "" };
        push_json_text(out, &format!("{given}{name}"));
        out.push(b':');
        out.extend_from_slice(value.get().as_bytes());
        out.push(b',');
    }
}

/// A row without an answer: its members as they came, or its text where it has none.
fn refuse(record: &str, problem: &str, out: &mut Vec<u8>) {
    match parse(record) {
        Ok(Members(members)) => echo(record, &members, out),
        Err(_) => {
            out.extend_from_slice(br#"{"input":"#);
            push_json_text(out, record);
            out.push(b',');
        }
    }
    push_json_problem(out, problem);
    out.extend_from_slice(b"}\n");
}

impl Rows for JsonRows {
    fn quotes(&self) -> Quotes {
        Quotes::Plain
    }

    fn answer_all(&self, bytes: &[u8], seat: &mut Seat<'_>) -> Piece {
        let mut piece = Piece::to(bytes);
        let mut records = records(bytes, Quotes::Plain)
            .filter(|(_, record)| !record.iter().all(u8::is_ascii_whitespace))
            .map(|(line, record)| (line, String::from_utf8_lossy(record)));
        loop {
            let texts: Vec<(u64, Cow<'_, str>)> = records.by_ref().take(TOGETHER).collect();
            if texts.is_empty() {
                break;
            }
            piece.rows += texts.len() as u64;
            let (mut reads, mut asked) =
                (Vec::with_capacity(TOGETHER), Vec::with_capacity(TOGETHER));
            for (_, text) in &texts {
                let (row, members) = match read(text, seat) {
                    Ok((row, members)) => (Ok(row), members),
                    Err(error) => (Err(error), Read::default()),
                };
                asked.push(row);
                reads.push(members);
            }
            for (((line, text), read), answer) in texts.iter().zip(reads).zip(seat.answer(asked)) {
                match answer {
                    Ok(answer) => write(text, &read, &answer, &mut piece),
                    Err(error) => {
                        refuse(text, &error.to_string(), &mut piece.bytes);
                        piece.note(*line, &error);
                    }
                }
            }
        }
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_echoed_as_they_came() {
        for (record, expected) in [
            (r#" {"m": 1.50, "note": "a}b"} "#, r#"{"m": 1.50, "note": "a}b","#),
            (r#"{"a":{"b":{}}}"#, r#"{"a":{"b":{}},"#),
            ("{}", "{"),
            (r#"{"time_us":5,"m":1}"#, r#"{"given_time_us":5,"m":1,"#),
        ] {
            let mut out = Vec::new();
            echo(record, &parse(record).unwrap().0, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_place() {
        for (record, place) in
            [("[1]", "invalid type"), (r#"{"m":}"#, "column 6"), ("{", "column 1")]
        {
            let error = parse(record).err().map(|error| error.to_string()).unwrap();
            assert!(error.starts_with(place), "{record}: {error}");
        }
        let many: String = (0..20).map(|at| format!("\"a{}\":{at},", at % 19)).collect();
        let many = format!("{{{}}}", many.trim_end_matches(','));
        for (record, name) in [(r#"{"m":1,"n":2,"m":3}"#, "m"), (many.as_str(), "a0")] {
            let error = parse(record).err().map(|error| error.to_string()).unwrap();
            assert!(error.contains(&format!("`{name}` is there twice")), "{record}: {error}");
        }
    }
}
