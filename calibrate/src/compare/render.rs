//! A comparison as a table, for a terminal or for a report.

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
            "B / A median>",
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

fn cells(row: &Row) -> [String; 8] {
    let ratio = |value: Option<f64>| value.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
    // The tails of a few points are its extremes.
    let tail = |value| ratio(if row.points < ENOUGH_FOR_P90 { None } else { value });
    [
        row.label(),
        row.basis.name().to_owned(),
        row.points.to_string(),
        ratio(row.median),
        tail(row.p10),
        tail(row.p90),
        if row.points > 0 { row.beyond_noise.to_string() } else { "-".to_owned() },
        if row.changed { "changed".to_owned() } else { String::new() },
    ]
}
