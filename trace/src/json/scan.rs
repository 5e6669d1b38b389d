//! Where a JSON value ends, found without understanding it and without recursion, in pieces.

/// How far a value was followed.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    begun: bool,
    depth: u64,
    in_text: bool,
    escaped: bool,
    scalar: bool,
}

impl Scan {
    /// Follows the value through the next piece, which begins with the value the first time.
    /// Says after how many bytes of the piece the value ends, or nothing if it goes on.
    ///
    /// A number or word ends before what cannot belong to it, so its end is not seen at the end
    /// of a piece.
    pub(crate) fn advance(&mut self, piece: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            at += 1;
            if self.escaped {
                self.escaped = false;
            } else if self.in_text {
                match byte {
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_text = false;
                        if self.depth == 0 {
                            return Some(at);
                        }
                    }
                    _ => {
                        let rest = piece.get(at..).unwrap_or(&[]);
                        let run = rest.iter().position(|&byte| byte == b'"' || byte == b'\\');
                        at += run.unwrap_or(rest.len());
                    }
                }
            } else if self.scalar {
                if matches!(byte, b',' | b']' | b'}' | b':' | b' ' | b'\t' | b'\n' | b'\r') {
                    return Some(at - 1);
                }
            } else {
                match byte {
                    b'"' => self.in_text = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => {
                        self.depth = self.depth.saturating_sub(1);
                        if self.depth == 0 {
                            return Some(at);
                        }
                    }
                    _ => self.scalar = !self.begun,
                }
            }
            self.begun = true;
        }
        None
    }

    /// Whether the value may end where the file ends: numbers and words do.
    pub(crate) fn may_end(&self) -> bool {
        self.scalar
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_found_however_the_text_is_cut() {
        let cases = [
            ("\"a\\\"b\" x", 6),
            ("{\"a\": [1, \"]}\"]}, ", 16),
            ("-12.5e3,", 7),
            ("null}", 4),
            ("[] ", 2),
        ];
        for (text, end) in cases {
            for cut in 0..text.len() {
                let (first, second) = text.as_bytes().split_at(cut);
                let mut scan = Scan::default();
                let found = scan.advance(first).or_else(|| scan.advance(second).map(|at| at + cut));
                assert_eq!(found, Some(end), "{text} cut at {cut}");
            }
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let mut scan = Scan::default();
        assert_eq!(scan.advance("[".repeat(1_000_000).as_bytes()), None);
        assert!(!scan.may_end());
        assert_eq!(scan.advance("]".repeat(1_000_000).as_bytes()), Some(1_000_000));
    }
}
