//! An evaluation as a table for people, as Markdown and as JSON.

use std::fmt::Write;

use super::{Errors, Evaluation, EvaluationRow};

/// Columns of the table; the rest stands in Markdown and JSON.
const TABLE: [&str; 9] =
    ["variant", "split", "n", "MAPE", "median", "p90", "covered", "analytical", "lookup"];

/// Columns of the Markdown table.
const MARKDOWN: [&str; 12] = [
    "variant",
    "split",
    "n",
    "MAPE",
    "GMAE",
    "median",
    "p90",
    "worst",
    "covered",
    "width",
    "analytical MAPE / median",
    "lookup MAPE / median",
];

/// Three significant digits, no unit: the heading has it.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.995 {
        format!("{percent:.2}")
    } else if percent < 99.95 {
        format!("{percent:.1}")
    } else {
        format!("{percent:.0}")
    }
}

/// Fewer points than this have no 90th percentile worth the name.
const ENOUGH_FOR_P90: usize = 10;

/// Of fewer points than this the number within the interval is told, not the share.
const ENOUGH_FOR_SHARE: usize = 20;

fn p90(errors: &Errors) -> String {
    if errors.points < ENOUGH_FOR_P90 { "-".to_owned() } else { percent(errors.p90) }
}

/// `91` (per cent), or `3 of 4`.
fn covered(row: &EvaluationRow) -> String {
    let points = row.model.points;
    if points >= ENOUGH_FOR_SHARE {
        return format!("{:.0}", row.coverage * 100.0);
    }
    format!("{:.0} of {points}", row.coverage * points as f64)
}

fn variant(row: &EvaluationRow) -> String {
    let state = row.cache.name();
    let space = if state.is_empty() { "" } else { " " };
    format!("{} {}{space}{state}", row.family, row.variant)
}

fn table_cells(row: &EvaluationRow) -> [String; 9] {
    let lookup = row.interpolation.as_ref();
    [
        variant(row),
        row.split.name().to_owned(),
        row.model.points.to_string(),
        percent(row.model.mape),
        percent(row.model.median),
        p90(&row.model),
        covered(row),
        percent(row.analytical.mape),
        lookup.map_or_else(|| "-".to_owned(), |errors| percent(errors.mape)),
    ]
}

fn markdown_cells(row: &EvaluationRow) -> [String; 12] {
    let both = |errors: &Errors| format!("{} / {}", percent(errors.mape), percent(errors.median));
    [
        variant(row),
        row.split.name().to_owned(),
        row.model.points.to_string(),
        percent(row.model.mape),
        // What the geometric mean adds to every error must not lift it above the plain mean.
        percent(row.model.gmae.min(row.model.mape)),
        percent(row.model.median),
        p90(&row.model),
        percent(row.model.worst),
        covered(row),
        percent(row.width),
        both(&row.analytical),
        row.interpolation.as_ref().map_or_else(|| "-".to_owned(), both),
    ]
}

impl Evaluation {
    /// Aligned columns; errors in per cent, those of the analytical term alone and of log-log
    /// interpolation along the line as their means.
    pub fn table(&self) -> String {
        let mut lines: Vec<[String; 9]> = vec![TABLE.map(str::to_owned)];
        lines.extend(self.rows.iter().map(table_cells));
        let mut widths = [0; 9];
        for line in &lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut text = format!("held-out errors of {}, in %\n", self.machine);
        for line in &lines {
            for (index, (cell, width)) in line.iter().zip(widths).enumerate() {
                let _ = match index {
                    0 => write!(text, "{cell:<width$}"),
                    1 => write!(text, "  {cell:<width$}"),
                    _ => write!(text, "  {cell:>width$}"),
                };
            }
            text.push('\n');
        }
        text
    }

    /// A Markdown table; errors in per cent.
    pub fn markdown(&self) -> String {
        let mut text = format!("| {} |\n|---|---", MARKDOWN.join(" | "));
        text.push_str(&"|---:".repeat(MARKDOWN.len() - 2));
        text.push_str("|\n");
        for row in &self.rows {
            let _ = writeln!(text, "| {} |", markdown_cells(row).join(" | "));
        }
        text
    }

    /// One JSON document; errors as shares.
    pub fn json(&self) -> String {
        // Numbers and our own names only: serialising them cannot fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
