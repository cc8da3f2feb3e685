//! A parameter whose default is `none` may be left out: what it would cost is not there then. A
//! generic that only it determines may be left open.
// agrees: given = plain_given
// agrees: left_out = plain_left_out
// agrees: handed_on = plain_handed_on
// agrees: convolved = plain_convolved

func affine<T: float, W: float, ..B, N, ..P>(
    x: T[..B, N],
    w: W[N] = none,
    b: T[..P] = none,
    cap: f32 = none,
    most: index = none,
) -> T[..B, N] {
    let scaled = match w {
        none => x,
        _ => x * cast(w, T),
    };
    let moved = match b {
        none => scaled,
        _ => scaled + b,
    };
    let capped = match cap {
        none => moved,
        _ => minimum(moved, full_like(moved, cap)),
    };
    match most {
        _ => capped,
    }
}

/// `none` may be handed on, to functions and to ops.
func outer<T: float, N, ..P>(x: T[N], b: T[..P] = none) -> T[N] {
    affine(x, b = b, w = none)
}

func filter<B, C, L, K>(x: f32[B, C, L], w: f32[C, C, K], b: f32[C] = none) -> f32[B, C, L] {
    conv1d(x, w, bias = b, causal = true)
}

module Optional {
    target "nvidia.h200_sxm";
    topology cta;

    // cost: Optional.left_out: flops.f32 = 4
    pub func given(x: f32[3, 4], w: bf16[4], b: f32[3, 1]) -> f32[3, 4] {
        affine(x, w = w, b = b, cap = 0.25, most = 3)
    }

    pub func left_out(x: f32[4]) -> f32[4] {
        affine(x, cap = 0.25)
    }

    pub func handed_on(x: f32[4]) -> f32[4] {
        outer(x)
    }

    pub func convolved(x: f32[1, 2, 5], w: f32[2, 2, 3], b: f32[2]) -> f32[1, 2, 5] {
        filter(x, w) + filter(x, w, b = b)
    }

    pub func plain_given(x: f32[3, 4], w: bf16[4], b: f32[3, 1]) -> f32[3, 4] {
        clamp(x * cast(w, f32) + b, max = 0.25)
    }

    pub func plain_left_out(x: f32[4]) -> f32[4] {
        clamp(x, max = 0.25)
    }

    pub func plain_handed_on(x: f32[4]) -> f32[4] {
        x
    }

    pub func plain_convolved(x: f32[1, 2, 5], w: f32[2, 2, 3], b: f32[2]) -> f32[1, 2, 5] {
        conv1d(x, w, causal = true) + conv1d(x, w, bias = b, causal = true)
    }
}
