//! Programs drawn from a seed.

/// A value of a drawn program.
#[derive(Clone)]
struct Drawn {
    name: String,
    shape: Vec<usize>,
}

/// Draws programs of shape changes, reductions, elementwise ops, products, windows and loops.
pub struct Draw {
    seed: u64,
    text: String,
    values: Vec<Drawn>,
    products: bool,
}

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.seed >> 33) as usize) % n.max(1)
    }

    fn pick(&mut self) -> Drawn {
        // late values more often, so that chains become long
        let n = self.values.len();
        let i = self.below(n).max(self.below(n));
        self.values[i].clone()
    }

    fn push(&mut self, shape: Vec<usize>, expr: &str) {
        let name = format!("v{}", self.values.len());
        self.text.push_str(&format!("let {name} = {expr};\n"));
        self.values.push(Drawn { name, shape });
    }

    fn list(v: &[usize]) -> String {
        let v: Vec<String> = v.iter().map(usize::to_string).collect();
        format!("[{}]", v.join(", "))
    }

    /// Elementwise with another value that broadcasts, or alone.
    fn elementwise(&mut self, x: &Drawn) {
        let fits = |y: &Drawn| {
            y.shape.len() <= x.shape.len()
                && y.shape.iter().rev().zip(x.shape.iter().rev()).all(|(a, b)| a == b || *a == 1)
        };
        let others: Vec<Drawn> = self.values.iter().filter(|y| fits(y)).cloned().collect();
        let y = others[self.below(others.len())].name.clone();
        let x_name = &x.name;
        let expr = match self.below(6) {
            0 => format!("tanh({x_name})"),
            1 => format!("{x_name} * 0.5 + 1.0"),
            2 => format!("{x_name} * {y} * 0.25"),
            3 => format!("maximum({x_name}, {y})"),
            4 => format!("where({x_name} > {y}, {y} - 1.0, {x_name})"),
            _ => format!("relu({x_name} - {y})"),
        };
        self.push(x.shape.clone(), &expr);
    }

    fn reduce(&mut self, x: &Drawn) {
        let Some(d) = x.shape.len().checked_sub(1).map(|r| self.below(r + 1)) else { return };
        let f = ["sum", "max", "mean", "abs_max"][self.below(4)];
        let keep = self.below(2) == 0;
        let mut shape = x.shape.clone();
        if keep {
            shape[d] = 1;
        } else {
            shape.remove(d);
        }
        let name = &x.name;
        // a product over a sum keeps numbers near 1
        self.push(shape, &format!("{f}({name}, dim = {d}, keepdim = {keep}) * 0.125"));
    }

    fn view(&mut self, x: &Drawn) {
        let (rank, name) = (x.shape.len(), x.name.clone());
        match self.below(8) {
            0 if rank > 1 => {
                let mut perm: Vec<usize> = (0..rank).collect();
                for i in (1..rank).rev() {
                    let j = self.below(i + 1);
                    perm.swap(i, j);
                }
                let shape = perm.iter().map(|p| x.shape[*p]).collect();
                self.push(shape, &format!("transpose({name}, {})", Self::list(&perm)));
            }
            1 if rank > 1 => {
                let d = self.below(rank - 1);
                let mut shape = x.shape.clone();
                shape[d] *= shape.remove(d + 1);
                self.push(shape, &format!("flatten({name}, start = {d}, end = {})", d + 1));
            }
            2 | 3 if rank > 0 && rank < 5 => {
                let d = self.below(rank);
                let n = x.shape[d];
                let parts: Vec<usize> = (1..=n).filter(|f| n.is_multiple_of(*f)).collect();
                let f = parts[self.below(parts.len())];
                let mut shape = x.shape.clone();
                shape[d] = f;
                shape.insert(d + 1, n / f);
                let expr = match self.below(3) {
                    2 => {
                        // the same elements as rows of any length
                        let size: usize = x.shape.iter().product();
                        let rows: Vec<usize> =
                            (1..=400).filter(|f| size.is_multiple_of(*f)).collect();
                        let rows = rows[self.below(rows.len())];
                        shape = vec![rows, size / rows];
                        format!("reshape({name}, {})", Self::list(&shape))
                    }
                    0 => format!("unflatten({name}, [{f}, {}], dim = {d})", n / f),
                    _ => format!("reshape({name}, {})", Self::list(&shape)),
                };
                self.push(shape, &expr);
            }
            4 if rank < 5 => {
                let d = self.below(rank + 1);
                let mut shape = x.shape.clone();
                shape.insert(d, 1);
                self.push(shape, &format!("unsqueeze({name}, dim = {d})"));
            }
            5 if x.shape.contains(&1) => {
                let d = x.shape.iter().position(|n| *n == 1).unwrap_or(0);
                let mut shape = x.shape.clone();
                let size: usize = shape.iter().product();
                shape[d] = (80_000 / size.max(1)).clamp(1, 7);
                self.push(shape.clone(), &format!("expand({name}, {})", Self::list(&shape)));
            }
            6 if x.shape.contains(&1) => {
                let d = x.shape.iter().position(|n| *n == 1).unwrap_or(0);
                let mut shape = x.shape.clone();
                shape.remove(d);
                self.push(shape, &format!("squeeze({name}, dim = {d})"));
            }
            _ if rank > 0 => {
                let d = self.below(rank);
                let n = x.shape[d];
                let k = self.below(n + 1).min(n);
                let mut shape = x.shape.clone();
                let before = "..,".repeat(d);
                match self.below(4) {
                    0 => self.push(shape, &format!("flip({name}, dim = {d})")),
                    1 if k > 0 => {
                        shape[d] = k;
                        self.push(shape, &format!("{name}[{before} {}..{n}]", n - k));
                    }
                    2 if shape.iter().product::<usize>() < 60_000 => {
                        shape[d] += n;
                        self.push(shape, &format!("concat([{name}, {name}], dim = {d})"));
                    }
                    _ => self.push(shape, &format!("cumsum({name}, dim = {d}) * 0.125")),
                }
            }
            _ => self.elementwise(x),
        }
    }

    fn product(&mut self, x: &Drawn) {
        let name = x.name.clone();
        let [.., m, k] = x.shape[..] else { return };
        let lead: usize = x.shape.iter().rev().skip(2).product();
        if lead * m * m > 200_000 || lead * m * m * k > 8_000_000 {
            return;
        }
        self.products = true;
        let mut shape = x.shape.clone();
        let last = shape.len() - 1;
        shape[last] = m;
        let scale = 1.0 / (k.max(1) as f64);
        let expr = match (self.below(2), x.shape.len()) {
            (0, 3) => format!("einsum(\"bij,bkj->bik\", {name}, {name})"),
            _ => format!("matmul({name}, {name}, transpose_b = true)"),
        };
        self.push(shape, &format!("{expr} * {scale:.6}"));
    }

    /// A loop over blocks of the first axis that reads and writes windows.
    fn windows(&mut self, x: &Drawn) {
        let Some(n) = x.shape.first().copied() else { return };
        let parts: Vec<usize> = (1..=n.min(6)).filter(|f| n.is_multiple_of(*f)).collect();
        let f = parts[self.below(parts.len())];
        let (k, name, to) = (n / f, &x.name, format!("v{}", self.values.len()));
        let step = ["relu(t) + 0.5", "tanh(t * 2.0) + r", "maximum(t, r) * 0.5"][self.below(3)];
        let text = match self.below(3) {
            0 => format!(
                "let mut {to} = {name};\nfor i in 0..{f} {{ let w = i * {k}..(i + 1) * {k}; \
                 let t = {to}[w] * 0.5; let r = {name}[w]; {to}[w] = {step}; }}\n"
            ),
            1 => format!(
                "let mut {to} = {name};\nmesh g = cta[m: {f}] {{ \
                 let w = g.m * {k}..(g.m + 1) * {k}; \
                 let r = {name}[w]; let t = r + 1.0; {to}[w] = {step}; }}\n"
            ),
            _ => format!(
                "let mut {to} = {name} * 1.5;\nfor i in 0..3 {{ let r = {name} + 1.0; \
                 let t = {to} * 0.5; {to} = {step}; }}\n"
            ),
        };
        self.text.push_str(&text);
        self.values.push(Drawn { name: to, shape: x.shape.clone() });
    }

    /// The body of a function, and whether it has products.
    pub fn program(seed: u64, dtype: &str, steps: usize) -> (String, bool) {
        let (text, values) = (String::new(), vec![]);
        let mut d = Draw { seed, text, values, products: false };
        d.below(1);
        let sizes = [[12, 60, 64], [2, 300, 70], [40, 3, 360], [250, 160, 1], [6, 80, 90]];
        let shape = sizes[d.below(sizes.len())].to_vec();
        let other = [vec![shape[2]], vec![shape[1], 1], shape.clone()][d.below(3)].clone();
        for (name, shape) in [("v0", &shape), ("v1", &other)] {
            d.values.push(Drawn { name: name.into(), shape: shape.clone() });
        }
        for _ in 0..steps {
            let x = d.pick();
            match d.below(12) {
                0..5 => d.elementwise(&x),
                5 | 6 => d.reduce(&x),
                7..10 => d.view(&x),
                10 => d.windows(&x),
                _ if dtype != "bf16" => d.product(&x),
                _ => d.elementwise(&x),
            }
        }
        let ty = |v: &Drawn| match v.shape.is_empty() {
            true => dtype.to_string(),
            false => format!("{dtype}{}", Self::list(&v.shape)),
        };
        let params: Vec<String> =
            d.values[..2].iter().map(|v| format!("{}: {}", v.name, ty(v))).collect();
        // the last value and some others leave the program
        let mut outs = vec![d.values.last().cloned().unwrap()];
        outs.extend((0..3).map(|_| d.pick()));
        let types: Vec<String> = outs.iter().map(ty).collect();
        let names: Vec<String> = outs.into_iter().map(|v| v.name).collect();
        let (params, types, names) = (params.join(", "), types.join(", "), names.join(", "));
        (format!("({params}) -> ({types}) {{\n{}({names}) }}", d.text), d.products)
    }
}
