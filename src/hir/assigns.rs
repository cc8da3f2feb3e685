//! Which outer names a block assigns, read off the syntax.

use super::calls::root_name;
use crate::base::HashSet;
use crate::syntax::ast::{self, ExprKind, StmtKind};

pub(super) fn block_assigns(b: &ast::Block, own: &mut HashSet<String>, out: &mut Vec<String>) {
    let mut own = own.clone();
    for s in &b.stmts {
        match &s.kind {
            StmtKind::Let { pat, value, .. } => {
                expr_assigns(value, &mut own, out);
                pat_names(pat, &mut own);
            }
            StmtKind::Assign { target, value } => {
                expr_assigns(value, &mut own, out);
                if let Some(n) = root_name(target)
                    && !own.contains(n)
                {
                    out.push(n.to_string());
                }
            }
            StmtKind::Expr(e) | StmtKind::Return(e) => expr_assigns(e, &mut own, out),
            StmtKind::Launch(_) | StmtKind::Error { .. } => {}
        }
    }
    if let Some(t) = &b.tail {
        expr_assigns(t, &mut own, out);
    }
}

fn pat_names(p: &ast::Pat, out: &mut HashSet<String>) {
    match p {
        ast::Pat::Name { name, .. } => {
            out.insert(name.text.clone());
        }
        ast::Pat::Wild(_) => {}
        ast::Pat::Tuple(ps, _) => ps.iter().for_each(|p| pat_names(p, out)),
    }
}

/// The outer names that an expression assigns: inside its blocks, or as `inout` arguments.
pub(super) fn expr_assigns(e: &ast::Expr, own: &mut HashSet<String>, out: &mut Vec<String>) {
    match &e.kind {
        ExprKind::Call { func, args } => {
            expr_assigns(func, own, out);
            for a in args {
                if a.inout
                    && let Some(n) = root_name(&a.value)
                    && !own.contains(n)
                {
                    out.push(n.to_string());
                }
                expr_assigns(&a.value, own, out);
            }
        }
        ExprKind::List(v) | ExprKind::Tuple(v) => v.iter().for_each(|x| expr_assigns(x, own, out)),
        ExprKind::Paren(x)
        | ExprKind::Unary { operand: x, .. }
        | ExprKind::Field { base: x, .. } => {
            expr_assigns(x, own, out);
        }
        ExprKind::Index { base, subs } => {
            expr_assigns(base, own, out);
            subs.iter().for_each(|x| expr_assigns(x, own, out));
        }
        ExprKind::Binary { lhs, rhs, .. } => {
            expr_assigns(lhs, own, out);
            expr_assigns(rhs, own, out);
        }
        ExprKind::For { var, body, .. } => {
            let mut own = own.clone();
            own.insert(var.text.clone());
            block_assigns(body, &mut own, out);
        }
        ExprKind::Mesh { body, .. } | ExprKind::On { body, .. } | ExprKind::Block(body) => {
            block_assigns(body, own, out);
        }
        ExprKind::Match { arms, .. } => {
            arms.iter().for_each(|a| expr_assigns(&a.body, own, out));
        }
        _ => {}
    }
}
