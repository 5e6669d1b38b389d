//! Points and records as flat text fields: the one codec behind data-set files, journal lines
//! and batch questions.
//!
//! A field has a name and a text value; where the names stand (a CSV header, the keys of a
//! JSON object) is the caller's affair, who lends a lookup function. An absent field and an
//! empty one mean the same: the neutral value where there is one, else an error that names the
//! field. Reading a point allocates nothing unless it fails.
//!
//! Left to others: splitting lines into cells (`table`), folders and manifests (`dataset`),
//! and foreign column names (`import`).

mod error;
mod outcome;
mod point;
mod record;
mod time;

pub use error::FieldError;
pub use outcome::{failure_from_text, failure_text, skip_from_text, skip_text};
pub use point::{base_columns, columns, read_point, write_point};
pub(crate) use record::read_about;
pub use record::{RECORD_COLUMNS, SPREAD_COLUMNS, read_record, write_record};
pub use time::{microseconds, read_microseconds};

/// A lookup of field values by name; `None` and an empty text both mean absent.
pub type Lookup<'f, 'text> = &'f (dyn Fn(&str) -> Option<&'text str> + 'f);
