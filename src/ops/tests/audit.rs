//! What holds for every op of the registry.

use crate::ops::registry::{OPS, find};
use crate::ops::{DefaultValue, ParamKind};

#[test]
fn names_are_unique_and_found() {
    let mut names: Vec<&str> = OPS.iter().map(|o| o.name()).collect();
    assert!(names.iter().all(|n| find(n).is_some()));
    names.sort_unstable();
    assert!(names.windows(2).all(|w| w[0] != w[1]), "{names:?}");
}

#[test]
fn documents_are_complete() {
    for op in OPS {
        let d = op.doc();
        assert!(d.summary.len() > 10 && d.details.len() > 10, "{}", op.name());
        assert!(d.summary.ends_with('.') && !d.summary.contains('\n'), "{}", op.name());
        assert!(d.examples.len() >= 2, "{}", op.name());
        assert!(!op.group().is_empty());
    }
}

#[test]
fn examples_have_as_many_elements_as_their_types() {
    for op in OPS {
        for e in op.doc().examples {
            let all = e.inputs.iter().map(|(_, t, v)| (*t, *v)).chain([e.result]);
            for (t, v) in all {
                let (_, shape) = super::examples::parse_type(t);
                assert_eq!(shape.iter().product::<usize>(), v.len(), "{}", e.code);
            }
        }
    }
}

#[test]
fn signatures_are_well_formed() {
    for op in OPS {
        let params = op.params();
        for (i, p) in params.iter().enumerate() {
            // an operand that may be left out is given by name, as attributes are
            let tensor = matches!(p.kind, ParamKind::Tensor | ParamKind::Tensors);
            assert!(!tensor || p.positional, "`{}` of `{}`", p.name, op.name());
            let optional = p.kind == ParamKind::OptTensor;
            assert!(!optional || (!p.positional && p.default == DefaultValue::Absent));
            assert!(
                !p.positional || p.default == DefaultValue::Required,
                "`{}` of `{}`",
                p.name,
                op.name()
            );
            assert!(params[..i].iter().all(|q| q.name != p.name), "`{}`", op.name());
            // a positional parameter after one by name could not be told apart
            assert!(!p.positional || params[..i].iter().all(|q| q.positional), "`{}`", op.name());
        }
    }
}
