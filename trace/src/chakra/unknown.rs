//! Counts what a message says in fields that the schema does not have: those are lost when the
//! message is written again.

/// Messages by the numbers of their fields.
#[derive(Clone, Copy)]
enum Kind {
    Metadata,
    Node,
    Values,
    Attribute,
    List,
}

impl Kind {
    /// The message in a field, or none for other values; none at all for unknown fields.
    fn field(self, number: u64) -> Option<Option<Kind>> {
        match (self, number) {
            (Kind::Metadata, 1) | (Kind::Node, 1..=7 | 11) => Some(None),
            (Kind::Metadata, 2) | (Kind::Node, 10) => Some(Some(Kind::Attribute)),
            (Kind::Node, 8 | 9) => Some(Some(Kind::Values)),
            (Kind::Values, 1..=3) | (Kind::List, 1) => Some(None),
            (Kind::Attribute, 1 | 2) => Some(None),
            // Odd numbers hold one value, the even ones behind them a list.
            (Kind::Attribute, 3..=32) => Some(number.is_multiple_of(2).then_some(Kind::List)),
            _ => None,
        }
    }
}

pub(super) fn in_metadata(message: &[u8]) -> u64 {
    count(message, Kind::Metadata)
}

pub(super) fn in_node(message: &[u8]) -> u64 {
    count(message, Kind::Node)
}

/// Counts; what is no protobuf ends the count, being refused elsewhere.
fn count(message: &[u8], kind: Kind) -> u64 {
    let mut unknown = 0;
    let mut waiting = vec![(message, kind)];
    while let Some((mut rest, kind)) = waiting.pop() {
        while let Some((key, after)) = varint(rest) {
            let Some((value, after)) = value(after, key & 7) else { break };
            match kind.field(key >> 3) {
                Some(Some(inner)) if key & 7 == 2 => waiting.push((value, inner)),
                Some(_) => {}
                None => unknown += 1,
            }
            rest = after;
        }
    }
    unknown
}

/// The bytes of a value by its wire type, and what follows.
fn value(bytes: &[u8], wire: u64) -> Option<(&[u8], &[u8])> {
    let length = match wire {
        0 => bytes.len() - varint(bytes)?.1.len(),
        1 => 8,
        5 => 4,
        2 => {
            let (length, rest) = varint(bytes)?;
            return rest.split_at_checked(usize::try_from(length).ok()?);
        }
        _ => return None,
    };
    bytes.split_at_checked(length)
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0u64;
    for (place, &byte) in bytes.iter().take(10).enumerate() {
        number |= u64::from(byte & 0x7f).checked_shl(7 * place as u32).unwrap_or(0);
        if byte & 0x80 == 0 {
            return bytes.get(place + 1..).map(|rest| (number, rest));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_fields_do_not_count_and_others_do() {
        assert_eq!(in_node(&[0x08, 1, 0x12, 1, b'a']), 0);
        // Field 12 of a node, and field 4 of the values in field 8.
        assert_eq!(in_node(&[0x60, 1, 0x42, 2, 0x20, 1]), 2);
        assert_eq!(in_metadata(&[0x18, 1]), 1);
        assert_eq!(in_node(&[0x12, 200]), 0);
    }
}
