//! A frame with two axes, ticks, and places for points.

use crate::base::svg::{Svg, num};

pub(super) const WIDTH: f64 = 860.0;
pub(super) const HEIGHT: f64 = 520.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 460.0;

/// Colours that differ for the colour-blind as well.
pub(super) const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933"];

/// A range of values on one axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    log: bool,
    lo: f64,
    hi: f64,
}

impl Axis {
    /// An axis over positive values in powers of ten or two, whole ones at its ends.
    pub fn log(values: impl Iterator<Item = f64>, base: f64) -> Axis {
        let (lo, hi) = ends(values.filter(|v| *v > 0.0));
        let lo = base.powf(lo.log(base).floor());
        let hi = base.powf(hi.log(base).ceil());
        Axis { log: true, lo, hi: if hi > lo { hi } else { lo * base } }
    }

    /// An axis from zero.
    pub fn linear(values: impl Iterator<Item = f64>) -> Axis {
        let (_, hi) = ends(values);
        Axis { log: false, lo: 0.0, hi: if hi > 0.0 { hi * 1.05 } else { 1.0 } }
    }

    /// Where a value is, from 0 to 1.
    fn at(&self, v: f64) -> f64 {
        match self.log {
            true => (v.max(f64::MIN_POSITIVE) / self.lo).ln() / (self.hi / self.lo).ln(),
            false => (v - self.lo) / (self.hi - self.lo),
        }
    }

    pub fn least(&self) -> f64 {
        self.lo
    }

    /// At most about eight round values.
    fn ticks(&self, base: f64) -> Vec<f64> {
        if self.log {
            let n = (self.hi / self.lo).log(base).round().max(1.0);
            let step = (n / 8.0).ceil().max(1.0);
            let count = (n / step).floor() as usize;
            return (0..=count).map(|i| self.lo * base.powf(step * i as f64)).collect();
        }
        let raw = (self.hi - self.lo) / 6.0;
        let ten = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].iter().map(|k| k * ten).find(|s| *s >= raw);
        let step = step.unwrap_or(raw);
        let count = ((self.hi - self.lo) / step).floor() as usize;
        (0..=count).map(|i| self.lo + step * i as f64).collect()
    }
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (lo, hi) = values
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
    if lo <= hi { (lo, hi) } else { (1.0, 10.0) }
}

/// A chart that is being drawn.
pub(super) struct Chart {
    pub svg: Svg,
    pub x: Axis,
    pub y: Axis,
    legend: usize,
}

impl Chart {
    pub fn new(title: &str, x: Axis, y: Axis) -> Chart {
        let mut svg = Svg::new(WIDTH, HEIGHT, title);
        let at = [("x", num(LEFT)), ("y", "24".into()), ("font-size", "14".into())];
        svg.leaf("text", &at.each_ref().map(|(k, v)| (*k, v.as_str())), title);
        Chart { svg, x, y, legend: 0 }
    }

    /// Pixels of a point, kept within the frame.
    pub fn place(&self, x: f64, y: f64) -> (f64, f64) {
        let (u, v) = (self.x.at(x).clamp(0.0, 1.0), self.y.at(y).clamp(0.0, 1.0));
        (LEFT + u * (RIGHT - LEFT), BOTTOM - v * (BOTTOM - TOP))
    }

    /// Both axes, with their names and units.
    pub fn axes(
        &mut self,
        x: (&str, f64, &dyn Fn(f64) -> String),
        y: (&str, &dyn Fn(f64) -> String),
    ) {
        let (x_name, x_base, x_show) = x;
        let (y_name, y_show) = y;
        for t in self.x.ticks(x_base) {
            let (px, _) = self.place(t, f64::MIN_POSITIVE);
            self.line((px, TOP), (px, BOTTOM), "#dddddd", 1.0);
            self.label(px, BOTTOM + 16.0, "middle", &x_show(t));
        }
        for t in self.y.ticks(10.0) {
            let (_, py) = self.place(1.0, t);
            self.line((LEFT, py), (RIGHT, py), "#dddddd", 1.0);
            self.label(LEFT - 6.0, py + 4.0, "end", &y_show(t));
        }
        self.line((LEFT, BOTTOM), (RIGHT, BOTTOM), "#333333", 1.0);
        self.line((LEFT, TOP), (LEFT, BOTTOM), "#333333", 1.0);
        self.label((LEFT + RIGHT) / 2.0, BOTTOM + 40.0, "middle", x_name);
        let (px, py) = (num(18.0), num((TOP + BOTTOM) / 2.0));
        let turn = format!("rotate(-90 {px} {py})");
        let at = [("x", px.as_str()), ("y", &py), ("text-anchor", "middle"), ("transform", &turn)];
        self.svg.leaf("text", &at, y_name);
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(num);
        let width = num(width);
        self.svg.leaf(
            "line",
            &[
                ("x1", &x1),
                ("y1", &y1),
                ("x2", &x2),
                ("y2", &y2),
                ("stroke", colour),
                ("stroke-width", &width),
            ],
            "",
        );
    }

    pub fn label(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let (x, y) = (num(x), num(y));
        self.svg.leaf("text", &[("x", &x), ("y", &y), ("text-anchor", anchor)], text);
    }

    /// A dot that says `tip` under the pointer.
    pub fn dot(&mut self, at: (f64, f64), radius: f64, colour: &str, tip: &str) {
        let [x, y, r] = [at.0, at.1, radius].map(num);
        let attrs =
            [("cx", x.as_str()), ("cy", &y), ("r", &r), ("fill", colour), ("stroke", "white")];
        self.svg.start("circle", &attrs);
        self.svg.leaf("title", &[], tip);
        self.svg.end();
    }

    /// A line beside the frame that says what a colour stands for.
    pub fn legend(&mut self, colour: &str, text: &str) {
        let y = TOP + 8.0 + 18.0 * self.legend as f64;
        self.legend += 1;
        if y < BOTTOM {
            self.line((RIGHT + 12.0, y), (RIGHT + 32.0, y), colour, 3.0);
            self.label(RIGHT + 38.0, y + 4.0, "start", text);
        }
    }
}
