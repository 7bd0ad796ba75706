//! Columns of text.

/// On which side the texts of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells under a heading.
#[derive(Clone, Debug)]
pub struct Table {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(columns: &[(&str, Side)]) -> Self {
        let heading = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        Self { sides: columns.iter().map(|(_, side)| *side).collect(), rows: vec![heading] }
    }

    /// Adds a row; cells beyond the columns are left out.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// The rows as lines, each column as wide as its widest cell, two spaces in front and between.
    pub fn text(&self) -> String {
        let widths: Vec<usize> = (0..self.sides.len())
            .map(|column| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0))
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, width_of_column), side) in row.iter().zip(&widths).zip(&self.sides) {
                let padding = " ".repeat(width_of_column - width(cell));
                line.push_str("  ");
                match side {
                    Side::Left => line.extend([cell.as_str(), &padding]),
                    Side::Right => line.extend([padding.as_str(), cell]),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Columns that a text takes: every character here takes one.
fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_lines_end_without_spaces() {
        let mut table = Table::new(&[("what", Side::Left), ("GiB", Side::Right), ("why", Side::Left)]);
        table.row(["S²·b".to_owned(), "1,024.00".to_owned(), String::new()]);
        table.row(["a longer name".to_owned(), "0.50".to_owned(), "because".to_owned()]);
        let expected =
            "  what                GiB  why\n  S²·b           1,024.00\n  a longer name      0.50  because\n";
        assert_eq!(table.text(), expected);
    }
}
