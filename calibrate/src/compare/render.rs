//! A comparison as a table, for a terminal or for a report.

use kernelgauge_data::Nanos;

use super::{About, Comparison, Fact, Row};
use crate::columns::Columns;
use crate::summary::ENOUGH_FOR_P90;

impl Comparison {
    /// For a terminal: what differs about the two first, then the ratios.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.heading("", "\n"), self.columns().text())
    }

    /// For a report.
    pub fn markdown(&self) -> String {
        format!("{}\n{}", self.heading("* ", "\n"), self.columns().markdown())
    }

    fn heading(&self, bullet: &str, end: &str) -> String {
        let side = |name: &str, About { given, machine, device }: &About| {
            format!("{bullet}{name}   {given} ({machine}: {device}){end}")
        };
        let mut text = side("A", &self.a) + &side("B", &self.b);
        for Fact { fact, a, b } in &self.differences {
            let or_nothing = |value: &Option<String>| value.clone().unwrap_or("not stated".into());
            let (a, b) = (or_nothing(a), or_nothing(b));
            text.push_str(&format!("{bullet}{fact}: A {a}, B {b}{end}"));
        }
        text
    }

    fn columns(&self) -> Columns {
        let mut columns = Columns::new(&[
            "variant",
            "basis",
            "points>",
            "A>",
            "B>",
            "B / A>",
            "p10>",
            "p90>",
            "beyond noise>",
            "",
        ]);
        for row in &self.rows {
            columns.row(cells(row));
        }
        columns
    }
}

fn cells(row: &Row) -> [String; 10] {
    let ratio = |value: Option<f64>| value.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
    // The tails of a few points are its extremes.
    let time = |us: Option<f64>| us.and_then(|us| Nanos::from_us(us).ok());
    let time = |us| time(us).map_or("-".to_owned(), |time| time.to_string());
    let tail = |value| ratio(if row.points < ENOUGH_FOR_P90 { None } else { value });
    [
        row.label(),
        row.basis.name().to_owned(),
        match row.left_out {
            0 => row.points.to_string(),
            left_out => format!("{} (-{left_out})", row.points),
        },
        time(row.a_us),
        time(row.b_us),
        ratio(row.median),
        tail(row.p10),
        tail(row.p90),
        if row.points > 0 { row.beyond_noise.to_string() } else { "-".to_owned() },
        match (row.changed, row.too_few) {
            (true, _) => "changed".to_owned(),
            (_, true) => "too few points to tell".to_owned(),
            _ => String::new(),
        },
    ]
}
