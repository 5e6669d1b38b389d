//! Small values of events, read leniently: whatever is there, parsing goes on.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::recording::NONE;

/// A whole number, or [`NONE`] for anything else. Texts of numbers count as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Integer(pub i64);

impl Default for Integer {
    fn default() -> Self {
        Integer(NONE)
    }
}

/// A text or a number, as processes and threads are named. Texts of numbers count as numbers:
/// in 2021 the same thread was `7` in arrows and `"7"` in events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Label<'a> {
    /// Nothing, or something that is neither.
    #[default]
    Missing,
    Number(i64),
    Text(Cow<'a, str>),
}

/// A text; empty for anything else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text<'a>(pub Cow<'a, str>);

/// Up to three whole numbers that are not negative; zeros for anything else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Triple(pub [u32; 3]);

/// Implements reading of a type whose visitor has the same name with `Visitor` added; lists and
/// objects that it does not want are passed over.
macro_rules! lenient {
    ($type:ident $(<$life:lifetime>)?, $default:expr, { $($method:item)* }) => {
        impl<'de $(: $life, $life)?> Deserialize<'de> for $type $(<$life>)? {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Lenient;
                impl<'de> Visitor<'de> for Lenient {
                    lenient!(@value $type $(<$life>)?);
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("any value")
                    }
                    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                        Ok($default)
                    }
                    fn visit_unit<E>(self) -> Result<Self::Value, E> {
                        Ok($default)
                    }
                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                        Ok($default)
                    }
                    $($method)*
                }
                deserializer.deserialize_any(Lenient)
            }
        }
    };
    (@value $type:ident) => { type Value = $type; };
    (@value $type:ident <$life:lifetime>) => { type Value = $type<'de>; };
}

fn drain<'de, A: SeqAccess<'de>>(list: &mut A) -> Result<(), A::Error> {
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// A number that has no digits after the point, if it fits.
fn whole(number: f64) -> i64 {
    // 2^63, the first number that does not fit.
    let fits = number.fract() == 0.0 && number.abs() < 9_223_372_036_854_775_808.0;
    if fits { number as i64 } else { NONE }
}

lenient!(Integer, Integer(NONE), {
    fn visit_i64<E>(self, number: i64) -> Result<Integer, E> {
        Ok(Integer(number))
    }
    // Identifiers beyond 2^63 stay different from each other, which is all they are for.
    fn visit_u64<E>(self, number: u64) -> Result<Integer, E> {
        Ok(Integer(number.cast_signed()))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Integer, E> {
        Ok(Integer(whole(number)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Integer, E> {
        Ok(Integer(text.trim().parse().unwrap_or(NONE)))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Integer, A::Error> {
        drain(&mut list)?;
        Ok(Integer(NONE))
    }
});

lenient!(Triple, Triple::default(), {
    fn visit_i64<E>(self, _: i64) -> Result<Triple, E> {
        Ok(Triple::default())
    }
    fn visit_u64<E>(self, number: u64) -> Result<Triple, E> {
        Ok(Triple([u32::try_from(number).unwrap_or(0), 1, 1]))
    }
    fn visit_f64<E>(self, _: f64) -> Result<Triple, E> {
        Ok(Triple::default())
    }
    fn visit_str<E>(self, _: &str) -> Result<Triple, E> {
        Ok(Triple::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Triple, A::Error> {
        let mut numbers = [0; 3];
        for number in &mut numbers {
            match list.next_element::<Integer>()? {
                Some(Integer(found)) => *number = u32::try_from(found).unwrap_or(0),
                None => return Ok(Triple(numbers)),
            }
        }
        drain(&mut list)?;
        Ok(Triple(numbers))
    }
});

lenient!(Text<'a>, Text::default(), {
    fn visit_i64<E>(self, number: i64) -> Result<Text<'de>, E> {
        Ok(Text(number.to_string().into()))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Text<'de>, E> {
        Ok(Text(number.to_string().into()))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Text<'de>, E> {
        Ok(Text(number.to_string().into()))
    }
    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(text.to_owned().into()))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(text.into()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text<'de>, A::Error> {
        drain(&mut list)?;
        Ok(Text::default())
    }
});

lenient!(Label<'a>, Label::Missing, {
    fn visit_i64<E>(self, number: i64) -> Result<Label<'de>, E> {
        Ok(Label::Number(number))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Label<'de>, E> {
        Ok(i64::try_from(number)
            .map_or_else(|_| Label::Text(number.to_string().into()), Label::Number))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Label<'de>, E> {
        let label = match whole(number) {
            NONE => Label::Text(number.to_string().into()),
            number => Label::Number(number),
        };
        Ok(label)
    }
    fn visit_str<E>(self, text: &str) -> Result<Label<'de>, E> {
        Ok(text.parse().map_or_else(|_| Label::Text(text.to_owned().into()), Label::Number))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Label<'de>, E> {
        Ok(text.parse().map_or_else(|_| Label::Text(text.into()), Label::Number))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Label<'de>, A::Error> {
        drain(&mut list)?;
        Ok(Label::Missing)
    }
});

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(text: &str) -> i64 {
        serde_json::from_str::<Integer>(text).unwrap().0
    }

    #[test]
    fn whole_numbers_however_written() {
        assert_eq!(integer("-1"), -1);
        assert_eq!(integer("\"42\""), 42);
        assert_eq!(integer("7.0"), 7);
        assert_eq!(integer("18446744073709551615"), -1);
        for other in ["null", "true", "7.5", "1e300", "[1]", "{\"a\":[2]}", "\"0x0\""] {
            assert_eq!(integer(other), NONE, "{other}");
        }
    }

    #[test]
    fn labels_are_numbers_or_texts() {
        let label = |text| serde_json::from_str::<Label<'_>>(text).unwrap();
        assert_eq!(label("7"), Label::Number(7));
        assert_eq!(label("\"7\""), Label::Number(7));
        assert_eq!(label("\"stream 7\""), Label::Text("stream 7".into()));
        assert_eq!(label("\"a\\nb\""), Label::Text("a\nb".into()));
        assert_eq!(label("null"), Label::Missing);
    }

    #[test]
    fn triples_are_filled_with_zeros() {
        let triple = |text| serde_json::from_str::<Triple>(text).unwrap().0;
        assert_eq!(triple("[1, 2, 3]"), [1, 2, 3]);
        assert_eq!(triple("[1, -2]"), [1, 0, 0]);
        assert_eq!(triple("[1, 2, 3, 4]"), [1, 2, 3]);
        assert_eq!(triple("\"grid(100,)\""), [0, 0, 0]);
    }
}
