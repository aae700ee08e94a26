//! Draws a graph with lines, from top to bottom: a row for each node, and rows between them where
//! edges join or split.
//!
//! ```text
//! ● a
//! ├─┐
//! ● │ b
//! │ ● c
//! ├─┘
//! ● d
//! ```

/// A row of the drawing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DrawingRow {
    /// The characters of the row, without trailing spaces.
    pub lines: String,
    /// The node in this row, by its position in the order.
    pub node: Option<usize>,
}

/// Maximum number of parallel edges in a drawing.
const WIDEST: usize = 24;

/// Draws nodes in an order in which each follows its predecessors; `successors` are positions in
/// that order. `None` if the drawing would be too wide.
pub(super) fn draw(successors: &[Vec<usize>]) -> Option<Vec<DrawingRow>> {
    let mut rows = Vec::new();
    // For each column, the node that its line leads to.
    let mut lanes: Vec<Option<usize>> = Vec::new();
    for (node, next) in successors.iter().enumerate() {
        let here: Vec<usize> =
            (0..lanes.len()).filter(|column| lanes[*column] == Some(node)).collect();
        let column = match here.first() {
            Some(first) => *first,
            None => free(&mut lanes, &[]),
        };
        if here.len() > 1 {
            rows.push(between(&lanes, &here, '└', '┴', '┘'));
        }
        here.iter().for_each(|column| lanes[*column] = None);
        lanes[column] = Some(node);
        rows.push(DrawingRow { lines: node_row(&lanes, column), node: Some(node) });
        let mut next = next.clone();
        next.sort_unstable();
        lanes[column] = next.first().copied();
        let mut ends = vec![column];
        for target in next.iter().skip(1) {
            let new = free(&mut lanes, &ends);
            lanes[new] = Some(*target);
            ends.push(new);
        }
        if lanes.len() > WIDEST {
            return None;
        }
        if ends.len() > 1 {
            ends.sort_unstable();
            rows.push(between(&lanes, &ends, '┌', '┬', '┐').through(column, &ends));
        }
        while lanes.last() == Some(&None) {
            lanes.pop();
        }
    }
    Some(rows)
}

/// The first free column, possibly a new one.
fn free(lanes: &mut Vec<Option<usize>>, taken: &[usize]) -> usize {
    let found = (0..lanes.len()).find(|at| lanes[*at].is_none() && !taken.contains(at));
    found.unwrap_or_else(|| {
        lanes.push(None);
        lanes.len() - 1
    })
}

fn node_row(lanes: &[Option<usize>], column: usize) -> String {
    let mark = |(at, lane): (usize, &Option<usize>)| match lane {
        _ if at == column => '●',
        Some(_) => '│',
        None => ' ',
    };
    let marks: Vec<String> = lanes.iter().enumerate().map(mark).map(String::from).collect();
    marks.join(" ").trim_end().to_owned()
}

/// A row that joins these ascending columns with a line, which crosses other lines. The first
/// column continues above and below.
fn between(
    lanes: &[Option<usize>],
    ends: &[usize],
    left: char,
    middle: char,
    right: char,
) -> DrawingRow {
    let (first, last) = (ends[0], ends[ends.len() - 1]);
    let mut lines = String::new();
    for (at, lane) in lanes.iter().enumerate() {
        lines.push(match (at, lane) {
            (at, _) if at == first && left == '└' => '├',
            (at, _) if at == first => left,
            (at, _) if at == last => right,
            (at, _) if ends.contains(&at) => middle,
            (at, Some(_)) if first < at && at < last => '┼',
            (_, Some(_)) => '│',
            (at, None) if first < at && at < last => '─',
            (_, None) => ' ',
        });
        if at + 1 < lanes.len() {
            lines.push(if first <= at && at < last { '─' } else { ' ' });
        }
    }
    DrawingRow { lines: lines.trim_end().to_owned(), node: None }
}

impl DrawingRow {
    /// The same row, with the line of this column continuing from above.
    fn through(self, column: usize, ends: &[usize]) -> Self {
        let (first, last) = (ends[0], ends[ends.len() - 1]);
        let mark = match column {
            column if column == first => '├',
            column if column == last => '┤',
            _ => '┼',
        };
        let place = 2 * column;
        let lines = self.lines.chars().enumerate();
        let lines = lines.map(|(at, one)| if at == place { mark } else { one }).collect();
        Self { lines, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The drawing, with the positions of nodes.
    fn drawn(successors: &[&[usize]]) -> Vec<String> {
        let successors: Vec<Vec<usize>> = successors.iter().map(|next| next.to_vec()).collect();
        let rows = draw(&successors).expect("it is narrow");
        let text = |row: DrawingRow| match row.node {
            Some(node) => format!("{} {node}", row.lines),
            None => row.lines,
        };
        rows.into_iter().map(text).collect()
    }

    #[test]
    fn edges_part_and_come_together() {
        let diamond = drawn(&[&[1, 2], &[3], &[3], &[]]);
        assert_eq!(diamond, ["● 0", "├─┐", "● │ 1", "│ ● 2", "├─┘", "● 3"]);
        let chain = drawn(&[&[1], &[2], &[]]);
        assert_eq!(chain, ["● 0", "● 1", "● 2"]);
    }

    #[test]
    fn lines_cross_and_columns_are_used_again() {
        // 0 and 1 lead to 3, 2 to 4; 3 leads to 4.
        let crossing = drawn(&[&[3, 4], &[4], &[3], &[4], &[]]);
        assert_eq!(
            crossing,
            ["● 0", "├─┐", "│ │ ● 1", "│ │ │ ● 2", "├─┼─┼─┘", "● │ │ 3", "├─┴─┘", "● 4"]
        );
        let apart = drawn(&[&[], &[2], &[]]);
        assert_eq!(apart, ["● 0", "● 1", "● 2"]);
    }

    #[test]
    fn every_edge_is_a_line_from_its_node_to_the_other() {
        // A line without a target would occupy its column to the end.
        let many: Vec<Vec<usize>> = (0..12)
            .map(|node| [node + 1, node + 3].into_iter().filter(|next| *next < 12).collect())
            .collect();
        let rows = draw(&many).expect("it is narrow");
        assert_eq!(rows.iter().filter(|row| row.node.is_some()).count(), 12);
        assert_eq!(rows.last().map(|row| row.lines.as_str()), Some("●"));
    }

    #[test]
    fn what_is_too_wide_is_not_drawn() {
        let mut wide: Vec<Vec<usize>> = vec![(1..40).collect()];
        wide.extend((1..40).map(|_| Vec::new()));
        assert_eq!(draw(&wide), None);
    }
}
