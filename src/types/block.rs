//! Rectangular blocks of row-major elements.

/// Where a block's contiguous runs start in the tensor, and how long each is.
pub(super) struct Rows {
    pub starts: Vec<usize>,
    pub len: usize,
}

impl Rows {
    /// Where the block starts, when it is one run.
    pub fn run(&self) -> Option<usize> {
        match self.starts.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }
}

pub(super) fn rows(shape: &[usize], starts: &[usize], lens: &[usize]) -> Rows {
    assert!(
        starts.len() == shape.len()
            && lens.len() == shape.len()
            && shape
                .iter()
                .zip(starts.iter().zip(lens))
                .all(|(&d, (&s, &l))| s.checked_add(l).is_some_and(|end| end <= d)),
        "block at {starts:?} of {lens:?} in {shape:?}"
    );
    if lens.contains(&0) {
        return Rows { starts: Vec::new(), len: 0 };
    }
    // Trailing axes taken whole join the run of the axis before them.
    let mut inner = shape.len();
    let mut len = 1;
    while inner > 0 {
        inner -= 1;
        len *= lens[inner];
        if lens[inner] != shape[inner] {
            break;
        }
    }
    let mut out = vec![0usize];
    let mut stride = 1;
    let mut base = 0;
    let strides: Vec<usize> = {
        let mut v = vec![0; shape.len()];
        for axis in (0..shape.len()).rev() {
            v[axis] = stride;
            base += starts[axis] * stride;
            stride *= shape[axis];
        }
        v
    };
    for axis in 0..inner {
        out = out
            .iter()
            .flat_map(|o| (0..lens[axis]).map(move |i| (o, i)))
            .map(|(o, i)| o + i * strides[axis])
            .collect();
    }
    out.iter_mut().for_each(|o| *o += base);
    Rows { starts: out, len }
}

pub(super) fn take<T: Copy>(v: &[T], rows: &Rows) -> Vec<T> {
    let mut out = Vec::with_capacity(rows.starts.len() * rows.len);
    for &start in &rows.starts {
        out.extend_from_slice(&v[start..start + rows.len]);
    }
    out
}

pub(super) fn put<T: Copy>(to: &mut [T], from: &[T], rows: &Rows) {
    if rows.len == 0 {
        return;
    }
    for (&start, row) in rows.starts.iter().zip(from.chunks_exact(rows.len)) {
        to[start..start + rows.len].copy_from_slice(row);
    }
}
