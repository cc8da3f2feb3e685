//! The files of cases, predictions and measured times, and what they say together.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub type Dims = BTreeMap<String, i64>;

#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// `examples/chain/chain.tf:Vec`
    pub twin: String,
    #[serde(default)]
    pub dims: Dims,
    /// Values given to consts of the file.
    #[serde(default)]
    pub consts: Dims,
    /// Each run takes buffers that the last cache does not hold.
    pub cold: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Prediction {
    pub twin: String,
    #[serde(default, skip_serializing_if = "Dims::is_empty")]
    pub dims: Dims,
    #[serde(default, skip_serializing_if = "Dims::is_empty")]
    pub consts: Dims,
    pub cold: bool,
    pub predicted_ns: f64,
}

/// A measured time, with all that it depends on.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Row {
    pub twin: String,
    #[serde(default, skip_serializing_if = "Dims::is_empty")]
    pub dims: Dims,
    #[serde(default, skip_serializing_if = "Dims::is_empty")]
    pub consts: Dims,
    pub cold: bool,
    /// What was committed before it was measured.
    pub predicted_ns: f64,
    pub measured_ns: f64,
    pub least_ns: f64,
    pub most_ns: f64,
    pub device: String,
    /// 13000 for CUDA 13.0.
    pub driver: i64,
    /// The most that the multiprocessors and the memory are clocked at.
    pub clock_khz: i64,
    pub memory_clock_khz: i64,
    /// Day of the measurement.
    pub date: String,
    /// sha256 of each image.
    pub images: BTreeMap<String, String>,
}

/// Names a case: `examples/chain/chain.tf:Chain cold`.
pub fn key(twin: &str, dims: &Dims, consts: &Dims, cold: bool) -> String {
    let all = dims.iter().chain(consts);
    let sizes: Vec<String> = all.map(|(n, v)| format!(" {n}={v}")).collect();
    format!("{twin}{}{}", sizes.concat(), if cold { " cold" } else { " hot" })
}

impl Prediction {
    pub fn key(&self) -> String {
        key(&self.twin, &self.dims, &self.consts, self.cold)
    }
}

#[derive(Deserialize, Serialize)]
struct File<T> {
    #[serde(default = "Vec::new")]
    case: Vec<T>,
}

fn read<T: for<'d> Deserialize<'d>>(root: &Path, name: &str) -> Result<Vec<T>, String> {
    let path = root.join("tests/accuracy").join(name);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let file: File<T> = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(file.case)
}

fn write<T: Serialize>(root: &Path, name: &str, head: &str, case: &[T]) -> Result<(), String> {
    let text = toml::to_string(&File { case: case.iter().collect() }).map_err(|e| e.to_string())?;
    let path = root.join("tests/accuracy").join(name);
    std::fs::write(&path, format!("{head}\n{text}")).map_err(|e| format!("{}: {e}", path.display()))
}

pub fn cases(root: &Path) -> Result<Vec<Case>, String> {
    read(root, "cases.toml")
}

pub fn predictions(root: &Path) -> Result<Vec<Prediction>, String> {
    read(root, "predictions.toml")
}

pub fn rows(root: &Path) -> Result<Vec<Row>, String> {
    read(root, "measured.toml")
}

pub fn write_predictions(root: &Path, all: &[Prediction]) -> Result<(), String> {
    let head =
        "# What `analyze --performance` says of each case, written before it was measured.\n";
    write(root, "predictions.toml", head, all)
}

pub fn write_rows(root: &Path, all: &[Row]) -> Result<(), String> {
    write(root, "measured.toml", "# What `measure` said on the device.\n", all)
}

impl Row {
    pub fn key(&self) -> String {
        key(&self.twin, &self.dims, &self.consts, self.cold)
    }

    /// A run of `measure --json`; its prediction is filled in by the caller.
    pub fn new(twin: &str, date: &str, r: &Value) -> Option<Row> {
        let ns = |n: &str| Some((r[n].as_f64()? * 10.0).round() / 10.0);
        let ints = |o: &serde_json::Map<String, Value>| -> Option<Dims> {
            o.iter().map(|(n, v)| Some((n.clone(), v.as_i64()?))).collect()
        };
        let images = r["images"].as_object()?;
        Some(Row {
            twin: twin.into(),
            dims: ints(r["dims"].as_object()?)?,
            consts: ints(r["consts"].as_object()?)?,
            cold: r["cold"].as_bool()?,
            predicted_ns: 0.0,
            measured_ns: ns("time_ns")?,
            least_ns: ns("least_ns")?,
            most_ns: ns("most_ns")?,
            device: r["device"]["name"].as_str()?.into(),
            driver: r["device"]["driver"].as_i64()?,
            clock_khz: r["device"]["clock_khz"].as_i64()?,
            memory_clock_khz: r["device"]["memory_clock_khz"].as_i64()?,
            date: date.into(),
            images: images
                .iter()
                .map(|(n, v)| Some((n.clone(), v.as_str()?.to_string())))
                .collect::<Option<_>>()?,
        })
    }
}

/// The median of |predicted / measured - 1|, and Spearman's rank correlation.
pub fn accuracy(rows: &[Row]) -> (f64, f64) {
    let mut errors: Vec<f64> =
        rows.iter().map(|r| (r.predicted_ns / r.measured_ns - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    let mid = errors.len() / 2;
    let median = match errors.len() {
        0 => 0.0,
        n if n % 2 == 1 => errors[mid],
        _ => (errors[mid - 1] + errors[mid]) / 2.0,
    };
    let a = ranks(&rows.iter().map(|r| r.predicted_ns).collect::<Vec<_>>());
    let b = ranks(&rows.iter().map(|r| r.measured_ns).collect::<Vec<_>>());
    (median, correlation(&a, &b))
}

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(v: &[f64]) -> Vec<f64> {
    v.iter()
        .map(|x| {
            let below = v.iter().filter(|y| *y < x).count() as f64;
            let same = v.iter().filter(|y| *y == x).count() as f64;
            below + (same + 1.0) / 2.0
        })
        .collect()
}

/// Pearson's correlation.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len().max(1) as f64;
    let (ma, mb) = (mean(a), mean(b));
    let both: f64 = a.iter().zip(b).map(|(x, y)| (x - ma) * (y - mb)).sum();
    let one = |v: &[f64], m: f64| v.iter().map(|x| (x - m).powi(2)).sum::<f64>();
    both / (one(a, ma) * one(b, mb)).sqrt()
}

pub fn print(root: &Path) -> Result<String, String> {
    let all = rows(root)?;
    let wide = all.iter().map(|r| r.key().len()).max().unwrap_or(4);
    let mut out = format!("{:wide$}  predicted us  measured us  ratio\n", "case");
    for r in &all {
        out += &format!(
            "{:wide$}  {:12.2}  {:11.2}  {:5.2}\n",
            r.key(),
            r.predicted_ns / 1000.0,
            r.measured_ns / 1000.0,
            r.predicted_ns / r.measured_ns
        );
    }
    let (median, rank) = accuracy(&all);
    out += &format!(
        "{} cases: median error {:.1} %, rank correlation {rank:.3}\n",
        all.len(),
        median * 100.0
    );
    Ok(out)
}
