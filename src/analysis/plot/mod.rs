//! Charts: a figure over the sizes of a sweep, and the roofline with a program's ops on it.

mod axes;

use super::metric::Unit;
use super::record::{Analysis, Ratio};
use super::sweep::{Point, programs, short_names};
use super::units;
use crate::target::{RateSet, Target};
use axes::{Axis, COLOURS, Chart};

/// Beyond this ratio between the largest and the least value an axis is logarithmic.
const WIDE: f64 = 16.0;

/// One series.
struct Series {
    name: String,
    points: Vec<(f64, f64, String)>,
}

/// A figure of each function over the one dim that is swept.
///
/// # Errors
/// There is not one swept dim, or no size has the figure: the text says which.
pub fn sweep(points: &[Point], metric: &str) -> Result<String, String> {
    let mut swept: Vec<&str> = vec![];
    for (name, first) in points.iter().flat_map(Point::dims) {
        let others = points.iter().flat_map(Point::dims).filter(|(n, _)| n == name);
        if !swept.contains(&name.as_str()) && others.into_iter().any(|(_, v)| v != first) {
            swept.push(name);
        }
    }
    let [dim] = swept.as_slice() else {
        return Err(match swept.len() {
            0 => "a chart needs several sizes of a dim: `--dim NAME=LO..=HI`".into(),
            _ => format!("a chart is over one dim; here {} are swept", swept.join(", ")),
        });
    };
    let all = programs(points);
    let mut unit = None;
    let mut series = vec![];
    for (program, name) in all.iter().zip(short_names(&all)) {
        let mut at = vec![];
        for p in points.iter().filter(|p| p.program() == program) {
            let x = p.dims().iter().find(|(n, _)| n == dim).map_or(0, |(_, v)| *v);
            // what does not fit is no point of the curve
            let Some(m) = p.found().filter(|a| a.fits()).and_then(|a| a.metric(metric)) else {
                continue;
            };
            unit = Some(m.unit);
            at.push((x as f64, m.value.as_f64(), format!("{name}, {dim} = {x}: {}", m.show())));
        }
        at.sort_by(|a, b| a.0.total_cmp(&b.0));
        series.push(Series { name, points: at });
    }
    let Some(unit) = unit else { return Err(format!("no size has a figure `{metric}`")) };
    let target = points.iter().find_map(|p| p.found()?.target.clone());
    let title = format!("{metric} over {dim}, {}", target.unwrap_or_else(|| "no target".into()));
    Ok(draw(&title, dim, metric, unit, &series))
}

fn draw(title: &str, dim: &str, metric: &str, unit: Unit, series: &[Series]) -> String {
    let xs = || series.iter().flat_map(|s| s.points.iter().map(|p| p.0));
    let ys = || series.iter().flat_map(|s| s.points.iter().map(|p| p.1));
    let wide = |least: f64, most: f64| least > 0.0 && most / least > WIDE;
    let least = |v: &mut dyn Iterator<Item = f64>| v.fold(f64::INFINITY, f64::min);
    let most = |v: &mut dyn Iterator<Item = f64>| v.fold(0.0, f64::max);
    let x_log = wide(least(&mut xs()), most(&mut xs()));
    let x = if x_log { Axis::log(xs(), 2.0) } else { Axis::linear(xs()) };
    let y_log = wide(least(&mut ys()), most(&mut ys()));
    let y = if y_log { Axis::log(ys(), 10.0) } else { Axis::linear(ys()) };
    let mut c = Chart::new(title, x, y);
    let show_x = |v: f64| format!("{v:.0}");
    let show_y = |v: f64| unit.show(Ratio::new(v.max(0.0).round() as u128, 1));
    let (x_scale, y_scale) = (if x_log { ", log" } else { "" }, if y_log { ", log" } else { "" });
    let y_name = format!("{metric} ({}{y_scale})", unit.name());
    c.axes((&format!("{dim}{x_scale}"), 2.0, &show_x), (&y_name, &show_y));
    for (i, (s, colour)) in series.iter().zip(COLOURS.iter().cycle()).enumerate() {
        c.legend(colour, &s.name);
        // a curve on another leaves its edges to see
        let width = 1.5 + 1.5 * (series.len() - 1 - i).min(4) as f64;
        let at: Vec<(f64, f64)> = s.points.iter().map(|p| c.place(p.0, p.1)).collect();
        for w in at.windows(2) {
            if let [a, b] = w {
                c.line(*a, *b, colour, width);
            }
        }
        // dots on a long sweep would hide the curve
        for (p, place) in s.points.iter().zip(&at).filter(|_| s.points.len() <= 256) {
            c.dot(*place, 2.5 + width / 2.0, colour, &p.2);
        }
    }
    c.svg.finish()
}

/// A roof: operations a second of one resource.
struct Roof {
    resource: String,
    per_s: f64,
}

/// The roofline of a target at peak rates with the ops of a program on it: each at its operations
/// for a byte of `gmem`, as high as the target allows.
///
/// # Errors
/// The target states no bandwidth, or no op both computes and moves bytes.
pub fn roofline(a: &Analysis, target: &Target) -> Result<String, String> {
    let rate = |name: &str| target.rate_or_reason(RateSet::Peak, name).map(|f| f.value);
    let band = rate("gmem")?;
    let mut roofs: Vec<Roof> = vec![];
    // whatever the target rates of what the program does
    for r in a.costs.work.iter().map(|w| w.resource.as_str()) {
        if let Ok(per_s) = rate(r) {
            roofs.push(Roof { resource: r.to_string(), per_s });
        }
    }
    roofs.sort_by(|x, y| y.per_s.total_cmp(&x.per_s));
    let mut still = 0usize;
    let mut dots = vec![];
    for o in &a.ops {
        let bytes = o.costs.traffic("gmem").map_or(0, |t| t.read.total + t.write.total);
        let most = o
            .costs
            .work
            .iter()
            .filter_map(|w| {
                Some((w.amount.total, roofs.iter().find(|r| r.resource == w.resource)?))
            })
            // what takes it longest
            .max_by(|(n, x), (m, y)| (*n as f64 / x.per_s).total_cmp(&(*m as f64 / y.per_s)));
        let Some((n, roof)) = most.filter(|(n, _)| *n > 0) else { continue };
        if bytes == 0 {
            still += 1;
            continue;
        }
        let intensity = n as f64 / bytes as f64;
        let reach = roof.per_s.min(intensity * band);
        let place = o.site.at.clone().unwrap_or_default();
        let tip = format!(
            "{} {} at {place}: {}, {}, {} op/B, at most {}/s",
            o.op,
            o.result,
            units::count(n, &roof.resource),
            units::bytes(bytes),
            digits(intensity),
            units::count(reach as u128, "op"),
        );
        dots.push((intensity, reach, n, o.op.clone(), roof.resource.clone(), tip));
    }
    if dots.is_empty() {
        return Err("no op both computes on a rated unit and moves bytes at gmem".into());
    }
    roofs.retain(|r| dots.iter().any(|d| d.4 == r.resource));
    let ridge = |r: &Roof| r.per_s / band;
    let xs = dots.iter().map(|d| d.0).chain(roofs.iter().flat_map(|r| [ridge(r), ridge(r) * 8.0]));
    let ys = dots.iter().map(|d| d.1).chain(roofs.iter().map(|r| r.per_s));
    let dims: Vec<String> = a.dims.iter().map(|(n, v)| format!(" {n} = {v}")).collect();
    let title = format!("{}{} on {}", a.program, dims.concat(), target.id());
    let mut c = Chart::new(&title, Axis::log(xs, 10.0), Axis::log(ys, 10.0));
    let show = |v: f64| units::count(v.round().max(0.0) as u128, "");
    c.axes(("operations for a byte of gmem (op/B, log)", 10.0, &digits), ("op/s (log)", &show));
    draw_roofs(&mut c, &roofs, band);
    draw_dots(&mut c, &roofs, dots);
    if still > 0 {
        c.legend("white", &format!("{still} more ops are off gmem"));
    }
    Ok(c.svg.finish())
}

fn draw_roofs(c: &mut Chart, roofs: &[Roof], band: f64) {
    let top = roofs.first().map_or(1.0, |r| r.per_s);
    // the slope, from the edge of the frame to the highest ridge
    let low = c.place(f64::MIN_POSITIVE, f64::MIN_POSITIVE);
    let edge = c.x.least().max(c.y.least() / band);
    let (from, to) = (c.place(edge, edge * band), c.place(top / band, top));
    c.line((from.0.max(low.0), from.1), to, "#333333", 2.0);
    c.legend("#333333", &format!("gmem {}B/s", units::count(band as u128, "")));
    for (r, colour) in roofs.iter().zip(COLOURS.iter().cycle()) {
        let (from, to) = (c.place(r.per_s / band, r.per_s), c.place(f64::MAX, r.per_s));
        c.line(from, to, colour, 2.0);
        let tip = format!("ridge of {}: {} op/B", r.resource, digits(r.per_s / band));
        c.dot(from, 4.0, "#333333", &tip);
        c.legend(colour, &format!("{} {}/s", r.resource, units::count(r.per_s as u128, "op")));
    }
}

type Dot = (f64, f64, u128, String, String, String);

/// The ops, the heaviest with their names.
fn draw_dots(c: &mut Chart, roofs: &[Roof], mut dots: Vec<Dot>) {
    dots.sort_by_key(|d| std::cmp::Reverse(d.2));
    let mut taken: Vec<(f64, f64)> = vec![];
    for (x, y, _, name, resource, tip) in dots {
        let at = c.place(x, y);
        let i = roofs.iter().position(|r| r.resource == resource).unwrap_or(0);
        let colour = COLOURS.get(i % COLOURS.len()).copied().unwrap_or("black");
        c.dot(at, 5.0, colour, &tip);
        let free = taken.iter().all(|t| (t.0 - at.0).abs() > 60.0 || (t.1 - at.1).abs() > 12.0);
        if free && taken.len() < 16 {
            c.label(at.0 + 8.0, at.1 + 4.0, "start", &name);
            taken.push(at);
        }
    }
}

/// At most three significant digits.
fn digits(x: f64) -> String {
    if x >= 100.0 {
        return format!("{x:.0}");
    }
    let text = if x >= 1.0 { format!("{x:.1}") } else { format!("{x:.3}") };
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
