//! Dashes as geometry: what draws for plotters knows solid lines only.

/// A place in CSS pixels from the upper left corner, x to the right and y down.
pub type Point = (f64, f64);

/// The visible parts of `path` when it is drawn with `pattern`, which alternates lengths of line and
/// of gap in the unit of the path. An empty pattern is a solid line.
pub fn dashed(path: &[Point], pattern: &[f64]) -> Vec<Vec<Point>> {
    let Some(&start) = path.first() else { return Vec::new() };
    // A length of nothing would never be used up.
    let mut lengths = pattern.iter().map(|length| length.max(0.5)).cycle();
    let Some(mut left) = lengths.next() else { return vec![path.to_vec()] };
    let mut dashes = Vec::new();
    let mut dash = vec![start];
    let mut drawn = true;
    let mut from = start;
    for &to in path {
        loop {
            let (across, down) = (to.0 - from.0, to.1 - from.1);
            let rest = (across * across + down * down).sqrt();
            if rest < left {
                left -= rest;
                if drawn && rest > 0.0 {
                    dash.push(to);
                }
                from = to;
                break;
            }
            let part = left / rest;
            from = (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
            if drawn {
                dash.push(from);
                dashes.push(std::mem::take(&mut dash));
            } else {
                dash = vec![from];
            }
            drawn = !drawn;
            left = lengths.next().unwrap_or(f64::INFINITY);
        }
    }
    if dash.len() > 1 {
        dashes.push(dash);
    }
    dashes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_without_a_pattern_stays_whole() {
        let path = [(0.0, 0.0), (3.0, 4.0), (6.0, 0.0)];
        assert_eq!(dashed(&path, &[]), [path.to_vec()]);
        assert!(dashed(&[], &[1.0]).is_empty());
    }

    #[test]
    fn lines_and_gaps_alternate() {
        let dashes = dashed(&[(0.0, 0.0), (10.0, 0.0)], &[3.0, 1.0]);
        assert_eq!(dashes, [[(0.0, 0.0), (3.0, 0.0)], [(4.0, 0.0), (7.0, 0.0)], [(8.0, 0.0), (10.0, 0.0)]]);
    }

    #[test]
    fn a_dash_goes_round_a_corner() {
        let dashes = dashed(&[(0.0, 0.0), (2.0, 0.0), (2.0, 5.0)], &[4.0, 2.0]);
        assert_eq!(dashes, [vec![(0.0, 0.0), (2.0, 0.0), (2.0, 2.0)], vec![(2.0, 4.0), (2.0, 5.0)]]);
    }

    #[test]
    fn points_that_coincide_and_lengths_of_nothing_end() {
        assert!(dashed(&[(1.0, 1.0), (1.0, 1.0)], &[2.0, 2.0]).is_empty());
        assert!(!dashed(&[(0.0, 0.0), (9.0, 0.0)], &[0.0, 0.0]).is_empty());
    }
}
