//! Sizes of a dim as the command line states them: `128,512`, `1..=8192 step 64`.

/// More sizes than this are a mistake.
const MOST: usize = 1 << 20;

/// `ctx=128,512`, `ctx=1..=8192`, `ctx=0..64 step 8`, `ctx=128..=8192 step x2`
pub fn dim_sizes(text: &str) -> Result<(String, Vec<i64>), String> {
    let expected =
        "expected NAME=N, NAME=N,N,.. or NAME=LO..=HI, with `step N` or `step xN` behind";
    let (name, sizes) = text.split_once('=').ok_or(expected)?;
    let (name, sizes) = (name.trim(), sizes.trim());
    if name.is_empty() || sizes.is_empty() {
        return Err(expected.into());
    }
    let mut out = vec![];
    for part in sizes.split(',') {
        match part.split_once("..") {
            None => out.push(int(part).ok_or(expected)?),
            Some((lo, rest)) => range(part.trim(), lo, rest, &mut out)?,
        }
    }
    Ok((name.into(), out))
}

fn int(text: &str) -> Option<i64> {
    text.trim().replace('_', "").parse().ok()
}

/// `LO..HI` without its end, `LO..=HI` with it.
fn range(part: &str, lo: &str, rest: &str, out: &mut Vec<i64>) -> Result<(), String> {
    let (hi, step) = match rest.split_once("step") {
        Some((hi, step)) => (hi, step.trim()),
        None => (rest, "1"),
    };
    let (hi, whole) = match hi.strip_prefix('=') {
        Some(hi) => (hi, true),
        None => (hi, false),
    };
    let wrong = || format!("`{part}` is no range: expected LO..HI or LO..=HI, both integers");
    let (lo, hi) = int(lo).zip(int(hi)).ok_or_else(wrong)?;
    let Some(last) = (if whole { Some(hi) } else { hi.checked_sub(1) }) else {
        return Err(wrong());
    };
    if lo > last {
        let fix = if hi < lo { format!("{hi}..={lo}") } else { format!("{lo}..={lo}") };
        return Err(format!("the range `{part}` is empty: write `{fix}`"));
    }
    let (times, step) = match step.strip_prefix('x') {
        Some(s) => (true, int(s)),
        None => (false, int(step)),
    };
    let least = 1 + i64::from(times);
    let Some(step) = step.filter(|s| *s >= least) else {
        return Err(format!("the step of `{part}` must be at least {least}, or `xN` to multiply"));
    };
    if times && lo < 1 {
        return Err(format!("`{part}` multiplies, so it must start at 1 or more"));
    }
    let mut at = lo;
    while at <= last {
        if out.len() == MOST {
            return Err(format!("`{part}` gives more than {MOST} sizes: take a larger step"));
        }
        out.push(at);
        let next = if times { at.checked_mul(step) } else { at.checked_add(step) };
        let Some(next) = next else { break };
        at = next;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Vec<i64> {
        dim_sizes(&format!("n={text}")).unwrap().1
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(dim_sizes("ctx=1_024, 7").unwrap(), ("ctx".into(), vec![1024, 7]));
        assert_eq!(sizes("3..6"), [3, 4, 5]);
        assert_eq!(sizes("3..=6"), [3, 4, 5, 6]);
        assert_eq!(sizes("0..=64 step 24"), [0, 24, 48]);
        assert_eq!(sizes("128..=8192 step x4,5"), [128, 512, 2048, 8192, 5]);
        assert_eq!(sizes(&format!("{0}..={0}", i64::MAX)), [i64::MAX]);
    }

    #[test]
    fn what_is_no_size_is_told() {
        let says = |text: &str, part: &str| {
            let e = dim_sizes(text).unwrap_err();
            assert!(e.contains(part), "{text}: {e}");
        };
        says("ctx", "expected NAME=N");
        says("ctx=", "expected NAME=N");
        says("ctx=a", "expected NAME=N");
        says("ctx=1,", "expected NAME=N");
        says("ctx=1..=x", "is no range");
        says("ctx=9..=3", "is empty: write `3..=9`");
        says("ctx=3..3", "is empty: write `3..=3`");
        says("ctx=0..9 step 0", "must be at least 1");
        says("ctx=1..9 step x1", "must be at least 2");
        says("ctx=0..9 step x2", "start at 1 or more");
        says("ctx=0..9000000", "more than 1048576 sizes");
        says(&format!("ctx=0..{}", i64::MIN), "is no range");
    }
}
