//! Views, windows, joins: elements land where indexing says.

use proptest::prelude::*;

use super::run::{f32s, i32s, noise, op, tensor};
use crate::ops::registry::find;
use crate::ops::shape::window_write::write;
use crate::ops::{Attr, Role, Sub};
use crate::types::dim::Env;
use crate::types::dtype::DType;
use crate::types::num::{Float, Num};
use crate::types::value::Tensor;

fn window(start: i64, len: i64) -> Sub {
    Sub::Window { start: start.into(), len: len.into(), end: None, pad: None }
}

fn padded(start: i64, len: i64, end: Option<i64>, pad: f64) -> Sub {
    Sub::Window {
        start: start.into(),
        len: len.into(),
        end: end.map(Into::into),
        pad: Some(Num::Float(Float::Const(pad))),
    }
}

fn slice(x: &Tensor, subs: Vec<Sub>) -> super::run::Case {
    op("slice", &[x]).attr("subs", Attr::Subs(subs))
}

#[test]
fn roles_and_partials() {
    for name in ["reshape", "transpose", "squeeze", "unsqueeze", "expand", "flatten", "flip"] {
        assert_eq!(find(name).unwrap().role(), Role::View, "{name}");
    }
    assert_eq!(find("slice").unwrap().role(), Role::Read);
    assert_eq!(find("window_write").unwrap().role(), Role::Write);
    assert_eq!(find("empty").unwrap().role(), Role::Empty);
}

#[test]
fn windows_read_what_they_cover() {
    let x = i32s(&[3, 4], &(0..12).collect::<Vec<_>>());
    assert_eq!(slice(&x, vec![window(1, 2)]).values(), (4..12).map(f64::from).collect::<Vec<_>>());
    assert_eq!(slice(&x, vec![Sub::At(2.into()), window(1, 2)]).values(), [9.0, 10.0]);
    assert_eq!(slice(&x, vec![window(0, 3), Sub::At(3.into())]).values(), [3.0, 7.0, 11.0]);
    assert_eq!(slice(&x, vec![Sub::At(0.into()), Sub::At(1.into())]).get().shape(), [0usize; 0]);
    assert_eq!(slice(&x, vec![]).get().shape(), [3, 4]);
    assert_eq!(slice(&x, vec![window(3, 0)]).get().shape(), [0, 4]);
}

#[test]
fn padding_starts_at_the_end_or_at_the_tensor() {
    let x = i32s(&[5], &[1, 2, 3, 4, 5]);
    assert_eq!(slice(&x, vec![padded(3, 4, None, -1.0)]).values(), [4.0, 5.0, -1.0, -1.0]);
    assert_eq!(slice(&x, vec![padded(1, 3, Some(2), 9.0)]).values(), [2.0, 9.0, 9.0]);
    assert_eq!(slice(&x, vec![padded(8, 2, None, 0.0)]).values(), [0.0, 0.0]);
    // without a padding value the end still holds
    let end = Sub::Window { start: 0.into(), len: 3.into(), end: Some(1.into()), pad: None };
    assert_eq!(slice(&x, vec![end]).values(), [1.0, 0.0, 0.0]);
    let h = tensor(DType::F16, &[1], &[1.0]);
    assert_eq!(
        slice(&h, vec![padded(0, 2, None, f64::NEG_INFINITY)]).values()[1],
        f64::NEG_INFINITY
    );
}

#[test]
fn windows_outside_are_refused() {
    let x = i32s(&[3, 4], &[0; 12]);
    let e = slice(&x, vec![window(2, 2)]).error();
    assert!(e.contains("window 2..4 reads outside axis 0 of i32[3, 4]"), "{e}");
    let e = slice(&x, vec![Sub::At(3.into())]).error();
    assert!(e.contains("index 3"), "{e}");
    let e = slice(&x, vec![padded(-1, 2, None, 0.0)]).error();
    assert!(e.contains("-1"), "{e}");
    let e = slice(&x, vec![window(0, 1), window(0, 1), window(0, 1)]).error();
    assert!(e.contains("3 subscripts"), "{e}");
}

#[test]
fn writes_replace_the_window_and_drop_the_rest() {
    let x = i32s(&[2, 3], &[0; 6]);
    let put = |subs: Vec<Sub>, t: &Tensor| {
        op("window_write", &[&x, t]).attr("subs", Attr::Subs(subs)).values()
    };
    let t = i32s(&[2], &[7, 8]);
    assert_eq!(put(vec![Sub::At(1.into()), window(1, 2)], &t), [0.0, 0.0, 0.0, 0.0, 7.0, 8.0]);
    assert_eq!(put(vec![window(0, 2), Sub::At(0.into())], &t), [7.0, 0.0, 0.0, 8.0, 0.0, 0.0]);
    let cut = vec![Sub::At(0.into()), padded(2, 2, None, 0.0)];
    assert_eq!(put(cut, &t), [0.0, 0.0, 7.0, 0.0, 0.0, 0.0]);
    let cut = vec![Sub::At(0.into()), padded(0, 2, Some(1), 0.0)];
    assert_eq!(put(cut, &t), [7.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(put(vec![Sub::At(0.into()), padded(5, 2, None, 0.0)], &t), [0.0; 6]);
    let bad = op("window_write", &[&x, &t]).attr("subs", Attr::Subs(vec![window(0, 2)]));
    assert!(bad.error().contains("window of 2 axes"), "{}", bad.error());
    let bad = op("window_write", &[&x, &i32s(&[1, 3], &[0; 3])]);
    let bad = bad.attr("subs", Attr::Subs(vec![window(0, 2)])).error();
    assert!(bad.contains("found 2 and 1"), "{bad}");
}

#[test]
fn a_base_that_no_one_else_holds_is_written_in_place() {
    let base = f32s(&[1024], &[0.0; 1024]);
    let at = |t: &Tensor| match t.data() {
        crate::types::value::Data::F32(v) => v.as_ptr() as usize,
        _ => 0,
    };
    let before = at(&base);
    let out = write(base, &f32s(&[1], &[5.0]), &[window(3, 1)], &Env::default()).unwrap();
    assert_eq!((at(&out), out.get_f64(3)), (before, 5.0));
}

#[test]
fn joins_and_parts() {
    let (a, b) = (i32s(&[2, 1], &[1, 2]), i32s(&[2, 2], &[3, 4, 5, 6]));
    let joined = op("concat", &[&a, &b]).dims(&[1]).get();
    assert_eq!(joined.to_f64s()[..], [1.0, 3.0, 4.0, 2.0, 5.0, 6.0]);
    let parts = op("split", &[&joined]).shape("sizes", &[1, 2]).dims(&[1]).results().unwrap();
    assert!(parts[0].bit_equal(&a) && parts[1].bit_equal(&b));
    let s = op("stack", &[&a, &a]).int("dim", -1).get();
    assert_eq!((s.shape(), s.to_f64s().to_vec()), (&[2, 1, 2][..], vec![1.0, 1.0, 2.0, 2.0]));
    let r = op("repeat_interleave", &[&b]).int("repeats", 2).dims(&[1]).values();
    assert_eq!(r, [3.0, 3.0, 4.0, 4.0, 5.0, 5.0, 6.0, 6.0]);
    let none = op("repeat_interleave", &[&b]).int("repeats", 0).dims(&[0]).get();
    assert_eq!(none.shape(), [0, 2]);
}

#[test]
fn every_dtype_moves_bit_for_bit() {
    for d in DType::ALL {
        let x = Tensor::from_i64s(d, vec![2, 3], vec![0, 1, 1, 0, 0, 1]);
        let t = op("transpose", &[&x]).attr("perm", Attr::Ints(vec![1, 0])).get();
        let back = op("transpose", &[&t]).attr("perm", Attr::Ints(vec![1, 0])).get();
        assert!(back.bit_equal(&x), "{d}");
        let f = op("flip", &[&x]).dims(&[0, 1]).get();
        assert_eq!(f.bits(0), x.bits(5), "{d}");
        let c = op("concat", &[&x, &x]).dims(&[0]).get();
        assert_eq!(c.bits(6), x.bits(0), "{d}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// `transpose` puts axis `perm[i]` at i, for any permutation.
    #[test]
    fn transposes_follow_indexing(
        shape in prop::collection::vec(1usize..4, 1..5),
        shuffle in any::<u64>(),
    ) {
        let mut perm: Vec<usize> = (0..shape.len()).collect();
        let mut s = shuffle;
        for i in (1..perm.len()).rev() {
            perm.swap(i, (s % (i as u64 + 1)) as usize);
            s /= 7;
        }
        let x = noise(DType::F32, &shape, 1);
        let t = op("transpose", &[&x])
            .attr("perm", Attr::Ints(perm.iter().map(|p| *p as i64).collect()))
            .get();
        for flat in 0..t.len() {
            let mut rest = flat;
            let mut at = vec![0; shape.len()];
            for (i, n) in t.shape().iter().enumerate().rev() {
                at[perm[i]] = rest % n;
                rest /= n;
            }
            let pos = at.iter().zip(&shape).fold(0, |p, (i, n)| p * n + i);
            prop_assert_eq!(t.get_f64(flat), x.get_f64(pos));
        }
    }

    /// A write of what was read changes nothing, wherever the window lies.
    #[test]
    fn a_read_written_back_changes_nothing(start in 0i64..8, len in 0i64..8, end in 0i64..9) {
        let x = noise(DType::F32, &[7, 2], 1);
        let sub = vec![padded(start, len, Some(end), 0.0)];
        let t = slice(&x, sub.clone()).get();
        prop_assert_eq!(t.shape(), &[len as usize, 2]);
        let back = op("window_write", &[&x, &t]).attr("subs", Attr::Subs(sub)).get();
        prop_assert!(back.bit_equal(&x));
    }
}

#[test]
fn padding_as_in_pytorch() {
    // torch.nn.functional.pad(x, (1, 2, 0, 1, 2, 0), value = 9)
    let x = f32s(&[1, 2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let list = |v: &[usize]| Attr::Shape(super::run::exprs(v));
    let c = op("pad", &[&x])
        .dims(&[2, 1, 0])
        .attr("low", list(&[1, 0, 2]))
        .attr("high", list(&[2, 1, 0]))
        .num("value", 9.0);
    let mut want = vec![9.0; 54];
    want[37..40].copy_from_slice(&[0.0, 1.0, 2.0]);
    want[43..46].copy_from_slice(&[3.0, 4.0, 5.0]);
    let got = c.get();
    assert_eq!((got.shape(), &got.to_f64s()[..]), (&[3, 3, 6][..], &want[..]));
    super::domains::check(&c);
    let e = op("pad", &[&x]).dims(&[0]).attr("low", Attr::Shape(vec![(-1).into()])).error();
    assert!(e.contains("a `low` of at least 0 for axis 0, found -1"), "{e}");
    let e = op("pad", &[&x]).dims(&[0, 1]).attr("high", list(&[1, 2, 3])).error();
    assert!(e.contains("one `high` for each of 2 axes, found 3"), "{e}");
    let b = Tensor::full(DType::Bool, vec![1], 1.0);
    assert_eq!(op("pad", &[&b]).dims(&[0]).attr("high", list(&[1])).values(), [1.0, 0.0]);
}
