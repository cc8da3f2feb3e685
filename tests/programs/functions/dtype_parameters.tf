//! A parameter may be a dtype: a name for it in types, casts and `match`.

/// The largest value of a narrow float.
func largest(to: dtype) -> index {
    match to {
        f8e4m3 => 448,
        f8e5m2 => 57344,
        _ => 6,
    }
}

func narrow<..B>(x: f32[..B], to: dtype = f8e4m3) -> to[..B] {
    cast(clamp(x, min = -largest(to), max = largest(to)), to)
}

/// One dtype goes on to another function.
func both<..B>(x: f32[..B], to: dtype) -> (to[..B], to[..B]) {
    (narrow(x, to = to), narrow(-x, to = to))
}

/// An attribute's default stands in the types of parameters before it.
func scaled<..B, N>(x: f32[..B, N], s: f32[..B, N / group], group: index = 4) -> f32[..B, N] {
    flatten(unflatten(x, [N / group, group], dim = -1) * unsqueeze(s, dim = -1), start = -2)
}

module M {
    target "nvidia.h200_sxm";

    // reveal: default.y: f8e4m3[4] in gmem
    pub func default(x: f32[4]) -> f8e4m3[4] {
        let y = narrow(x);
        y
    }

    // reveal: named.y: f8e5m2[2, 3] in gmem
    pub func named(x: f32[2, 3]) -> f8e5m2[2, 3] {
        let y = narrow(x, to = f8e5m2);
        y
    }

    pub func passed(x: f32[2]) -> (f4e2m1[2], f4e2m1[2]) {
        both(x, f4e2m1)
    }

    pub func grouped(x: f32[3, 8], s: f32[3, 2], t: f32[3, 8]) -> (f32[3, 8], f32[3, 8]) {
        (scaled(x, s), scaled(x, t, group = 1))
    }
}
