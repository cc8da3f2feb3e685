//! The parser, its recovery, and the formatter, over the sample programs and small cases.

use std::path::Path;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use tilefoundry::base::{FileId, LineIndex};
use tilefoundry::diag::{Code, Diagnostic, Level};
use tilefoundry::syntax::ast::*;
use tilefoundry::syntax::dump::{dump, dump_plain};
use tilefoundry::syntax::{format, format_text, parse, parse_expr, parse_strict, token};

#[path = "../fuzz/parser.rs"]
mod fuzz;

const FILE: FileId = FileId(0);

/// Name and text of every sample program.
fn samples() -> Vec<(String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
        .into_iter()
        .filter(|p| p.extension().is_some_and(|e| e == "tf"))
        .map(|p| {
            (p.file_name().unwrap().to_string_lossy().into(), std::fs::read_to_string(&p).unwrap())
        })
        .collect()
}

/// Line (from 1) and message of each diagnostic.
fn lines(text: &str, diags: &[Diagnostic]) -> Vec<(u32, String)> {
    let index = LineIndex::new(text);
    diags
        .iter()
        .map(|d| (index.line_col(d.span().unwrap().start).0 + 1, d.message.clone()))
        .collect()
}

/// The lines with an error, and the ones that say so with a comment `// error`.
fn check_lines(text: &str) -> Vec<(u32, String)> {
    let found = lines(text, &parse(FILE, text).diags);
    let expected: Vec<u32> =
        (1..).zip(text.lines()).filter(|(_, l)| l.contains("// error")).map(|(n, _)| n).collect();
    assert_eq!(found.iter().map(|f| f.0).collect::<Vec<_>>(), expected, "{found:#?}\n{text}");
    found
}

/// Names of a file's items, those in modules and those that recovery kept included.
fn item_names(items: &[Item]) -> Vec<String> {
    let mut out = vec![];
    for i in items {
        match &i.kind {
            ItemKind::Module { name, items } | ItemKind::Twin { name, items, .. } => {
                out.push(name.text.clone());
                out.extend(item_names(items));
            }
            ItemKind::Func(f) => out.push(f.name.text.clone()),
            ItemKind::Const { name, .. }
            | ItemKind::Weight { name, .. }
            | ItemKind::Dim { name, .. }
            | ItemKind::Child { name, .. }
            | ItemKind::Prepare { name, .. }
            | ItemKind::ExternKernel { name, .. }
            | ItemKind::Config { name, .. } => out.push(name.text.clone()),
            ItemKind::Error { names } => out.extend(names.iter().map(|n| n.text.clone())),
            _ => {}
        }
    }
    out
}

/// The tree of an expression on one line: `(+ a (* b c))`.
fn shape(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Int(n) => n.to_string(),
        ExprKind::Float(x) => format!("{x:?}"),
        ExprKind::Path(p) => p.segs.iter().map(|s| s.text.clone()).collect::<Vec<_>>().join("::"),
        ExprKind::Paren(e) => format!("[{}]", shape(e)),
        ExprKind::Unary { op: UnaryOp::Neg, operand } => format!("(neg {})", shape(operand)),
        ExprKind::Unary { op: UnaryOp::Not, operand } => format!("(not {})", shape(operand)),
        ExprKind::Binary { op, lhs, rhs, .. } => {
            format!("({} {} {})", op.symbol(), shape(lhs), shape(rhs))
        }
        ExprKind::Field { base, name } => format!("{}.{}", shape(base), name.text),
        ExprKind::Call { func, args } => {
            let args: Vec<String> = args.iter().map(|a| shape(&a.value)).collect();
            format!("{}({})", shape(func), args.join(" "))
        }
        ExprKind::Index { base, subs } => {
            format!("{}[{}]", shape(base), subs.iter().map(shape).collect::<Vec<_>>().join(" "))
        }
        ExprKind::Range { lo, hi, inclusive } => {
            let end = |e: &Option<Box<Expr>>| e.as_ref().map_or(String::new(), |e| shape(e));
            format!("({}{}{})", end(lo), if *inclusive { "..=" } else { ".." }, end(hi))
        }
        ExprKind::In { value, placement } => {
            format!("({} in {})", shape(value), placement.storage.name())
        }
        other => format!("{other:?}"),
    }
}

fn expr(text: &str) -> String {
    match parse_expr(FILE, text, 0) {
        Ok(e) => shape(&e),
        Err(d) => format!("error: {}", d[0].message),
    }
}

// ------------------------------------------------------------------------------- parsing

#[test]
fn samples_parse() {
    let all = samples();
    assert!(all.len() >= 13);
    for (name, text) in all {
        let parsed = parse(FILE, &text);
        assert!(parsed.diags.is_empty(), "{name}: {:#?}", lines(&text, &parsed.diags));
        assert!(parsed.file.doc.is_some() && !parsed.file.items.is_empty());
        assert!(parse_strict(FILE, &text.replace('\n', "\r\n")).is_ok(), "{name}");
        assert_eq!(
            dump_plain(&parsed.file),
            dump_plain(&parse(FILE, &format!("\u{feff}{text}")).file)
        );
    }
}

#[test]
fn precedence() {
    for (text, tree) in [
        ("a + b * c - d", "(- (+ a (* b c)) d)"),
        ("-a * b", "(* (neg a) b)"),
        ("-a.b[c](d)", "(neg a.b[c](d))"),
        ("!a && b || c == d", "(|| (&& (not a) b) (== c d))"),
        ("a / b % c * d", "(* (% (/ a b) c) d)"),
        ("f(8 @ g.row + 1)", "f((@ 8 (+ g.row 1)))"),
        ("f(f32[M] in smem)", "f((f32[M] in smem))"),
        ("f(a..b + 1, x[.., 1.., ..n, m..=k])", "f((a..(+ b 1)) x[(..) (1..) (..n) (m..=k)])"),
        ("(a + b) * c", "(* [(+ a b)] c)"),
        ("1..4", "error: expected `;`, found `..`"),
        ("x[1..4]", "x[(1..4)]"),
        ("1.5e-3 + 1e6 + 0x1f + 1_000", "(+ (+ (+ 0.0015 1000000.0) 31) 1000)"),
        ("-inf", "(neg inf)"),
        ("a < b < c", "error: comparisons do not chain"),
        ("a @ b @ c", "error: `@` does not chain"),
        ("", "error: expected an expression"),
        ("1; const b = 2", "error: expected an expression"),
    ] {
        assert_eq!(expr(text), tree, "{text}");
    }
    let e = parse_expr(FILE, "--const N=1 + x", 10).unwrap();
    assert_eq!((e.span.start, e.span.end), (10, 15));
}

#[test]
fn soft_words_are_names() {
    let words = "as child config const dim entry extern from kernel launch module out prepare pub \
                 range step target topology twin type use weight grid tile block partial swizzle";
    for w in words.split_whitespace() {
        let text = format!(
            "func {w}({w}: f32[{w}]) -> f32 {{\n    let mut {w} = sum({w}, {w} = 1);\n    \
             {w} = {w}.{w} + {w}[{w}];\n    for {w} in 0..{w} step {w} {{\n        {w}\n    }}\n    \
             {w}(inout {w})\n}}\n"
        );
        let parsed = parse(FILE, &text);
        assert!(parsed.diags.is_empty(), "{w}: {:?}", lines(&text, &parsed.diags));
        assert_eq!(format(&text, &parsed).unwrap(), text);
    }
    for w in "let mut for in match mesh on return func inout true inf f32 bool smem".split(' ') {
        assert!(parse_strict(FILE, &format!("const {w} = 1;")).is_err(), "{w}");
    }
}

#[test]
fn docs_belong_to_items() {
    let text = "//! File.\n//! More.\n\n/// One.\n///  Two.\n#[fuse]\nfunc f(x: f32) {\n    x\n}\n\n\
                module M {\n    /// W.\n    // plain\n    weight w: f32[1];\n}\n";
    let file = parse_strict(FILE, text).unwrap();
    assert_eq!(file.doc.as_deref(), Some("File.\nMore."));
    assert_eq!(file.items[0].doc.as_deref(), Some("One.\n Two."));
    let ItemKind::Module { items, .. } = &file.items[1].kind else { panic!() };
    assert_eq!(items[0].doc.as_deref(), Some("W."));

    let text = "func f(x: f32) {\n    /// lost\n    x\n}\n//! late\n/// end\n";
    let parsed = parse(FILE, text);
    assert!(!parsed.has_errors());
    assert_eq!(parsed.diags.len(), 3);
    assert!(parsed.diags.iter().all(|d| d.code == Code::MisplacedDoc && d.level == Level::Warning));
}

#[test]
fn literals_have_values() {
    let e = parse_expr(FILE, r#""a\"b\\c\nd""#, 0).unwrap();
    assert_eq!(e.kind, ExprKind::Str("a\"b\\c\nd".into()));
    assert_eq!(expr("9223372036854775807"), "9223372036854775807");
    assert_eq!(
        expr("9223372036854775808"),
        "error: `9223372036854775808` does not fit into 64 bits"
    );
    for bad in ["32x", "1.", ".5", "0xg", "1e", "\"a", "'a'", "\"\\q\"", "é", "a $ b", "1.x", "t.0"]
    {
        let text = format!("const A = {bad};\nconst B = 1;");
        let parsed = parse(FILE, &text);
        assert_eq!(parsed.diags.len(), 1, "{bad}: {:?}", lines(&text, &parsed.diags));
        assert_eq!(parsed.diags[0].code, Code::BadToken, "{bad}: {:?}", parsed.diags[0]);
        assert_eq!(item_names(&parsed.file.items), ["A", "B"], "{bad}");
    }
}

// ------------------------------------------------------------------------------- recovery

#[test]
fn independent_errors_are_all_reported() {
    let found = check_lines(
        "module M {
    target \"x\";
    weight w f32; // error
    entry func f(x: f32[4]) -> f32[4] {
        let a = x * ; // error
        let b = f(x y); // error
        let c = (x + 1; // error
        let d == 3; // error
        let mesh = 4; // error
        let e = 32x; // error
        if x { y } else { z } // error
        let g = a < b < c; // error
        let h = f(dim: 3); // error
        let ok = 1;
        x += 1; // error
        let u = x.; // error
        ok
    }
    fn foo(x: f32) { x } // error
}
func g(x) { x } // error
const B = 3;
",
    );
    assert!(found.len() >= 8);
}

#[test]
fn separators_and_braces() {
    check_lines(
        "func f(x: f32)// error
    let y = x;
    let z = y // error
    let w = x // error
    w[1] = 3;
    for i in 0..3// error
        y = i;
    }
    y
}
func k(x: f32) { x + } // error
Decode { // error
    weight w: f32;
}
module N // error
    weight w: f32;
}
const X = 3 // error
",
    );
    check_lines(
        "func g(x: f32) {
    for i in 0..3 { // error
        y = i;
}
func h(x: f32) { x }
const A = 1;
",
    );
    check_lines(
        "func g(x: f32) {
    y;
    } // error
    let z = 1;
    z
}
func h(x: f32) { x }
",
    );
}

#[test]
fn recovery_keeps_what_follows() {
    let text = "const A = ;\nmodule M {\n    weight w: ;\n    func f(x: f32) {\n        let (a, b) = ;\n        \
                let c = 1;\n        c\n    }\n    func broken(x: { x }\n    weight v: f32[1];\n}\n\
                func last(x: f32) { x }\n";
    let parsed = parse(FILE, text);
    assert_eq!(parsed.diags.len(), 4, "{:#?}", lines(text, &parsed.diags));
    assert_eq!(item_names(&parsed.file.items), ["A", "M", "w", "f", "broken", "v", "last"]);
    let ItemKind::Module { items, .. } = &parsed.file.items[1].kind else { panic!() };
    let ItemKind::Func(f) = &items[1].kind else { panic!() };
    let StmtKind::Error { names } = &f.body.stmts[0].kind else { panic!("{:?}", f.body) };
    assert_eq!(names.iter().map(|n| &n.text).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(f.body.stmts.len(), 2);
}

#[test]
fn messages_are_short_and_have_fixes() {
    let first = |text: &str| parse(FILE, text).diags.remove(0);
    let d = first("func f(x: f32) { let a = x\n    let b = 1; b }");
    assert_eq!(d.message, "expected `;` after this");
    assert_eq!(d.fix.unwrap().edits[0].1, ";");
    let d = first("func f(x: f32) { x = 3 // 2;\n x }");
    assert!(d.notes[0].contains("begins a comment"), "{d:?}");
    let d = first("const A = 1\nconst B := 2;");
    assert_eq!(d.message, "expected `;` after this");
    let d = first("const B := 2;");
    assert_eq!(d.fix.unwrap().edits[0].1, "=");
    let d = first("func f(x: f32) { f((x, 1]; x }");
    assert_eq!(d.message, "`(` is not closed before `;`");
    let d = first("func f(x: f32) { let a = b = c; a }");
    assert_eq!(d.fix.unwrap().edits[0].1, "==");
    let d = first("while");
    assert_eq!(d.code, Code::ReservedWord);
    for (_, text) in samples() {
        for (i, c) in text.char_indices().filter(|c| ";,)=".contains(c.1)).step_by(5) {
            let broken = format!("{}@{}", &text[..i], &text[i + c.len_utf8()..]);
            for d in parse(FILE, &broken).diags {
                if let Some(list) = d.message.strip_prefix("expected ") {
                    let list = list.split(", found").next().unwrap();
                    assert!(list.matches(", ").count() <= 2, "{}", d.message);
                }
            }
        }
    }
}

/// Every token of every sample deleted or doubled: a tree in any case, mostly one message, and
/// what is still correct formats to a fixpoint.
#[test]
fn mutated_samples() {
    let all = samples();
    let results: Vec<(usize, usize, usize, usize)> = all
        .par_iter()
        .flat_map(|(name, text)| {
            let names = item_names(&parse(FILE, text).file.items);
            let mut tokens = token::lex(FILE, text).tokens;
            if cfg!(debug_assertions) {
                // all of them take minutes without optimisation
                let mut n = 0;
                tokens.retain(|_| {
                    n += 1;
                    n % 7 == 0
                });
            }
            tokens
                .into_par_iter()
                .flat_map_iter(move |t| {
                    let (a, b) = (t.start as usize, t.end as usize);
                    let deleted = format!("{}{}", &text[..a], &text[b..]);
                    [deleted, format!("{} {}", &text[..b], &text[a..])]
                })
                .map(move |mutant| mutant_result(name, &mutant, &names))
                .collect::<Vec<_>>()
        })
        .collect();
    let broken = results.iter().filter(|r| r.0 > 0).count();
    let single = results.iter().filter(|r| r.0 == 1).count();
    let declared: usize = results.iter().map(|r| r.1).sum();
    let kept: usize = results.iter().map(|r| r.2).sum();
    assert!(broken > 2_000);
    assert!(single * 100 > broken * 95, "{single} of {broken} mutants gave one message");
    assert!(kept * 1000 > declared * 998, "{kept} of {declared} declarations kept");
    assert!(results.iter().all(|r| r.0 <= 10));
}

/// Errors, declared names of the original, those still there, and the length of the formatted text.
fn mutant_result(name: &str, mutant: &str, names: &[String]) -> (usize, usize, usize, usize) {
    let parsed = parse(FILE, mutant);
    let errors = parsed.diags.iter().filter(|d| d.level == Level::Error).count();
    let Some(once) = format(mutant, &parsed) else {
        assert!(errors > 0);
        let kept = item_names(&parsed.file.items);
        return (errors, names.len(), names.iter().filter(|n| kept.contains(n)).count(), 0);
    };
    assert_eq!(errors, 0);
    let again = format_text(&once).unwrap_or_else(|d| panic!("{name}: {d:?}\n{once}"));
    assert_eq!(once, again, "{name}");
    (0, names.len(), names.len(), once.len())
}

// ------------------------------------------------------------------------------- limits

/// Everything that walks a tree, on one that may be deep; returns the errors.
fn walk(text: &str) -> Vec<Diagnostic> {
    let start = Instant::now();
    let parsed = parse(FILE, text);
    // a hundred times what it takes with optimisation
    assert!(start.elapsed() < Duration::from_secs(20), "{}", &text[..60]);
    let copy = parsed.file.clone();
    assert!(copy == parsed.file);
    assert!(!format!("{copy:?}").is_empty());
    assert!(!dump(&copy, text).is_empty());
    assert_eq!(format(text, &parsed).is_none(), parsed.has_errors());
    parsed.diags
}

#[test]
fn nesting_is_limited() {
    let body =
        |e: String| format!("func f(x: f32) {{\n    let a = {e};\n    a\n}}\nconst Z = 1;\n");
    let nest = |open: &str, close: &str, n| body(format!("{}x{}", open.repeat(n), close.repeat(n)));
    let fine = [
        nest("(", ")", 150),
        nest("f(", ")", 150),
        nest("-", "", 150),
        nest("x[", "]", 150),
        nest("on p {", "}", 150),
        body(vec!["x"; 300].join(" + ")),
        body(vec!["x * f(y)"; 300].join(" + ")),
        body(format!("x{}", "[i]".repeat(400))),
    ];
    for text in fine {
        assert_eq!(walk(&text), [], "{}", &text[..60]);
    }
    let deep = [
        nest("(", ")", 10_000),
        nest("f(", ")", 10_000),
        nest("-", "", 10_000),
        nest("- ", "", 10_000),
        nest("!", "", 10_000),
        nest("x[", "]", 10_000),
        nest("on p {", "}", 10_000),
        nest("match x { 1 => ", "}", 10_000),
        nest("(a + b * ", ")", 190),
        body(vec!["x"; 100_000].join(" + ")),
        body(vec!["x"; 50_000].join(" + y * ")),
        body(format!("x{}", ".a".repeat(100_000))),
        body(format!("x{}", "()".repeat(100_000))),
        format!("func f(x: {}f32{}) {{ x }}", "(".repeat(10_000), ")".repeat(10_000)),
        format!("func f(x: f32) {{ let {}a{} = x; x }}", "(".repeat(10_000), ")".repeat(10_000)),
    ];
    for text in deep {
        let diags = walk(&text);
        assert_eq!(diags.len(), 1, "{} {diags:?}", &text[..60]);
        assert_eq!(diags[0].code, Code::TooDeep);
    }
    for text in
        ["(", "[", "{", "#[", "x[", "f(", "module A {", ") (", "x y ", "let ", "}", "if ", "-"]
    {
        for text in [text.repeat(3000), body(text.repeat(3000))] {
            assert!(!walk(&text).is_empty());
        }
    }
}

#[test]
fn long_lines() {
    let text = "func f(x: f32[4]) -> f32[4] { let a = x * x; a * 2.0 } ".repeat(5000);
    assert!(parse(FILE, &text).diags.is_empty());
    let text = text.replacen("a * 2.0", "a * ", 1);
    assert_eq!(parse(FILE, &text).diags.len(), 1);
}

// ------------------------------------------------------------------------------- formatting

/// A final `return` becomes the value, which is the one change of the tree that formatting makes.
fn without_returns(items: &mut [Item]) {
    for i in items {
        match &mut i.kind {
            ItemKind::Module { items, .. } | ItemKind::Twin { items, .. } => without_returns(items),
            ItemKind::Func(f) => {
                if let Some(Stmt { hints, kind: StmtKind::Return(e), .. }) = f.body.stmts.last() {
                    let mut e = e.clone();
                    e.hints.splice(0..0, hints.iter().cloned());
                    f.body.tail = Some(Box::new(e));
                    f.body.stmts.pop();
                }
            }
            _ => {}
        }
    }
}

#[test]
fn samples_are_nearly_formatted() {
    for (name, text) in samples() {
        let parsed = parse(FILE, &text);
        let once = format(&text, &parsed).unwrap();
        let again = parse(FILE, &once);
        assert_eq!(format(&once, &again).as_ref(), Some(&once), "{name}");
        assert_eq!(dump_plain(&again.file), dump_plain(&parsed.file), "{name}");
        assert_eq!(again.file.comments.len(), parsed.file.comments.len(), "{name}");
        let (old, new): (Vec<&str>, Vec<&str>) = (text.lines().collect(), once.lines().collect());
        let changed = new.iter().filter(|l| !old.contains(l)).count();
        assert_eq!(changed, 0, "{name}");
        fuzz::run(text.as_bytes());
    }
}

#[test]
fn layout() {
    let text = r#"

//! doc


use "a.tf" as a; // trailing
const A = 1;const B = 2;
// about f
func f<T: float, ..B, N>(x: T[..B, N], y: f32 = 1e-6) -> T { return #[atom(x)] x; }
/// docs of g
#[fuse] #[a, b(1)]
func g(
   x: f32, // first
   // own
   y: f32
   // last
) { // open
  let a = x + // inside
     y;


  let b = f(x, // one
     y); // two
  for i in 0..3 { }; // after
  match ctx { 1 => a, // arm
    2..=3 => { let z = 1; }, _ => b, }
  let t = (a,);
  let u: f32 in smem layout (128, (16, 4)):(16, (1, 2048)) = #[x] "a]b";
  let v = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa + bbbbbbbbbbbbbbbbbbbbbbbbbb * ccc + ddddddddd;
  let e = layers[i, j](aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, cccccccc);
  mesh g = a[r: 3] { x } // tail
  // dangling
}
module N {
  // only
}
module O {

  weight w: bf16[111111111111111111, 2222222222222222222] from "aaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbb";

  entry func q(x: f32) -> f32 { for i in 0..3 {} ; }
}
"#;
    let want = r#"//! doc

use "a.tf" as a; // trailing
const A = 1;
const B = 2;

// about f
func f<T: float, ..B, N>(x: T[..B, N], y: f32 = 1e-6) -> T {
    #[atom(x)]
    x
}

/// docs of g
#[fuse]
#[a, b(1)]
func g(
    x: f32, // first
    // own
    y: f32,
    // last
) { // open
    // inside
    let a = x + y;

    let b = f(
        x, // one
        y,
    ); // two
    for i in 0..3 {} // after
    match ctx {
        1 => a, // arm
        2..=3 => {
            let z = 1;
        },
        _ => b,
    }
    let t = (a,);
    let u: f32 in smem layout (128, (16, 4)):(16, (1, 2048)) = #[x] "a]b";
    let v = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
        + bbbbbbbbbbbbbbbbbbbbbbbbbb * ccc
        + ddddddddd;
    let e = layers[i, j](
        aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,
        bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,
        cccccccc,
    );
    mesh g = a[r: 3] {
        x
    } // tail
    // dangling
}

module N {
    // only
}

module O {
    weight w: bf16[111111111111111111, 2222222222222222222]
        from "aaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbb";

    entry func q(x: f32) -> f32 {
        for i in 0..3 {};
    }
}
"#;
    let parsed = parse(FILE, text);
    let once = format(text, &parsed).unwrap();
    assert_eq!(once, want);
    assert_eq!(format_text(&once).unwrap(), once);
    let mut file = parsed.file;
    without_returns(&mut file.items);
    assert_eq!(dump_plain(&parse(FILE, &once).file), dump_plain(&file));
    assert_eq!(format_text("").unwrap(), "");
    assert_eq!(format_text("// c").unwrap(), "// c\n");
    assert!(format_text("const A = ;").is_err());
    assert!(format_text("const A = 1").is_err(), "a repaired file is not formatted either");
    // without its blank the dot would begin a fraction
    let field = "const A = 64 .c;\n";
    assert_eq!(format_text(field).as_deref(), Ok(field));
}

/// A comment at every place where one can stand is kept, and formatting again changes nothing.
#[test]
fn comments_are_kept_everywhere() {
    let all = samples();
    all.par_iter().for_each(|(name, text)| {
        for t in token::lex(FILE, text).tokens.iter().step_by(11) {
            for comment in [" // c\n", "\n// c\n", "\n/// c\n\n"] {
                let text =
                    format!("{}{comment}{}", &text[..t.end as usize], &text[t.end as usize..]);
                let parsed = parse(FILE, &text);
                let once = format(&text, &parsed).unwrap_or_else(|| panic!("{name}"));
                let again = parse(FILE, &once);
                assert_eq!(again.file.comments.len(), parsed.file.comments.len(), "{once}");
                assert_eq!(format(&once, &again), Some(once.clone()), "{name}");
                assert_eq!(dump_plain(&again.file), dump_plain(&parsed.file), "{name}");
            }
        }
    });
}

#[test]
fn dump_shows_places() {
    let text = "const A = 1 + f(x);\nfunc f(x: f32[2] in smem) {\n    x\n}\n";
    let want = "file 1:1-5:1
  const A 1:1-1:20
    binary + 1:11-1:19
      int 1 1:11-1:12
      call 1:15-1:19
        name f 1:15-1:16
        name x 1:17-1:18
  func f 2:1-4:2
    param x 2:8-2:25
      tensor f32 2:11-2:25
        int 2 2:15-2:16
        placement smem 2:21-2:25
    block 2:27-4:2
      value 3:5-3:6
        name x 3:5-3:6
";
    assert_eq!(dump(&parse(FILE, text).file, text), want);
}
