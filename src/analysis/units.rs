//! Quantities for people: at most three significant digits, with a unit.

/// `B`, `KiB`, `MiB`, `GiB`, `TiB`.
pub fn bytes(n: u128) -> String {
    scaled(n as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// Bytes beside a limit: in its unit, so that the two compare.
pub fn bytes_like(n: u128, limit: u128) -> String {
    if limit < 1024 { format!("{n} B") } else { bytes(n) }
}

/// Plain counts: `k`, `M`, `G`, `T`, `P` of `unit`.
pub fn count(n: u128, unit: &str) -> String {
    let text = scaled(n as f64, 1000.0, &["", "k", "M", "G", "T", "P", "E"]);
    let text = text.trim_end();
    match (text.ends_with(|c: char| c.is_ascii_digit()), unit.is_empty()) {
        (_, true) => text.replace(' ', ""),
        (true, false) => format!("{text} {unit}"),
        (false, false) => format!("{text}{unit}"),
    }
}

/// A time from picoseconds: `ns`, `us`, `ms`, `s`.
pub fn time(ps: f64) -> String {
    if ps < 1000.0 {
        return format!("{} ns", digits(ps / 1000.0));
    }
    scaled(ps / 1000.0, 1000.0, &["ns", "us", "ms", "s"])
}

/// `87%`
pub fn percent(part: f64) -> String {
    format!("{}%", digits(part * 100.0))
}

fn scaled(mut x: f64, base: f64, units: &[&str]) -> String {
    let mut i = 0;
    // 999.6 would print as 1000
    while x >= base.min(999.5) && i + 1 < units.len() && (x >= base || base < 1024.0) {
        x /= base;
        i += 1;
    }
    let unit = units.get(i).copied().unwrap_or("");
    format!("{} {unit}", digits(x)).trim_end().to_string()
}

/// At most three significant digits, no zeros at the end of a fraction.
fn digits(x: f64) -> String {
    let places = if x >= 100.0 {
        0
    } else if x >= 10.0 {
        1
    } else {
        2
    };
    let text = if x != 0.0 && x < 0.1 { format!("{x:.3}") } else { format!("{x:.places$}") };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes_like(1024, 1020), "1024 B");
        assert_eq!(bytes(131072), "128 KiB");
        assert_eq!(bytes(232_570), "227 KiB");
        assert_eq!(bytes(4_194_304), "4 MiB");
        assert_eq!(count(137_438_953_472, "flop"), "137 Gflop");
        assert_eq!(count(12, "op"), "12 op");
        assert_eq!(count(1500, ""), "1.5k");
        assert_eq!(time(2_540_000.0), "2.54 us");
        assert_eq!(time(12.0), "0.012 ns");
        assert_eq!(percent(0.874), "87.4%");
    }
}
