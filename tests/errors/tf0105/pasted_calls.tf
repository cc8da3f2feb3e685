//! Calls that double at each level.
// no fix: a `for` loop is another program

func g0(x: f32[4]) -> f32[4] {
    g1(g1(x))
}

func g1(x: f32[4]) -> f32[4] {
    g2(g2(x))
}

func g2(x: f32[4]) -> f32[4] {
    g3(g3(x))
}

func g3(x: f32[4]) -> f32[4] {
    g4(g4(x))
}

func g4(x: f32[4]) -> f32[4] {
    g5(g5(x))
}

func g5(x: f32[4]) -> f32[4] {
    g6(g6(x))
}

func g6(x: f32[4]) -> f32[4] {
    g7(g7(x))
}

func g7(x: f32[4]) -> f32[4] {
    g8(g8(x))
}

func g8(x: f32[4]) -> f32[4] {
    g9(g9(x))
}

func g9(x: f32[4]) -> f32[4] {
    g10(g10(x))
}

func g10(x: f32[4]) -> f32[4] {
    g11(g11(x))
}

func g11(x: f32[4]) -> f32[4] {
    g12(g12(x))
}

func g12(x: f32[4]) -> f32[4] {
    g13(g13(x))
}

func g13(x: f32[4]) -> f32[4] {
    g14(g14(x))
}

func g14(x: f32[4]) -> f32[4] {
    g15(g15(x))
}

func g15(x: f32[4]) -> f32[4] {
    g16(g16(x))
}

func g16(x: f32[4]) -> f32[4] {
    g17(g17(x))
}

func g17(x: f32[4]) -> f32[4] {
    g18(g18(x)) // error[TF0105]: more than 65536 calls are pasted into this function
}

func g18(x: f32[4]) -> f32[4] {
    x
}
