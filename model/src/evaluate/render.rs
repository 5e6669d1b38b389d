//! An evaluation as a table for people, as Markdown and as JSON.

use std::fmt::Write;

use super::{Errors, Evaluation, EvaluationRow, Peer};

/// Columns of the table; the rest stands in Markdown and JSON.
const TABLE: [&str; 11] = [
    "variant",
    "split",
    "n",
    "MAPE",
    "median",
    "p90",
    "covered",
    "analytical",
    "lookup",
    "repeat",
    "peer",
];

/// Columns of the Markdown table.
const MARKDOWN: [&str; 16] = [
    "variant",
    "split",
    "n",
    "MAPE",
    "GMAE",
    "median",
    "p90",
    "worst",
    "above 20 µs",
    "by band",
    "covered",
    "width",
    "analytical",
    "lookup",
    "repeat",
    "peers",
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

fn both(errors: &Errors) -> String {
    format!("{} / {}", percent(errors.mape), percent(errors.median))
}

fn table_cells(row: &EvaluationRow) -> [String; 11] {
    let mean = |errors: &Option<Errors>| {
        errors.as_ref().map_or_else(|| "-".to_owned(), |errors| percent(errors.mape))
    };
    let peers = row.peers.iter().filter_map(|peer| peer.mape);
    [
        variant(row),
        row.split.name().to_owned(),
        row.model.points.to_string(),
        percent(row.model.mape),
        percent(row.model.median),
        p90(&row.model),
        covered(row),
        percent(row.analytical.mape),
        mean(&row.interpolation),
        mean(&row.repeat),
        peers.reduce(f64::min).map_or_else(|| "-".to_owned(), percent),
    ]
}

fn markdown_cells(row: &EvaluationRow) -> [String; 16] {
    let some = |errors: &Option<Errors>| errors.as_ref().map_or_else(|| "-".to_owned(), both);
    let bands: Vec<String> = row.bands.iter().map(|band| both(&band.model)).collect();
    let peers: Vec<String> = row.peers.iter().map(peer).collect();
    let listed = |list: Vec<String>| {
        if list.is_empty() { "-".to_owned() } else { list.join("; ") }
    };
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
        some(&row.above_20_us),
        listed(bands),
        covered(row),
        percent(row.width),
        both(&row.analytical),
        some(&row.interpolation),
        some(&row.repeat),
        listed(peers),
    ]
}

/// `aiconfigurator 4.73 / 2.80 / 11.4`, unknown figures as `-`.
fn peer(peer: &Peer) -> String {
    let figures = [peer.mape, peer.median, peer.p90];
    let texts = figures.map(|figure| figure.map_or_else(|| "-".to_owned(), percent));
    format!("{} {}", peer.name, texts.join(" / "))
}

impl Evaluation {
    /// Aligned columns; errors in per cent, those of the analytical term alone, of log-log
    /// interpolation along the line, of another measurement and of the best peer as their means.
    pub fn table(&self) -> String {
        let mut lines: Vec<[String; 11]> = vec![TABLE.map(str::to_owned)];
        lines.extend(self.rows.iter().map(table_cells));
        // Columns that nothing stands in take no place.
        let shown: Vec<usize> =
            (0..11).filter(|&at| lines.iter().skip(1).any(|line| line[at] != "-")).collect();
        let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max();
        let widths: Vec<usize> = shown.iter().map(|&at| width(at).unwrap_or(0)).collect();
        let mut text = format!("held-out errors of {}, in %\n", self.machine);
        for line in &lines {
            for (&at, &width) in shown.iter().zip(&widths) {
                let cell = &line[at];
                let _ = match at {
                    0 => write!(text, "{cell:<width$}"),
                    1 => write!(text, "  {cell:<width$}"),
                    _ => write!(text, "  {cell:>width$}"),
                };
            }
            text.push('\n');
        }
        text
    }

    /// A Markdown table; errors in per cent, pairs as mean / median, those of peers as mean /
    /// median / 90th percentile.
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
