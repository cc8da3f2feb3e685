//! Small modules, and twins for them: correct ones, which between them use every kind of launch, and
//! ones whose kernel or wiring has one known fault each. The kernels are in faults.cu.

const N = 1000;     // no multiple of a block, so that the last one has a tail
const ROWS = 100;
const COLUMNS = 700;

// -- y = 2 x

module Scale {
    entry func run(x: f32[N]) -> f32[N] {
        x * 2.0
    }
}

twin ScaleRight for Scale {
    extern kernel scale(x: in f32[N], y: out f32[N], n: u32) from "faults.ptx" entry "scale";

    func run(x) {
        let y = alloc(f32[N]);
        launch scale(x, y, N) grid(ceil_div(N, 256)) block(256);
        y
    }
}

/// The last element is not written.
twin ScaleMissesTail for Scale {
    extern kernel scale(x: in f32[N], y: out f32[N], n: u32)
        from "faults.ptx" entry "scale_misses_tail";

    func run(x) {
        let y = alloc(f32[N]);
        launch scale(x, y, N) grid(ceil_div(N, 256)) block(256);
        y
    }
}

/// The grid has a block too few: 768 of 1000 elements are written.
twin ScaleShortGrid for Scale {
    extern kernel scale(x: in f32[N], y: out f32[N], n: u32) from "faults.ptx" entry "scale";

    func run(x) {
        let y = alloc(f32[N]);
        launch scale(x, y, N) grid(N / 256) block(256);
        y
    }
}

/// Each element is written one place late.
twin ScaleOffByOne for Scale {
    extern kernel scale(x: in f32[N], y: out f32[N], n: u32)
        from "faults.ptx" entry "scale_off_by_one";

    func run(x) {
        let y = alloc(f32[N]);
        launch scale(x, y, N) grid(ceil_div(N, 256)) block(256);
        y
    }
}

/// The element before the result is written.
twin ScaleWritesBefore for Scale {
    extern kernel scale(x: in f32[N], y: out f32[N], n: u32)
        from "faults.ptx" entry "scale_writes_before";

    func run(x) {
        let y = alloc(f32[N]);
        launch scale(x, y, N) grid(ceil_div(N, 256)) block(256);
        y
    }
}

/// The element after the result is written.
twin ScaleWritesPast for Scale {
    extern kernel scale(x: in f32[N], y: out f32[N], n: u32)
        from "faults.ptx" entry "scale_writes_past";

    func run(x) {
        let y = alloc(f32[N]);
        launch scale(x, y, N) grid(ceil_div(N, 256)) block(256);
        y
    }
}

/// Element 333 of the input is changed.
twin ScaleWritesInput for Scale {
    extern kernel scale(x: in f32[N], y: out f32[N], n: u32)
        from "faults.ptx" entry "scale_writes_input";

    func run(x) {
        let y = alloc(f32[N]);
        launch scale(x, y, N) grid(ceil_div(N, 256)) block(256);
        y
    }
}

/// Element 500 is NaN.
twin ScaleMakesNan for Scale {
    extern kernel scale(x: in f32[N], y: out f32[N], n: u32)
        from "faults.ptx" entry "scale_makes_nan";

    func run(x) {
        let y = alloc(f32[N]);
        launch scale(x, y, N) grid(ceil_div(N, 256)) block(256);
        y
    }
}

twin ScaleTraps for Scale {
    extern kernel scale(x: in f32[N], y: out f32[N], n: u32) from "faults.ptx" entry "scale_traps";

    func run(x) {
        let y = alloc(f32[N]);
        launch scale(x, y, N) grid(ceil_div(N, 256)) block(256);
        y
    }
}

twin ScaleReadsIllegal for Scale {
    extern kernel scale(x: in f32[N], y: out f32[N], n: u32)
        from "faults.ptx" entry "scale_reads_illegal";

    func run(x) {
        let y = alloc(f32[N]);
        launch scale(x, y, N) grid(ceil_div(N, 256)) block(256);
        y
    }
}

twin ScaleMisaligned for Scale {
    extern kernel scale(x: in f32[N], y: out f32[N], n: u32)
        from "faults.ptx" entry "scale_misaligned";

    func run(x) {
        let y = alloc(f32[N]);
        launch scale(x, y, N) grid(ceil_div(N, 256)) block(256);
        y
    }
}

/// Waits for a flag that nobody sets, for 60 s at most.
twin ScaleNeverEnds for Scale {
    extern kernel scale(x: in f32[N], y: out f32[N], flag: in u32[1], n: u32, seconds: u32)
        from "faults.ptx" entry "scale_never_ends";

    func run(x) {
        let y = alloc(f32[N]);
        let flag = zeros(u32[1]);
        launch scale(x, y, flag, N, 60) grid(ceil_div(N, 256)) block(256);
        y
    }
}

/// The driver refuses a block of 2048 threads.
twin ScaleBlockTooLarge for Scale {
    extern kernel scale(x: in f32[N], y: out f32[N], n: u32) from "faults.ptx" entry "scale";

    func run(x) {
        let y = alloc(f32[N]);
        launch scale(x, y, N) grid(1) block(2048);
        y
    }
}

// -- y = a - b, of two inputs of one type

module Difference {
    entry func run(a: f32[N], b: f32[N]) -> f32[N] {
        a - b
    }
}

twin DifferenceRight for Difference {
    extern kernel subtract(a: in f32[N], b: in f32[N], y: out f32[N], n: u32)
        from "faults.ptx" entry "subtract";

    func run(a, b) {
        let y = alloc(f32[N]);
        launch subtract(a, b, y, N) grid(ceil_div(N, 256)) block(256);
        y
    }
}

/// The operands are swapped.
twin DifferenceSwapped for Difference {
    extern kernel subtract(a: in f32[N], b: in f32[N], y: out f32[N], n: u32)
        from "faults.ptx" entry "subtract";

    func run(a, b) {
        let y = alloc(f32[N]);
        launch subtract(b, a, y, N) grid(ceil_div(N, 256)) block(256);
        y
    }
}

// -- sums of rows, whose number is a dim

dim rows in 1..=4096;

module RowSums {
    entry func run(x: f32[rows, COLUMNS]) -> f32[rows] {
        sum(x, dim = 1)
    }
}

twin RowSumsRight for RowSums {
    extern kernel sums(x: in f32[rows, COLUMNS], y: out f32[rows], columns: u32)
        from "faults.ptx" entry "row_sums";

    func run(x) {
        let y = alloc(f32[rows]);
        launch sums(x, y, COLUMNS) grid(rows) block(256);
        y
    }
}

/// The last 188 of 700 columns are not added.
twin RowSumsMissTail for RowSums {
    extern kernel sums(x: in f32[rows, COLUMNS], y: out f32[rows], columns: u32)
        from "faults.ptx" entry "row_sums_misses_tail";

    func run(x) {
        let y = alloc(f32[rows]);
        launch sums(x, y, COLUMNS) grid(rows) block(256);
        y
    }
}

/// A barrier is missing: other rows lack a part in each run.
twin RowSumsRace for RowSums {
    extern kernel sums(x: in f32[rows, COLUMNS], y: out f32[rows], columns: u32)
        from "faults.ptx" entry "row_sums_races";

    func run(x) {
        let y = alloc(f32[rows]);
        launch sums(x, y, COLUMNS) grid(rows) block(256);
        y
    }
}

/// Two launches with a temporary between them.
twin RowSumsByParts for RowSums {
    extern kernel row_parts(x: in f32[rows, COLUMNS], parts: out f32[rows, 4], columns: u32)
        from "faults.ptx" entry "row_parts";
    extern kernel sum_parts(parts: in f32[rows, 4], y: out f32[rows], n: u32)
        from "faults.ptx" entry "sum_parts";

    func run(x) {
        let parts = alloc(f32[rows, 4]);
        let y = alloc(f32[rows]);
        launch row_parts(x, parts, COLUMNS) grid(rows, 4) block(32);
        launch sum_parts(parts, y, rows) grid(ceil_div(rows, 128)) block(128);
        y
    }
}

/// The launch that sums the parts comes first, and reads what nobody wrote.
twin RowSumsByPartsWrongOrder for RowSums {
    extern kernel row_parts(x: in f32[rows, COLUMNS], parts: out f32[rows, 4], columns: u32)
        from "faults.ptx" entry "row_parts";
    extern kernel sum_parts(parts: in f32[rows, 4], y: out f32[rows], n: u32)
        from "faults.ptx" entry "sum_parts";

    func run(x) {
        let parts = alloc(f32[rows, 4]);
        let y = alloc(f32[rows]);
        launch sum_parts(parts, y, rows) grid(ceil_div(rows, 128)) block(128);
        launch row_parts(x, parts, COLUMNS) grid(rows, 4) block(32);
        y
    }
}

/// A cluster of four blocks for a row: the first reads the shared memory of the others.
twin RowSumsCluster for RowSums {
    extern kernel sums(x: in f32[rows, COLUMNS], y: out f32[rows], columns: u32)
        from "faults.ptx" entry "row_sums_cluster";

    func run(x) {
        let y = alloc(f32[rows]);
        launch sums(x, y, COLUMNS) grid(4 * rows) block(32) cluster(4);
        y
    }
}

/// One of two kernels by the number of rows.
twin RowSumsByRows for RowSums {
    extern kernel block(x: in f32[rows, COLUMNS], y: out f32[rows], columns: u32)
        from "faults.ptx" entry "row_sums";
    extern kernel cluster4(x: in f32[rows, COLUMNS], y: out f32[rows], columns: u32)
        from "faults.ptx" entry "row_sums_cluster";

    func run(x) {
        let y = alloc(f32[rows]);
        match rows {
            1..=32 => {
                launch cluster4(x, y, COLUMNS) grid(4 * rows) block(32) cluster(4);
            },
            33..=4096 => {
                launch block(x, y, COLUMNS) grid(rows) block(256);
            },
        }
        y
    }
}

// -- total += x, in place

module Accumulate {
    entry func run(inout total: f32[N], x: f32[N]) {
        total = total + x;
    }
}

twin AccumulateRight for Accumulate {
    extern kernel add_to(total: inout f32[N], x: in f32[N], n: u32)
        from "faults.ptx" entry "add_to";

    func run(inout total, x) {
        launch add_to(total, x, N) grid(ceil_div(N, 256)) block(256);
    }
}

/// The sum is added twice.
twin AccumulateTwice for Accumulate {
    extern kernel add_to(total: inout f32[N], x: in f32[N], n: u32)
        from "faults.ptx" entry "add_to";

    func run(inout total, x) {
        for i in 0..2 {
            launch add_to(total, x, N) grid(ceil_div(N, 256)) block(256);
        }
    }
}

// -- y = w x, with a weight laid out anew at load

module Project {
    weight w: f32[300, 200] from "w";

    entry func run(x: f32[200]) -> f32[300] {
        squeeze(matmul(w, unsqueeze(x, dim = 1)), dim = 1)
    }
}

twin ProjectPrepared for Project {
    extern kernel project(x: in f32[200], w_t: in f32[200, 300], y: out f32[300], k: u32, m: u32)
        from "faults.ptx" entry "project";

    prepare w_t: f32[200, 300] = transpose(w, [1, 0]);

    func run(x) {
        let y = alloc(f32[300]);
        launch project(x, w_t, y, 200, 300) grid(ceil_div(300, 128)) block(128);
        y
    }
}

// -- a module with children, each with its own weight

module Layer {
    weight w: f32[200, 200] from "w";

    entry func run(x: f32[200]) -> f32[200] {
        squeeze(matmul(w, unsqueeze(x, dim = 1)), dim = 1)
    }
}

module Stack {
    child layers: Layer[2] from "layers";

    entry func run(x: f32[200]) -> f32[200] {
        let mut h = x;
        for i in 0..2 {
            h = layers[i](h);
        }
        h * 2.0
    }
}

twin LayerPrepared for Layer {
    extern kernel project(x: in f32[200], w_t: in f32[200, 200], y: out f32[200], k: u32, m: u32)
        from "faults.ptx" entry "project";

    prepare w_t: f32[200, 200] = transpose(w, [1, 0]);

    func run(x) {
        let y = alloc(f32[200]);
        launch project(x, w_t, y, 200, 200) grid(ceil_div(200, 128)) block(128);
        y
    }
}

twin StackRight for Stack {
    child layers: LayerPrepared;

    extern kernel scale(x: in f32[200], y: out f32[200], n: u32) from "faults.ptx" entry "scale";

    func run(x) {
        let y = alloc(f32[200]);
        let h = layers[1](layers[0](x));
        launch scale(h, y, 200) grid(1) block(256);
        y
    }
}

/// The children run in the wrong order.
twin StackWrongOrder for Stack {
    child layers: LayerPrepared;

    extern kernel scale(x: in f32[200], y: out f32[200], n: u32) from "faults.ptx" entry "scale";

    func run(x) {
        let y = alloc(f32[200]);
        let h = layers[0](layers[1](x));
        launch scale(h, y, 200) grid(1) block(256);
        y
    }
}

// -- y = x / sum(x^2), behind a barrier over the grid

module Normalize {
    entry func run(x: f32[N]) -> f32[N] {
        x / sum(square(x))
    }
}

twin NormalizeCooperative for Normalize {
    extern kernel normalize(x: in f32[N], parts: out f32[4], y: out f32[N], n: u32)
        from "faults.ptx" entry "normalize";

    func run(x) {
        let parts = alloc(f32[4]);
        let y = alloc(f32[N]);
        launch normalize(x, parts, y, N) grid(4) block(256) cooperative;
        y
    }
}

// -- rows reversed, through 64 KB of dynamic shared memory

module Reverse {
    entry func run(x: f32[ROWS, 16384]) -> f32[ROWS, 16384] {
        flip(x, dim = 1)
    }
}

twin ReverseShared for Reverse {
    extern kernel reverse(x: in f32[ROWS, 16384], y: out f32[ROWS, 16384], columns: u32)
        from "faults.ptx" entry "reverse_rows";

    func run(x) {
        let y = alloc(f32[ROWS, 16384]);
        launch reverse(x, y, 16384) grid(ROWS) block(512) smem(16384 * 4);
        y
    }
}

// -- y = 2 x for a matrix, read through a tensor map that clips the last rows

module ScaleMatrix {
    entry func run(x: f32[ROWS, 96]) -> f32[ROWS, 96] {
        x * 2.0
    }
}

twin ScaleMatrixTma for ScaleMatrix {
    extern kernel scale(
        x: in tensor_map(f32[ROWS, 96], box = [8, 32], swizzle = 128),
        y: out f32[ROWS, 96],
        m: u32,
        n: u32,
    ) from "faults.ptx" entry "scale_tiles";

    func run(x) {
        let y = alloc(f32[ROWS, 96]);
        launch scale(x, y, ROWS, 96) grid(96 / 32, ceil_div(ROWS, 8)) block(256);
        y
    }
}

/// The tensor map is not swizzled, and the kernel reads it as if it were.
twin ScaleMatrixWrongSwizzle for ScaleMatrix {
    extern kernel scale(
        x: in tensor_map(f32[ROWS, 96], box = [8, 32]),
        y: out f32[ROWS, 96],
        m: u32,
        n: u32,
    ) from "faults.ptx" entry "scale_tiles";

    func run(x) {
        let y = alloc(f32[ROWS, 96]);
        launch scale(x, y, ROWS, 96) grid(96 / 32, ceil_div(ROWS, 8)) block(256);
        y
    }
}

// -- a kernel compiled for one architecture: blocks of 128 reversed, times 3

module FlipBlocks {
    entry func run(x: f32[1024]) -> f32[1024] {
        reshape(flip(reshape(x, [8, 128]), dim = 1), [1024]) * 3.0
    }
}

twin FlipCubin for FlipBlocks {
    extern kernel scale(x: in f32[1024], y: out f32[1024], n: u32, s: f32, offset: i64)
        from "../data/images/kernels.sm_90a.cubin" entry "scale";

    func run(x) {
        let y = alloc(f32[1024]);
        launch scale(x, y, 1024, 3.0, 0) grid(8) block(128);
        y
    }
}
