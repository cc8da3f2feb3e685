//! `..B` of a pack in subscripts keeps all its axes, none as well as two.

/// Each token less the one before it.
func changes<T: float, ..B, S, N>(x: T[..B, S, N]) -> T[..B, S, N] {
    let mut y = x;
    for t in 1..S {
        y[..B, t] = x[..B, t] - x[..B, t - 1];
    }
    y
}

func first<T: float, ..B, S, N>(x: T[..B, S, N]) -> T[..B, N] {
    x[..B, 0]
}

func raise<T: float, ..B, N>(inout x: T[..B, N]) -> T[..B, N] {
    x = x + 1.0;
    x
}

/// A window of the leading axes and one after them is an `inout` place.
func raise_first<T: float, ..B, S, N>(inout x: T[..B, S, N]) -> T[..B, N] {
    raise(inout x[..B, 0])
}

module M {
    target "nvidia.h200_sxm";

    // reveal: none.y: f32[4] in gmem
    pub func none(x: f32[3, 4]) -> f32[4] {
        let y = first(changes(x));
        y
    }

    // reveal: two.y: f32[5, 2, 4] in gmem
    pub func two(x: f32[5, 2, 3, 4]) -> f32[5, 2, 4] {
        let y = first(changes(x));
        y
    }

    pub func updated(inout x: f32[2, 3, 4]) -> f32[2, 4] {
        raise_first(inout x)
    }
}
