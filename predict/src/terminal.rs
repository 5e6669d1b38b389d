//! Text from files and arguments, made harmless for a terminal.

/// A name from a file for a terminal: no control characters, at most `width` letters.
pub fn plain(name: &str, width: usize) -> String {
    let clean = |letter: char| if is_harmless(letter) { letter } else { '\u{fffd}' };
    let letters: Vec<char> = name.chars().map(clean).take(width + 1).collect();
    match letters.len() > width {
        true => letters[..width.saturating_sub(1)].iter().chain(['…'].iter()).collect(),
        false => letters.into_iter().collect(),
    }
}

/// No control character, and none that turns the direction of what follows.
fn is_harmless(letter: char) -> bool {
    let turns = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !letter.is_control() && !turns
}

/// Text from files and arguments for a terminal, of any length, with its line breaks.
pub fn harmless(text: &str) -> String {
    let clean =
        |letter: char| if letter == '\n' || is_harmless(letter) { letter } else { '\u{fffd}' };
    text.chars().map(clean).collect()
}
