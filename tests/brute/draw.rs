//! Placed programs drawn from a seed: small extents, so that every element can be visited.

/// Draws the text of a program.
pub struct Draw {
    seed: u64,
    params: Vec<String>,
    before: String,
    body: String,
    results: Vec<(String, String)>,
    after: Vec<(String, String)>,
    /// Axes of the mesh over CTAs and of that over threads, with their extents.
    ctas: Vec<(String, usize)>,
    threads: Vec<(String, usize)>,
    names: usize,
}

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.seed >> 33) as usize) % n.max(1)
    }

    fn name(&mut self, p: &str) -> String {
        self.names += 1;
        format!("{p}{}", self.names)
    }

    fn param(&mut self, ty: &str) -> String {
        let n = self.name("x");
        self.params.push(format!("{n}: {ty}"));
        n
    }

    fn line(&mut self, text: &str) {
        self.body.push_str(text);
        self.body.push('\n');
    }

    fn any(&mut self, axes: &[(String, usize)]) -> (String, usize) {
        axes[self.below(axes.len())].clone()
    }

    /// A split of an axis over some of the axes left, with its extent.
    fn split(&mut self, left: &mut Vec<(String, usize)>) -> (usize, String) {
        let base = 1 + self.below(3);
        if left.is_empty() || self.below(3) == 0 {
            return (2 + self.below(4), String::new());
        }
        let (a, n) = left.remove(self.below(left.len()));
        match self.below(5) {
            0 if !left.is_empty() => {
                let (b, m) = left.remove(self.below(left.len()));
                (n * m * base, format!("{} @ ({a}, {b})", n * m * base))
            }
            1 if base > 1 => (n * base, format!("({base}, {n} @ {a})")),
            // the tail does not exist, and runs
            2 if base > 1 => {
                (n * base - self.below(n.min(n * base - 1)), format!("pad({base}, {n} @ {a})"))
            }
            3 if base > 1 => (n * base - 1, format!("pad({n} @ {a}, {base})")),
            _ => (n * base, format!("{} @ {a}", n * base)),
        }
    }

    /// A placed copy of a parameter: its name, shape and the axes' splits.
    fn placed(&mut self, storage: &str) -> (String, Vec<usize>, String) {
        let mut left = self.ctas.clone();
        if storage == "rmem" || self.below(2) == 0 {
            left.extend(self.threads.clone());
        }
        let two: Vec<(usize, String)> = (0..2).map(|_| self.split(&mut left)).collect();
        let shape: Vec<usize> = two.iter().map(|x| x.0).collect();
        let axis = |(n, s): &(usize, String)| if s.is_empty() { n.to_string() } else { s.clone() };
        let place = format!("{storage}[{}, {}]", axis(&two[0]), axis(&two[1]));
        let x = self.param(&format!("f32[{}, {}]", shape[0], shape[1]));
        let v = self.name("v");
        self.line(&format!("let {v} = reshard({x}, {place});"));
        (v, shape, x)
    }

    fn keep(&mut self, value: &str, shape: &[usize], dtype: &str) {
        let list: Vec<String> = shape.iter().map(usize::to_string).collect();
        self.results
            .push((format!("reshard({value}, gmem)"), format!("{dtype}[{}]", list.join(", "))));
    }

    /// The global view: a split tensor, elementwise ops, a reduction and its completion.
    fn global(&mut self) {
        let storage = ["rmem", "rmem", "smem"][self.below(3)];
        let (mut v, shape, x) = self.placed(storage);
        for _ in 0..1 + self.below(3) {
            let next = self.name("v");
            let w = match self.below(6) {
                0 => format!("exp({v})"),
                1 => format!("{v} * 2.0"),
                2 => format!("maximum({v}, {x})"),
                3 => {
                    let w = self.param(&format!("f32[{}]", shape[1]));
                    format!("{v} * {w}")
                }
                4 => {
                    let w = self.param(&format!("f32[{}]", shape[0]));
                    format!("{v} - unsqueeze({w}, dim = 1)")
                }
                _ => format!("{v} + {v}"),
            };
            self.line(&format!("let {next} = {w};"));
            v = next;
        }
        if self.below(3) == 0 {
            self.keep(&v, &shape, "f32");
        }
        let (d, f) = (self.below(2), ["sum", "max"][self.below(2)]);
        let s = self.name("s");
        match self.below(4) {
            0 => {
                // the copy finishes what is partial
                self.line(&format!("let {s} = {f}({v}, dim = {d});"));
                self.keep(&s, &[shape[1 - d]], "f32");
            }
            1 => {
                self.line(&format!("let {s} = complete({f}({v}, dim = {d}));"));
                self.keep(&s, &[shape[1 - d]], "f32");
            }
            2 => {
                self.line(&format!(
                    "let {s} = {v} - complete({f}({v}, dim = {d}, keepdim = true));"
                ));
                self.keep(&s, &shape, "f32");
            }
            _ => {
                self.line(&format!("let {s} = cast({v}, bf16);"));
                self.keep(&s, &shape, "bf16");
            }
        }
    }

    /// The position's view: windows by coordinates and loops whose bounds may depend on them.
    fn position(&mut self) {
        let (a, n) = self.any(&self.ctas.clone());
        let (rows, len, step) = (n + self.below(4), 1 + self.below(3), 1 + self.below(3));
        let cols = 2 + self.below(4);
        let x = self.param(&format!("f32[{}, {cols}]", (rows - 1) * step + len));
        let (y, r) = (self.name("y"), self.name("r"));
        let height = rows * len;
        self.before.push_str(&format!("let mut {y} = empty(f32[{height}, {cols}]);\n"));
        let read = format!("{x}[i * {step}..i * {step} + {len}]");
        let whole = format!("f32[{height}, {cols}]");
        match self.below(3) {
            // windows that may overlap, every n-th for one position
            0 => self.line(&format!(
                "for i in {a}..{rows} step {n} {{ let {r} = {read}; \
                 {y}[i * {len}..(i + 1) * {len}] = exp({r}) + {r}; }}"
            )),
            1 => self.line(&format!(
                "for i in {a}..{rows} step {n} {{ let {r} = reshard({read}, smem); \
                 {y}[i * {len}..(i + 1) * {len}] = {r} * 2.0; }}"
            )),
            // two windows of one buffer that overlap
            _ => self.line(&format!(
                "for i in {a}..{rows} step {n} {{ let {r} = {read} + {x}[0..{len}]; \
                 {y}[i * {len}..(i + 1) * {len}] = {r}; }}"
            )),
        }
        self.after.push((y, whole));
    }

    /// Loops whose trips depend on a coordinate, or on an outer loop.
    fn ragged(&mut self) {
        let (a, n) = self.any(&self.ctas.clone());
        let (k, cols) = (1 + self.below(3), 1 + self.below(4));
        let x = self.param(&format!("f32[{}, {cols}]", k * n + 2));
        let (y, acc) = (self.name("y"), self.name("acc"));
        self.before.push_str(&format!("let mut {y} = empty(f32[{n}, {cols}]);\n"));
        self.line(&format!("let mut {acc} = zeros(f32[{cols}]);"));
        let from = ["0", a.as_str(), "1"][self.below(3)];
        let body = format!("{acc} = {acc} + {x}[i];");
        match self.below(3) {
            0 => self.line(&format!("for i in {from}..{k} * ({a} + 1) {{ {body} }}")),
            1 => self.line(&format!("for i in 0..{k} * {a} step 2 {{ {body} }}")),
            _ => self.line(&format!("for j in {from}..{n} {{ for i in 0..j + 1 {{ {body} }} }}")),
        }
        self.line(&format!("{y}[{a}] = {acc};"));
        self.after.push((y, format!("f32[{n}, {cols}]")));
    }

    /// Tiles along an axis, whose last may be cut.
    fn tails(&mut self) {
        let (a, n) = self.any(&self.ctas.clone());
        let (rows, k, bk) = (n * (1 + self.below(2)), 3 + self.below(6), 2 + self.below(2));
        let x = self.param(&format!("f32[{rows}, {k}]"));
        let (acc, s) = (self.name("acc"), self.name("s"));
        let storage = ["rmem", "smem"][self.below(2)];
        self.line(&format!("let mut {acc} = zeros(f32[{rows}]);"));
        self.line(&format!(
            "for k in tile({k}, {bk}, pad = 0.0) {{ let {s} = reshard({x}[.., k], {storage}[{rows} @ {a}, {bk}]); \
             {acc} = {acc} + sum({s}, dim = 1); }}"
        ));
        self.keep(&acc, &[rows], "f32");
    }

    /// A matrix product by tiles, staged.
    fn product(&mut self) {
        let (a, n) = self.any(&self.ctas.clone());
        let (bm, cols, k, bk) = (2 + self.below(3), 2 + self.below(3), 4 + self.below(4), 2);
        let x = self.param(&format!("bf16[{}, {k}]", n * bm));
        let w = self.param(&format!("bf16[{cols}, {k}]"));
        let (acc, at, bt, y) = (self.name("acc"), self.name("at"), self.name("bt"), self.name("y"));
        self.before.push_str(&format!("let mut {y} = empty(f32[{}, {cols}]);\n", n * bm));
        let rows = format!("{a} * {bm}..({a} + 1) * {bm}");
        self.line(&format!("let mut {acc} = zeros(f32[{bm}, {cols}]);"));
        let stage = self.below(2) == 0;
        let load = |v: String| if stage { format!("reshard({v}, smem)") } else { v };
        let (l, r) = (load(format!("{x}[{rows}, k]")), load(format!("{w}[.., k]")));
        self.line(&format!(
            "for k in tile({k}, {bk}, pad = 0.0) {{ let {at} = {l}; let {bt} = {r}; \
             {acc} = {acc} + matmul({at}, {bt}, transpose_b = true, out = f32); }}"
        ));
        self.line(&format!("{y}[{rows}] = {acc};"));
        self.after.push((y, format!("f32[{}, {cols}]", n * bm)));
    }

    /// A copy that gathers what positions hold apart, or scatters what they hold whole.
    fn gather(&mut self) {
        let (from, to) =
            [("smem", "rmem"), ("rmem", "smem"), ("rmem", "rmem"), ("smem", "smem")][self.below(4)];
        let (v, shape, _) = self.placed(from);
        let (w, s) = (self.name("w"), self.name("s"));
        self.line(&format!("let {w} = reshard({v}, {to}[{}, {}]);", shape[0], shape[1]));
        self.line(&format!("let {s} = {w} * 2.0;"));
        self.keep(&s, &shape, "f32");
    }

    /// Windows by the coordinate of a thread, which may overlap.
    fn by_thread(&mut self) {
        let Some((t, n)) = self.threads.first().cloned() else { return self.global() };
        let (a, m) = self.any(&self.ctas.clone());
        let (step, len, cols) = (1 + self.below(2), 1 + self.below(3), 1 + self.below(3));
        let x = self.param(&format!("f32[{}, {cols}]", (n - 1) * step + len + m));
        let (y, r) = (self.name("y"), self.name("r"));
        let both = [format!("{t} * {step}"), format!("{t} * {step} + {a}")][self.below(2)].clone();
        self.before.push_str(&format!("let mut {y} = empty(f32[{m}, {n}, {len}, {cols}]);\n"));
        self.line(&format!("let {r} = {x}[{both}..{both} + {len}] * 2.0;"));
        self.line(&format!("{y}[{a}, {t}] = {r};"));
        self.after.push((y, format!("f32[{m}, {n}, {len}, {cols}]")));
    }

    /// The position's piece of a split value, and the pieces put together again.
    fn pieces(&mut self) {
        let (a, n) = self.any(&self.ctas.clone());
        let (rows, cols) = (n * (1 + self.below(3)), 1 + self.below(4));
        let x = self.param(&format!("f32[{rows}, {cols}]"));
        let (v, p, c, s) = (self.name("v"), self.name("p"), self.name("c"), self.name("s"));
        let storage = ["smem", "rmem"][self.below(2)];
        self.line(&format!("let {v} = reshard({x}, {storage}[{rows} @ {a}, {cols}]);"));
        self.line(&format!(
            "let {p} = local({v}); let {c} = collect(sum({p} + {p}, dim = 0), {a});"
        ));
        self.line(&format!("let {s} = complete(sum({c}, dim = 0));"));
        self.keep(&s, &[cols], "f32");
    }

    /// Without a mesh.
    fn unplaced(&mut self) {
        let (m, n) = (2 + self.below(4), 2 + self.below(5));
        let x = self.param(&format!("f32[{m}, {n}]"));
        let (y, z) = (self.name("y"), self.name("z"));
        let (text, shape) = match self.below(5) {
            0 => (
                format!("let {z} = exp({x}) + transpose(reshape({x}, [{n}, {m}]), [1, 0]);"),
                vec![m, n],
            ),
            1 => (format!("let {z} = sum({x} * {x}[0], dim = 0);"), vec![n]),
            2 => (
                format!(
                    "let {y} = cast({x}, bf16); let {z} = matmul({y}, {y}, transpose_b = true, out = f32);"
                ),
                vec![m, m],
            ),
            3 => (
                format!(
                    "let mut {z} = {x} * 2.0; for i in 0..{m} {{ {z}[i] = {x}[{m} - 1 - i] + 1.0; }}"
                ),
                vec![m, n],
            ),
            _ => (
                format!("let {y} = expand({x}[..1], [{m}, {n}]); let {z} = maximum({y}, {x});"),
                vec![m, n],
            ),
        };
        self.before.push_str(&text);
        self.before.push('\n');
        let list: Vec<String> = shape.iter().map(usize::to_string).collect();
        self.after.push((z, format!("f32[{}]", list.join(", "))));
    }

    /// Warpgroups with roles: one fetches, the others multiply or add.
    fn roles(&mut self) -> String {
        let (k, bk, n) = (6, 3, 2 + self.below(3));
        let (p, m) = (1 + self.below(3), 2 + self.below(2));
        let multiply = self.below(2) == 0;
        let body = if multiply {
            "acc = acc + matmul(at, bt, transpose_b = true, out = f32);"
        } else {
            "acc = acc + sum(cast(at, f32), dim = 1, keepdim = true);"
        };
        let rows = 2 * (m - 1);
        format!(
            "module M {{ target \"nvidia.h200_sxm\"; topology cta = {p}, warpgroup = {m}, thread = 128;\n\
             entry func main(a: bf16[{all}, {k}], b: bf16[{n}, {k}]) -> f32[{all}, {n}] {{\n\
             let mut y = empty(f32[{all}, {n}]);\n\
             mesh g = cta[p: {p}], wg = warpgroup[w: {m}], load = wg[0..1], mma = wg[1..{m}] {{\n\
             let mut acc: f32[{rows}, {n}] in rmem[{rows} @ mma.w, {n}] = zeros(f32[{rows}, {n}]);\n\
             for k in tile({k}, {bk}) {{\n\
             let (at, bt) = on load {{ (reshard(a[g.p * {rows}..(g.p + 1) * {rows}, k], smem), reshard(b[.., k], smem)) }};\n\
             on mma {{ {body} }} }}\n\
             on mma {{ y[g.p * {rows}..(g.p + 1) * {rows}] = acc; }} }}\ny }} }}",
            all = p * rows,
        )
    }

    pub fn program(seed: u64) -> String {
        let mut d = Draw {
            seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            params: vec![],
            before: String::new(),
            body: String::new(),
            results: vec![],
            after: vec![],
            ctas: vec![],
            threads: vec![],
            names: 0,
        };
        d.below(1);
        if d.below(8) == 0 {
            return d.roles();
        }
        for n in ["g.a", "g.b"].iter().take(1 + d.below(2)) {
            let extent = 1 + d.below(3);
            d.ctas.push(((*n).into(), extent));
        }
        for n in ["t.x", "t.y"].iter().take(d.below(3)) {
            let extent = 2 + d.below(2);
            d.threads.push(((*n).into(), extent));
        }
        for _ in 0..1 + d.below(3) {
            match d.below(11) {
                0..3 => d.global(),
                3 => d.position(),
                4 => d.ragged(),
                5 => d.tails(),
                6 => d.product(),
                7 => d.gather(),
                8 => d.by_thread(),
                9 => d.pieces(),
                _ => d.unplaced(),
            }
        }
        d.text()
    }

    fn text(self) -> String {
        let short = |v: &[(String, usize)]| -> String {
            let axis =
                |(n, e): &(String, usize)| format!("{}: {e}", n.split('.').nth(1).unwrap_or(n));
            v.iter().map(axis).collect::<Vec<_>>().join(", ")
        };
        let product = |v: &[(String, usize)]| v.iter().map(|(_, e)| e).product::<usize>();
        let mut mesh = format!("mesh g = cta[{}]", short(&self.ctas));
        let mut topology = format!("cta = {}", product(&self.ctas));
        if !self.threads.is_empty() {
            mesh.push_str(&format!(", t = thread[{}]", short(&self.threads)));
            topology.push_str(&format!(", thread = {}", product(&self.threads)));
        }
        let names: Vec<String> = (0..self.results.len()).map(|i| format!("out{i}")).collect();
        let values: Vec<String> = self.results.iter().map(|(v, _)| v.clone()).collect();
        let block = match (self.body.is_empty(), names.as_slice()) {
            (true, _) => String::new(),
            (_, []) => format!("{mesh} {{\n{}}}\n", self.body),
            (_, [one]) => format!("let {one} = {mesh} {{\n{}{}\n}};\n", self.body, values[0]),
            _ => format!(
                "let ({}) = {mesh} {{\n{}({})\n}};\n",
                names.join(", "),
                self.body,
                values.join(", ")
            ),
        };
        let outs: Vec<String> =
            names.into_iter().chain(self.after.iter().map(|(n, _)| n.clone())).collect();
        let types: Vec<String> =
            self.results.iter().chain(&self.after).map(|(_, t)| t.clone()).collect();
        let list =
            |v: &[String]| if v.len() == 1 { v[0].clone() } else { format!("({})", v.join(", ")) };
        format!(
            "module M {{ target \"nvidia.h200_sxm\"; topology {topology};\nentry func main({}) -> {} {{\n{}{block}{} }} }}",
            self.params.join(", "),
            list(&types),
            self.before,
            list(&outs),
        )
    }
}
