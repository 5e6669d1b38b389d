//! Takes from foreign text what must reach no output: addresses, UUIDs, serial and bus numbers,
//! paths, names of host and user, and whatever a variable of the environment holds.
//!
//! Libraries print such things into their last words, which become part of a journal. Rather too
//! much is taken than too little: what is told is an error's wording, not its circumstances.

/// Values of variables shorter than this are common words: `1`, `en`, `vi`.
const SHORTEST_SECRET: usize = 6;
/// Digits, and hexadecimal ones, of the shortest number that may identify something.
const LONG_NUMBER: usize = 8;

/// `text` without them, and without control characters.
pub fn scrub(text: &str) -> String {
    let variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let host = rustix::system::uname();
    scrubbed(text, &variables, &host.nodename().to_string_lossy())
}

fn scrubbed(text: &str, variables: &[(String, String)], host: &str) -> String {
    let mut text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut secrets: Vec<&str> =
        variables.iter().map(|(_, v)| v.trim()).filter(|v| v.len() >= SHORTEST_SECRET).collect();
    // The longest first: one may be a part of another.
    secrets.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
    for secret in secrets {
        text = text.replace(secret, "*");
    }
    let users = variables.iter().filter(|(name, _)| ["USER", "LOGNAME"].contains(&name.as_str()));
    let names: Vec<&str> = users.map(|(_, user)| user.as_str()).chain([host]).collect();
    let words: Vec<String> = text.split_whitespace().map(|word| scrub_word(word, &names)).collect();
    words.join(" ")
}

/// `word`, or as much of it as may be told.
fn scrub_word(word: &str, names: &[&str]) -> String {
    if word.contains('/') || is_internet_address(word) {
        return "*".to_owned();
    }
    let parts = word.split_inclusive(|c: char| !c.is_alphanumeric() && c != '-' && c != ':');
    parts.map(|part| scrub_part(part, names)).collect()
}

fn scrub_part(part: &str, names: &[&str]) -> String {
    let core = part.trim_end_matches(|c: char| !c.is_alphanumeric());
    let tail = &part[core.len()..];
    let is_name = names.iter().any(|name| !name.is_empty() && *name == core);
    if is_name || identifies(core) { format!("*{tail}") } else { part.to_owned() }
}

/// Whether this is `10.0.17.4` or `10.0.17.4:29501`.
fn is_internet_address(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let (address, _) = word.split_once(':').unwrap_or((word, ""));
    address.parse::<std::net::Ipv4Addr>().is_ok()
}

/// Whether this looks like an address, a UUID, a serial or bus number.
fn identifies(core: &str) -> bool {
    let digits = core.bytes().filter(u8::is_ascii_digit).count();
    let hex = core.strip_prefix("0x").unwrap_or(core);
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    let long_hex = hex.len() >= LONG_NUMBER && digits > 0 && is_hex(hex);
    // The groups of a UUID, and of a bus or hardware address.
    let groups = core.split(['-', ':']).filter(|group| is_hex(group) && group.len() >= 2).count();
    (core.starts_with("0x") && is_hex(hex)) || long_hex || groups >= 2 && digits > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, left: &str) {
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let variables = [
            variable("API_TOKEN", "hunter2-is-secret"),
            variable("USER", "bob"),
            variable("HOME", "/home/bob"),
            variable("LEVEL", "1"),
        ];
        assert_eq!(scrubbed(text, &variables, "node17"), left);
    }

    #[test]
    fn what_identifies_goes_and_wording_stays() {
        check("segmentation fault at 0x7ffd5e8a1c40 (code 1)", "segmentation fault at * (code 1)");
        check("GPU-66616b65-2d67-7075-2d75-7569642d3030: Xid 79", "*: Xid 79");
        check("NVRM: 0000:3B:00.0 fell off the bus", "NVRM: *.0 fell off the bus");
        check("serial 1324221012345 on node17, user bob", "serial * on *, user *");
        check("token=hunter2-is-secret;", "token=*;");
        check("cannot open /home/bob/x.so: No such file", "cannot open * No such file");
        check("thread 'main' panicked at src/main.rs:4:5:", "thread 'main' panicked at *");
        check(
            "CUDA error 700: an illegal memory access\u{7}",
            "CUDA error 700: an illegal memory access",
        );
        check("connect to 10.0.17.4:29501 failed", "connect to * failed");
    }
}
