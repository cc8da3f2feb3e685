//! Writes measured facts into a document, and leaves the rest of it as it stands.

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// A fact to write.
#[derive(Clone, Debug)]
pub struct NewFact {
    /// Its key path: `rates.sustained.l2`.
    pub path: String,
    pub value: f64,
    /// Written as an integer.
    pub integer: bool,
    pub unit: String,
    pub source: String,
    pub note: String,
}

/// A device document with another id and these facts, whose origin is `measured`.
///
/// # Errors
/// Text that is no TOML, or a path that leads through a value.
pub fn with_measured(text: &str, id: &str, facts: &[NewFact]) -> Result<String, String> {
    let mut doc: DocumentMut = text.parse().map_err(|e: toml_edit::TomlError| e.to_string())?;
    if let Some(old) = doc.get_mut("id") {
        *old = toml_edit::value(id);
    }
    for f in facts {
        let path: Vec<&str> = f.path.split('.').collect();
        set(doc.as_table_mut(), &path, 0, f)?;
    }
    Ok(doc.to_string())
}

fn set(t: &mut dyn TableLike, path: &[&str], depth: usize, f: &NewFact) -> Result<(), String> {
    match path {
        [] => Ok(()),
        [last] => {
            let leaf = Item::Value(Value::InlineTable(leaf(f)));
            match t.get_mut(last) {
                Some(old) => *old = leaf,
                None => {
                    t.insert(last, leaf);
                }
            }
            Ok(())
        }
        [first, rest @ ..] => {
            let fresh = || {
                let mut inner = Table::new();
                // `[storages.smem]`, and in it `align.plain = ..`
                inner.set_implicit(depth == 0);
                inner.set_dotted(depth > 1);
                Item::Table(inner)
            };
            let inner = t.entry(first).or_insert_with(fresh);
            let inner = inner.as_table_like_mut();
            let inner = inner.ok_or_else(|| format!("`{first}` of `{}` is a value", f.path))?;
            set(inner, rest, depth + 1, f)
        }
    }
}

fn leaf(f: &NewFact) -> InlineTable {
    let mut t = InlineTable::new();
    let number = number(f);
    t.insert("value", number.parse::<Value>().unwrap_or_else(|_| f.value.into()));
    t.insert("unit", f.unit.as_str().into());
    t.insert("origin", "measured".into());
    t.insert("source", f.source.as_str().into());
    t.insert("note", f.note.as_str().into());
    t
}

/// An integer, or four significant digits: `4.312e12`, `353.1`.
fn number(f: &NewFact) -> String {
    if f.integer {
        return format!("{:.0}", f.value);
    }
    let text = format!("{:.3e}", f.value);
    match text.split_once('e') {
        Some((digits, power)) if matches!(power.parse(), Ok(-3..6)) => {
            let n: f64 = format!("{digits}e{power}").parse().unwrap_or(f.value);
            if n.fract() == 0.0 { format!("{n:.1}") } else { n.to_string() }
        }
        Some((digits, power)) => {
            let short = digits.trim_end_matches('0').trim_end_matches('.');
            let short = if short.contains('.') { short.into() } else { format!("{short}.0") };
            format!("{short}e{power}")
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{RateSet, Target, builtin_device, ids};

    fn fact(path: &str, value: f64, unit: &str) -> NewFact {
        let integer = path.ends_with("capacity");
        let (unit, source, note) = (unit.into(), "a \"test\"".into(), "how".into());
        NewFact { path: path.into(), value, integer, unit, source, note }
    }

    #[test]
    fn every_device_takes_new_facts() {
        for id in ids() {
            let text = builtin_device(id).unwrap();
            let new = [
                fact("rates.sustained.gmem", 4.3127e12, "B/s"),
                fact("rates.sustained.fma.f32", 61.5e12, "flop/s"),
                fact("costs.launch", 987.65, "ns"),
                fact("clocks.sustained", 1.755e9, "Hz"),
                fact("storages.gmem.latency", 612.0, "ns"),
            ];
            let out = with_measured(text, "my.device", &new).unwrap();
            let t = Target::parse("my.device", &out, |_| None).unwrap();
            let rate = |r: &str| t.rate(RateSet::Sustained, r).unwrap().value;
            // flop/s are two for each multiply-add
            assert_eq!((rate("gmem"), rate("fma.f32")), (4.313e12, 61.5e12 / 2.0), "{id}");
            assert_eq!(t.cost("launch").unwrap().value, 987.6, "{id}\n{out}");
            let latency = t.storage("gmem").unwrap().latency.clone().unwrap();
            assert_eq!(latency.known().unwrap().value, 612.0);
            assert_eq!(latency.known().unwrap().source, "a \"test\"");
            // what was not measured stands as it did
            let old = Target::builtin(id).unwrap();
            assert_eq!(t.rate(RateSet::Peak, "gmem"), old.rate(RateSet::Peak, "gmem"));
            assert!(text.lines().next().is_some_and(|first| out.starts_with(first)));
        }
    }

    #[test]
    fn four_digits() {
        let show = |v: f64| number(&fact("x", v, ""));
        assert_eq!(show(4.31277e12), "4.313e12");
        assert_eq!(show(5e12), "5.0e12");
        assert_eq!(show(353.149), "353.1");
        assert_eq!(show(1500.0), "1500.0");
        assert_eq!(number(&fact("x.capacity", 62_914_560.0, "B")), "62914560");
    }

    #[test]
    fn a_path_through_a_value_is_refused() {
        assert!(
            with_measured("id = \"a\"\nrates = 3\n", "b", &[fact("rates.x", 1.0, "s")]).is_err()
        );
        assert!(with_measured("id = [", "b", &[]).is_err());
    }
}
