//! Aligned text tables and Markdown tables of the same rows.

/// Rows under a heading; every row has as many cells as the heading.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
}

impl Columns {
    /// A table with this heading; a column whose title ends in `>` is aligned to the right.
    pub fn new(heading: &[&str]) -> Self {
        Columns {
            heading: heading.iter().map(|title| title.trim_end_matches('>').to_owned()).collect(),
            rows: Vec::new(),
            right: heading.iter().map(|title| title.ends_with('>')).collect(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// For a terminal: columns three blanks apart.
    pub fn text(&self) -> String {
        let widths: Vec<usize> = (0..self.heading.len()).map(|column| self.width(column)).collect();
        let mut text = String::new();
        for row in std::iter::once(&self.heading).chain(&self.rows) {
            let cells = row.iter().zip(&widths).zip(&self.right).map(|((cell, width), right)| {
                if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            text.push_str(cells.collect::<Vec<_>>().join("   ").trim_end());
            text.push('\n');
        }
        text
    }

    /// For a report.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: Vec<&str> =
            self.right.iter().map(|right| if *right { "---:" } else { "---" }).collect();
        let mut text = line(&self.heading);
        text.push_str(&format!("| {} |\n", rule.join(" | ")));
        self.rows.iter().for_each(|row| text.push_str(&line(row)));
        text
    }

    fn width(&self, column: usize) -> usize {
        let cells = std::iter::once(&self.heading).chain(&self.rows);
        cells.filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_line_up_and_nothing_trails() {
        let mut columns = Columns::new(&["suite", "points>", "why"]);
        columns.row(["gemm".to_owned(), "1840".to_owned(), "sizes".to_owned()]);
        columns.row(["copy µ".to_owned(), "7".to_owned(), String::new()]);
        assert_eq!(
            columns.text(),
            "suite    points   why\ngemm       1840   sizes\ncopy µ        7\n"
        );
        assert_eq!(
            columns.markdown(),
            "| suite | points | why |\n| --- | ---: | --- |\n| gemm | 1840 | sizes |\n\
             | copy µ | 7 |  |\n"
        );
    }
}
