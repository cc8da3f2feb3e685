//! A prediction as a picture and as a trace.
//!
//! The trace is in Chrome's trace event format, which Perfetto opens: a process for the device with
//! its launches and ops, and one for each launch with the lanes of one position. The picture has
//! the same rows; a stretch of time in which every lane repeats itself is drawn narrow.

use serde_json::{Value, json};

use super::super::record::Ratio;
use super::super::units::time;
use super::record::{LaunchPrediction, Prediction};
use super::scale::Scale;
use super::trace::{Gap, Interval, Lane};
use crate::base::svg::{Svg, num};

/// Microseconds of picoseconds, the unit of a trace.
fn micros(ps: f64) -> Value {
    json!(ps / 1e6)
}

/// The start of each stage of the device, and of the whole.
fn starts(p: &Prediction) -> Vec<Ratio> {
    let mut at = Ratio::ZERO;
    let mut out = vec![];
    for s in &p.stages {
        out.push(at);
        at = at.plus(s.ps);
    }
    out
}

/// When the positions of a launch first begin.
fn begins(p: &Prediction, l: &LaunchPrediction) -> Ratio {
    let all = starts(p);
    let i = p.stages.iter().position(|s| s.launch == Some(l.launch));
    let at = i.and_then(|i| all.get(i)).copied().unwrap_or(Ratio::ZERO);
    at.plus(l.overhead_ps)
}

/// The trace.
pub fn chrome(p: &Prediction, program: &str) -> Value {
    let mut events = vec![];
    let named = |what: &str, pid: usize, tid: usize, name: &str| {
        let args = json!({ "name": name });
        json!({ "name": what, "ph": "M", "pid": pid, "tid": tid, "args": args })
    };
    events.push(named("process_name", 0, 0, &format!("device: {program}")));
    events.push(named("thread_name", 0, 0, "launches"));
    for (s, at) in p.stages.iter().zip(starts(p)) {
        events.push(json!({
            "name": s.name, "cat": "device", "ph": "X", "pid": 0, "tid": 0,
            "ts": micros(at.as_f64()), "dur": micros(s.ps.as_f64()),
            "args": { "at": s.site.at, "runs": s.runs },
        }));
    }
    for (i, l) in p.launches.iter().enumerate() {
        let (pid, base) = (i + 1, begins(p, l).as_f64());
        let title = format!("launch {}: one of {} positions", l.name, l.positions);
        events.push(named("process_name", pid, 0, &title));
        let mut tid = 0;
        for lane in &l.lanes {
            for (i, row) in rows(lane).iter().enumerate() {
                let more = if i > 0 { format!(" ({})", i + 1) } else { String::new() };
                events.push(named("thread_name", pid, tid, &format!("{}{more}", lane.name)));
                events.extend(row.iter().map(|e| event(e, (pid, tid), base)));
                tid += 1;
            }
        }
    }
    json!({ "displayTimeUnit": "ns", "traceEvents": events })
}

/// What a row of a trace shows.
enum Shown<'a> {
    Op(&'a Interval),
    Gap(&'a Gap),
}

impl Shown<'_> {
    fn ends(&self) -> (u64, u64) {
        match self {
            Shown::Op(i) => (i.start_ps, i.end_ps),
            Shown::Gap(g) => (g.start_ps, g.end_ps),
        }
    }
}

/// The events of a lane on as few rows as none overlaps another: what is issued ahead does.
fn rows(lane: &Lane) -> Vec<Vec<Shown<'_>>> {
    let gaps = lane.gaps.iter().map(Shown::Gap);
    let mut all: Vec<Shown> = lane.intervals.iter().map(Shown::Op).chain(gaps).collect();
    all.sort_by_key(Shown::ends);
    let mut out: Vec<(u64, Vec<Shown>)> = vec![];
    for e in all {
        let (start, end) = e.ends();
        match out.iter_mut().find(|(free, _)| *free <= start) {
            Some((free, row)) => {
                *free = end;
                row.push(e);
            }
            None => out.push((end, vec![e])),
        }
    }
    out.into_iter().map(|(_, row)| row).collect()
}

fn event(e: &Shown, (pid, tid): (usize, usize), base: f64) -> Value {
    let (from, to) = e.ends();
    let (name, cat, args) = match e {
        Shown::Op(i) => (i.op.clone(), "op", json!({ "at": i.site.at, "trip": i.trip })),
        Shown::Gap(g) => {
            (gap_text(g), "repeats", json!({ "trips": g.trips, "period_ps": g.period_ps }))
        }
    };
    json!({
        "name": name, "cat": cat, "ph": "X", "pid": pid, "tid": tid,
        "ts": micros(base + from as f64), "dur": micros(to.saturating_sub(from) as f64),
        "args": args,
    })
}

/// `76 more trips, 812 ns each`
pub(super) fn gap_text(g: &Gap) -> String {
    match g.period_ps {
        Some(p) => format!("{} more trips, {} each", g.trips, time(p.as_f64())),
        None => format!("{} more trips", g.trips),
    }
}

const WIDTH: f64 = 1160.0;
const LEFT: f64 = 150.0;
/// Heights of the page's title, of a heading, of a lane and of an axis.
const TOP: f64 = 30.0;
const HEAD: f64 = 22.0;
const ROW: f64 = 26.0;
const AXIS: f64 = 18.0;
/// Width of a stretch in which every lane repeats itself.
const NARROW: f64 = 46.0;
const COLOURS: [&str; 8] =
    ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#76b7b2", "#e15759", "#9c755f", "#8cb0d9"];

/// Lanes under a heading, up to a time in picoseconds.
struct Section {
    head: String,
    lanes: Vec<Lane>,
    end: f64,
}

impl Section {
    fn is_empty(&self) -> bool {
        self.lanes.iter().all(|l| l.intervals.is_empty()) || self.end <= 0.0
    }

    fn height(&self) -> f64 {
        HEAD + ROW * self.lanes.len() as f64 + AXIS
    }
}

struct Picture {
    svg: Svg,
    y: f64,
    /// Names of ops in the order of their colours.
    ops: Vec<String>,
}

/// The picture.
pub fn svg(p: &Prediction, program: &str) -> String {
    let title = format!("{program}: predicted {}", time(p.ps.as_f64()));
    let mut sections = sections(p);
    sections.retain(|s| !s.is_empty());
    let height = TOP + sections.iter().map(Section::height).sum::<f64>() + 10.0;
    let svg = Svg::new(LEFT + WIDTH + 20.0, height, &title);
    let mut pic = Picture { svg, y: TOP, ops: vec![] };
    pic.text(10.0, TOP - 8.0, &[("font-size", "14"), ("font-weight", "bold")], &title);
    sections.iter().for_each(|s| pic.section(s));
    pic.svg.finish()
}

/// The device, then one position of each launch.
fn sections(p: &Prediction) -> Vec<Section> {
    let stages = p.stages.iter().zip(starts(p)).map(|(s, at)| Interval {
        op: s.name.clone(),
        site: s.site.clone(),
        trip: vec![],
        start_ps: at.as_f64() as u64,
        end_ps: at.plus(s.ps).as_f64() as u64,
    });
    let device = Lane { name: "device".into(), intervals: stages.collect(), gaps: vec![] };
    let mut out = vec![Section { head: String::new(), lanes: vec![device], end: p.ps.as_f64() }];
    for l in &p.launches {
        let ends = l.lanes.iter().flat_map(|x| &x.intervals).map(|i| i.end_ps);
        let ends = ends.chain(l.lanes.iter().flat_map(|x| &x.gaps).map(|g| g.end_ps));
        let end = ends.max().unwrap_or(0) as f64;
        let side =
            if l.resident > 1 { format!(", {} on a unit", l.resident) } else { String::new() };
        let head = format!("launch {}: one of {} positions{side}", l.name, l.positions);
        out.push(Section { head, lanes: l.lanes.clone(), end });
    }
    out
}

impl Picture {
    fn text(&mut self, x: f64, y: f64, look: &[(&str, &str)], text: &str) {
        let (x, y) = (num(x), num(y));
        let mut attrs = vec![("x", x.as_str()), ("y", y.as_str())];
        attrs.extend(look);
        self.svg.leaf("text", &attrs, text);
    }

    fn colour(&mut self, op: &str) -> &'static str {
        let i = self.ops.iter().position(|o| o == op).unwrap_or_else(|| {
            self.ops.push(op.to_string());
            self.ops.len() - 1
        });
        COLOURS.get(i % COLOURS.len()).copied().unwrap_or("#888")
    }

    /// A heading, the lanes, and an axis below.
    fn section(&mut self, s: &Section) {
        self.text(10.0, self.y + 14.0, &[("font-weight", "bold")], &s.head);
        self.y += HEAD;
        let scale = Scale::new(&s.lanes, s.end, WIDTH, NARROW);
        for l in &s.lanes {
            self.text(10.0, self.y + 16.0, &[], &l.name);
            l.intervals.iter().for_each(|i| self.bar(&scale, i));
            l.gaps.iter().for_each(|g| self.gap(&scale, g));
            self.y += ROW;
        }
        self.axis(&scale, s.end);
        self.y += AXIS;
    }

    /// A box with a title that shows when it is pointed at.
    fn rect(&mut self, (x0, x1): (f64, f64), fill: &str, title: &str) {
        let (x, y) = (num(x0), num(self.y + 2.0));
        let (w, h) = (num((x1 - x0).max(0.5)), num(ROW - 6.0));
        let size = [("x", x.as_str()), ("y", &y), ("width", &w), ("height", &h)];
        let look = [("fill", fill), ("stroke", "#fff"), ("stroke-width", "0.5")];
        self.svg.start("rect", &[&size[..], &look[..]].concat());
        self.svg.leaf("title", &[], title);
        self.svg.end();
    }

    fn bar(&mut self, scale: &Scale, i: &Interval) {
        let (x0, x1) = (LEFT + scale.x(i.start_ps as f64), LEFT + scale.x(i.end_ps as f64));
        let mut title = i.op.clone();
        if let Some(at) = &i.site.at {
            title.push_str(&format!(" at {at}"));
        }
        if !i.trip.is_empty() {
            let trips: Vec<String> = i.trip.iter().map(u64::to_string).collect();
            title.push_str(&format!(", trip {}", trips.join(".")));
        }
        let (from, to) = (time(i.start_ps as f64), time(i.end_ps as f64));
        let long = time(i.end_ps.saturating_sub(i.start_ps) as f64);
        title.push_str(&format!(": {from} to {to}, {long}"));
        let fill = self.colour(&i.op);
        self.rect((x0, x1), fill, &title);
        // as much of the name as the bar has room for
        let room = ((x1 - x0 - 6.0) / 6.5).max(0.0) as usize;
        if room >= 2 {
            let name: String = i.op.chars().take(room).collect();
            let look = [("fill", "#fff"), ("pointer-events", "none")];
            self.text(x0 + 3.0, self.y + 16.0, &look, &name);
        }
    }

    fn gap(&mut self, scale: &Scale, g: &Gap) {
        let (x0, x1) = (LEFT + scale.x(g.start_ps as f64), LEFT + scale.x(g.end_ps as f64));
        if x1 - x0 < 1.0 {
            return;
        }
        self.rect((x0, x1), "#ddd", &gap_text(g));
        let text = format!("x {}", g.trips);
        if x1 - x0 > 6.5 * text.len() as f64 {
            self.text(x0 + 3.0, self.y + 16.0, &[("fill", "#666")], &text);
        }
    }

    /// Ticks at the ends, and at round times between them that are not in a narrow stretch.
    fn axis(&mut self, scale: &Scale, end: f64) {
        let y = self.y + 2.0;
        let (x0, x1) = (LEFT + scale.x(0.0), LEFT + scale.x(end));
        self.line(&format!("M{} {}H{}", num(x0), num(y), num(x1)));
        let step = round_step(70.0 / scale.per_ps);
        let mut last = f64::NEG_INFINITY;
        let mut n = 0u32;
        while f64::from(n) * step <= end && n < 4000 {
            let t = f64::from(n) * step;
            let x = LEFT + scale.x(t);
            let inside = scale.narrow.iter().any(|(a, b)| t > *a && t < *b);
            if !inside && x - last >= 60.0 {
                self.line(&format!("M{} {}v4", num(x), num(y)));
                self.text(x + 2.0, y + 13.0, &[("fill", "#666")], &time(t));
                last = x;
            }
            n += 1;
        }
    }

    fn line(&mut self, path: &str) {
        self.svg.leaf("path", &[("d", path), ("stroke", "#999"), ("fill", "none")], "");
    }
}

/// The least of 1, 2 or 5 times a power of ten that is no less.
fn round_step(at_least: f64) -> f64 {
    let mut step = 1.0;
    while step < at_least && step < 1e18 {
        let next = [2.0, 5.0, 10.0].map(|k| step * k).into_iter().find(|s| *s >= at_least);
        match next {
            Some(s) => return s,
            None => step *= 10.0,
        }
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::record::{Certainty, Site};
    use crate::analysis::timeline::record::StageRecord;

    fn site() -> Site {
        Site { file: 0, start: 0, end: 0, at: Some("a<b>.tf:1:2".into()) }
    }

    fn prediction(name: &str) -> Prediction {
        let interval = |op: &str, from, to| Interval {
            op: op.into(),
            site: site(),
            trip: vec![0],
            start_ps: from,
            end_ps: to,
        };
        let period_ps = Some(Ratio::new(100, 1));
        let gap = Gap { trips: 80, start_ps: 200, end_ps: 8200, period_ps };
        let lane = Lane {
            name: name.into(),
            intervals: vec![interval("copy", 0, 200), interval("copy", 8200, 8400)],
            gaps: vec![gap],
        };
        let ps = Ratio::new(9400, 1);
        let launch = LaunchPrediction {
            launch: 0,
            name: name.into(),
            site: site(),
            ps,
            overhead_ps: Ratio::new(1000, 1),
            serial_ps: ps,
            runs: 1,
            positions: 4,
            resident: 1,
            waves: 1,
            tail: 4,
            busy: vec![],
            critical: vec![],
            limit: String::new(),
            lanes: vec![lane],
        };
        let stage = |name: &str, launch, ps: u128| StageRecord {
            name: name.into(),
            site: site(),
            launch,
            runs: 1,
            ps: Ratio::new(ps, 1),
        };
        Prediction {
            ps: Ratio::new(10400, 1),
            is: Certainty::Exact,
            warm_ps: Ratio::new(10400, 1),
            bound_ps: None,
            form: "cold".into(),
            rates: vec![],
            unrated: vec![],
            stages: vec![stage("first", None, 1000), stage(name, Some(0), 9400)],
            launches: vec![launch],
        }
    }

    /// Text between tags, and every tag closed: what a reader of XML asks for.
    fn well_formed(xml: &str) -> Result<(), String> {
        let mut open: Vec<String> = vec![];
        let mut rest = xml;
        while let Some(i) = rest.find('<') {
            if rest[..i].contains('>') {
                return Err(format!("a bare > in {:?}", &rest[..i]));
            }
            let end = rest[i..].find('>').ok_or("a tag without an end")? + i;
            let tag = &rest[i + 1..end];
            match (tag.strip_prefix('/'), tag.ends_with('/')) {
                (Some(name), _) => {
                    let was = open.pop().ok_or("closes nothing")?;
                    if was != name {
                        return Err(format!("{was} is closed by {name}"));
                    }
                }
                (None, true) => {}
                (None, false) => open.push(tag.split(' ').next().unwrap_or("").to_string()),
            }
            rest = &rest[end + 1..];
        }
        if open.is_empty() { Ok(()) } else { Err(format!("open: {open:?}")) }
    }

    #[test]
    fn names_are_escaped() {
        let p = prediction("<b> & \"c\" 'd'\u{1}");
        let out = svg(&p, "M.<f>");
        well_formed(&out).unwrap();
        assert!(out.contains("&lt;b&gt; &amp; &quot;c&quot; 'd'"));
        assert!(!out.contains("<b>"));
        let json = chrome(&p, "M.\"f\"").to_string();
        let back: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(back["traceEvents"][0]["args"]["name"], "device: M.\"f\"");
    }

    /// Copies issued ahead overlap: they are on rows of their own, for a trace has no overlaps.
    #[test]
    fn no_events_of_a_row_overlap() {
        let mut p = prediction("g");
        let lane = &mut p.launches[0].lanes[0];
        let late = Interval { start_ps: 100, end_ps: 300, ..lane.intervals[0].clone() };
        lane.intervals.insert(1, late);
        let all = rows(lane);
        assert_eq!(all.len(), 2);
        for row in all {
            assert!(row.windows(2).all(|w| w[0].ends().1 <= w[1].ends().0));
        }
    }

    /// Every complete event lies within its process' time, and starts where the stage before ends.
    #[test]
    fn a_trace_has_the_launches_and_the_lanes_of_each() {
        let doc = chrome(&prediction("g"), "M.f");
        let events = doc["traceEvents"].as_array().unwrap();
        let of = |pid: u64| -> Vec<&Value> {
            events.iter().filter(|e| e["ph"] == "X" && e["pid"] == pid).collect()
        };
        let us = |e: &Value, k: &str| e[k].as_f64().unwrap();
        assert_eq!(of(0).len(), 2);
        assert_eq!(us(of(0)[1], "ts"), 0.001);
        // the launch begins at 1 ns, its positions 1 ns later
        let lanes = of(1);
        assert_eq!(us(lanes[0], "ts"), 0.002);
        assert_eq!(lanes.len(), 3);
        for e in lanes {
            assert!(us(e, "ts") + us(e, "dur") <= 0.0104 + 1e-12);
        }
    }

    #[test]
    fn steps_are_round() {
        for (at, step) in [(0.5, 1.0), (1.5, 2.0), (3.0, 5.0), (700.0, 1000.0), (20.0, 20.0)] {
            assert_eq!(round_step(at), step);
        }
    }
}
