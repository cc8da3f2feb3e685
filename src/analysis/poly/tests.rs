use proptest::prelude::*;

use super::*;

/// What a form says at `n`.
fn value(p: &Piece, n: i64) -> Rational {
    let int = |x: i64| Rational::int(i128::from(x));
    let pow = |x: i64, k: u32| (0..k).fold(int(1), |r, _| r.times(int(x)).unwrap());
    match &p.form {
        Form::Terms(t) => t.iter().fold(Rational::ZERO, |s, t| {
            let ceil = (n + t.divisor - 1).div_euclid(t.divisor);
            let f = pow(n, t.power).times(pow(ceil, t.ceil_power)).unwrap();
            s.plus(f.times(t.coefficient).unwrap()).unwrap()
        }),
        Form::Classes(c) => {
            let r = n.rem_euclid(p.period);
            let c = c.iter().find(|c| c.from <= r && r <= c.to).unwrap();
            (0u32..)
                .zip(&c.coefficients)
                .fold(Rational::ZERO, |s, (k, x)| s.plus(pow(n, k).times(*x).unwrap()).unwrap())
        }
        Form::Values(v) => v[usize::try_from(n - p.from).unwrap()],
    }
}

fn of(from: i64, to: i64, f: impl Fn(i64) -> i128) -> Vec<Piece> {
    let values: Vec<Option<i128>> = (from..=to).map(|n| Some(f(n))).collect();
    pieces("n", from, &values)
}

#[test]
fn a_line_is_one_piece() {
    let p = of(1, 1815, |n| 4096 * i128::from(n) + 17152);
    assert_eq!(p.len(), 1);
    assert_eq!((p[0].from, p[0].to, p[0].text.as_str()), (1, 1815, "4096 n + 17152"));
}

#[test]
fn arms_are_pieces_and_tiles_are_ceils() {
    let p = of(1, 600, |n| match n {
        ..=200 => i128::from(n * n - 3 * n),
        _ => 10 * i128::from(n) + 512 * i128::from((n + 63) / 64) + 7,
    });
    let texts: Vec<(i64, i64, &str)> = p.iter().map(|p| (p.from, p.to, p.text.as_str())).collect();
    assert_eq!(texts, [(1, 200, "n^2 - 3 n"), (201, 600, "512 ceil(n / 64) + 10 n + 7")]);
}

#[test]
fn a_triangle_of_tiles_is_a_square_of_ceils() {
    let p = of(1, 500, |n| {
        let t = i128::from((n + 31) / 32);
        t * (t + 1) / 2
    });
    assert_eq!(p.len(), 1);
    assert_eq!(p[0].text, "1/2 ceil(n / 32)^2 + 1/2 ceil(n / 32)");
}

#[test]
fn what_has_no_form_is_listed() {
    // powers of two grow faster than every polynomial
    let p = of(0, 60, |n| 1i128 << n);
    assert!(p.iter().any(|p| matches!(&p.form, Form::Values(v) if v.len() > 40)));
}

proptest! {
    /// Whatever the values are, the pieces cover each size once and give its value.
    #[test]
    fn every_size_is_covered_and_every_value_given(
        from in -20i64..20,
        a in -5i128..5, b in -5i128..5, c in -5i128..5, p in 1i64..9, q in 1i64..9,
        cut in 0i64..200, noise in proptest::collection::vec(-3i128..3, 0..12),
        gap in proptest::option::of(0usize..200),
    ) {
        let mut values: Vec<Option<i128>> = (from..from + 200).map(|n| {
            let (x, y) = (i128::from(n.div_euclid(p)), i128::from(n.rem_euclid(q)));
            Some(if n - from < cut { a * x + b * y } else { c * x * x + i128::from(n) })
        }).collect();
        for (v, x) in values.iter_mut().zip(&noise) {
            *v = v.map(|v| v + x);
        }
        if let Some(g) = gap {
            values[g] = None;
        }
        let found = pieces("n", from, &values);
        let mut seen = 0;
        let mut end = from;
        for piece in &found {
            prop_assert!(piece.from >= end && piece.to >= piece.from);
            end = piece.to + 1;
            for n in piece.from..=piece.to {
                let v = values[usize::try_from(n - from).unwrap()];
                prop_assert_eq!(Some(value(piece, n)), v.map(Rational::int), "{}", n);
                seen += 1;
            }
        }
        prop_assert_eq!(seen, values.iter().flatten().count());
    }
}
