//! The header of PTX text: a scan over its tokens that goes into no instruction.

use super::{Arch, Entry, Image, ImageError, Kind, Param};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// A name, a number or a directive; a directive begins with its dot and has no other.
    Word(&'a str),
    Text,
    Punct(u8),
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The first byte of the token given last.
    last: usize,
    ahead: Option<Token<'a>>,
}

type Result<T> = std::result::Result<T, ImageError>;

/// Reads PTX.
pub(super) fn read(bytes: &[u8]) -> Result<Image> {
    let mut s = Scan { bytes, at: 0, last: 0, ahead: None };
    if !matches!(s.next(), Ok(Some(Token::Word(".version")))) {
        return Err(ImageError::Neither);
    }
    let version = s.version()?;
    let mut image = Image {
        kind: Kind::Ptx,
        version: Some(version),
        archs: vec![],
        address_size: 32,
        entries: vec![],
    };
    while let Some(t) = s.next()? {
        match t {
            Token::Word(".target") => s.targets(&mut image.archs)?,
            Token::Word(".address_size") => image.address_size = s.number()?,
            Token::Word(".entry") => {
                let e = s.entry()?;
                // a declaration has no body, and a definition follows
                image.entries.extend(e.filter(|e| image.entry(&e.name).is_none()));
            }
            Token::Punct(b'{') => drop(s.block()?),
            Token::Punct(b'}') => return Err(s.damaged("a `}` closes nothing")),
            _ => {}
        }
    }
    if image.archs.is_empty() {
        return Err(s.damaged("there is no `.target sm_..`"));
    }
    Ok(image)
}

/// A variable or parameter, as its declaration is read.
#[derive(Default)]
struct Declared<'a> {
    ty: Option<&'a str>,
    align: Option<u64>,
    /// `.v2`, `.v4`
    lanes: u64,
    elements: Option<u64>,
}

impl Declared<'_> {
    fn align(&self) -> Option<u64> {
        let own = width(self.ty?)? * self.lanes;
        Some(self.align.unwrap_or(own).max(1))
    }

    fn bytes(&self) -> Option<u64> {
        width(self.ty?)?.checked_mul(self.lanes)?.checked_mul(self.elements.unwrap_or(1))
    }
}

/// Bytes of a fundamental type.
fn width(ty: &str) -> Option<u64> {
    Some(match ty {
        ".b8" | ".u8" | ".s8" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" | ".texref" | ".samplerref" | ".surfref" => 8,
        ".b128" => 16,
        _ => return None,
    })
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'%' | b'.')
}

impl<'a> Scan<'a> {
    fn damaged(&self, what: impl Into<String>) -> ImageError {
        ImageError::Damaged(Kind::Ptx, what.into(), self.last)
    }

    fn peek_byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    /// Skips to the byte after a mark; an error where there is none.
    fn past(&mut self, mark: &[u8], what: &str) -> Result<()> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match rest.windows(mark.len()).position(|w| w == mark) {
            Some(n) => {
                self.at += n + mark.len();
                Ok(())
            }
            None => Err(self.damaged(format!("{what} is not closed"))),
        }
    }

    fn line(&mut self) {
        while self.peek_byte(0).is_some_and(|b| b != b'\n') {
            self.at += 1;
        }
    }

    /// Blanks, comments, and lines of a preprocessor.
    fn blank(&mut self) -> Result<()> {
        loop {
            self.last = self.at;
            match (self.peek_byte(0), self.peek_byte(1)) {
                (Some(b'/'), Some(b'/')) => self.line(),
                (Some(b'#'), _) => self.line(),
                (Some(b'/'), Some(b'*')) => {
                    self.at += 2;
                    self.past(b"*/", "a comment")?;
                }
                (Some(b), _) if b.is_ascii_whitespace() || b == 0 => self.at += 1,
                _ => return Ok(()),
            }
        }
    }

    fn next(&mut self) -> Result<Option<Token<'a>>> {
        if let Some(t) = self.ahead.take() {
            return Ok(Some(t));
        }
        self.blank()?;
        let Some(b) = self.peek_byte(0) else { return Ok(None) };
        let start = self.at;
        self.at += 1;
        if b == b'"' {
            // a backslash stands for itself
            self.past(b"\"", "a string")?;
            return Ok(Some(Token::Text));
        }
        if !is_word(b) {
            return Ok(Some(Token::Punct(b)));
        }
        // `.param.u64` is two directives, `st.shared.u32` one instruction
        while self.peek_byte(0).is_some_and(|n| is_word(n) && !(b == b'.' && n == b'.')) {
            self.at += 1;
        }
        let word = self.bytes.get(start..self.at).and_then(|w| std::str::from_utf8(w).ok());
        Ok(Some(Token::Word(word.unwrap_or_default())))
    }

    fn peek(&mut self) -> Result<Option<Token<'a>>> {
        if self.ahead.is_none() {
            self.ahead = self.next()?;
        }
        Ok(self.ahead)
    }

    /// The next token, which must exist.
    fn some(&mut self) -> Result<Token<'a>> {
        self.next()?.ok_or_else(|| self.damaged("it is cut off"))
    }

    fn word(&mut self, what: &str) -> Result<&'a str> {
        match self.some()? {
            Token::Word(w) => Ok(w),
            _ => Err(self.damaged(format!("expected {what}"))),
        }
    }

    fn eat(&mut self, b: u8) -> Result<bool> {
        let found = self.peek()? == Some(Token::Punct(b));
        if found {
            self.ahead = None;
        }
        Ok(found)
    }

    fn number(&mut self) -> Result<u32> {
        let w = self.word("a number")?;
        let digits = w.trim_end_matches(['u', 'U']);
        let (digits, radix) = match digits.get(..2) {
            Some("0x" | "0X") => (digits.get(2..), 16),
            Some("0b" | "0B") => (digits.get(2..), 2),
            _ if digits.len() > 1 && digits.starts_with('0') => (digits.get(1..), 8),
            _ => (Some(digits), 10),
        };
        digits
            .and_then(|d| u32::from_str_radix(d, radix).ok())
            .ok_or_else(|| self.damaged(format!("expected a number, found `{w}`")))
    }

    /// `128`, `128, 2` or `128, 2, 1`
    fn three(&mut self) -> Result<[u32; 3]> {
        let mut out = [1; 3];
        for (i, slot) in out.iter_mut().enumerate() {
            if i > 0 && !self.eat(b',')? {
                break;
            }
            *slot = self.number()?;
        }
        Ok(out)
    }

    fn version(&mut self) -> Result<(u32, u32)> {
        let w = self.word("a version")?;
        let found = w.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        found.ok_or_else(|| self.damaged(format!("expected a version, found `{w}`")))
    }

    fn targets(&mut self, archs: &mut Vec<Arch>) -> Result<()> {
        loop {
            let w = self.word("a target")?;
            if w.starts_with("sm_") {
                let arch = Arch::parse(w)
                    .ok_or_else(|| self.damaged(format!("`{w}` is no architecture")))?;
                if !archs.contains(&arch) {
                    archs.push(arch);
                }
            }
            if !self.eat(b',')? {
                return Ok(());
            }
        }
    }

    /// What follows `.entry`; none for a declaration without a body.
    fn entry(&mut self) -> Result<Option<Entry>> {
        let name = self.word("the name of an entry")?.to_string();
        let mut e = Entry { name, ..Entry::default() };
        if self.eat(b'(')? {
            self.params(&mut e)?;
        }
        loop {
            match self.some()? {
                Token::Word(".maxntid") => e.max_block = Some(self.three()?),
                Token::Word(".reqntid") => e.block = Some(self.three()?),
                Token::Word(".reqnctapercluster") => e.cluster = Some(self.three()?),
                Token::Punct(b'{') => {
                    e.shared = self.block()?;
                    return Ok(Some(e));
                }
                Token::Punct(b';') => {
                    // the end of `.pragma "..";`, or of a declaration
                    match self.peek()? {
                        Some(Token::Word(w)) if is_performance(w) => {}
                        Some(Token::Punct(b'{')) => {}
                        _ => return Ok(None),
                    }
                }
                _ => {}
            }
        }
    }

    fn params(&mut self, e: &mut Entry) -> Result<()> {
        if self.eat(b')')? {
            return Ok(());
        }
        let mut end = 0u64;
        loop {
            let (d, by) = self.declared(b",)")?;
            let (Some(bytes), Some(align)) = (d.bytes(), d.align()) else {
                let found = d.ty.unwrap_or("none");
                let i = e.params.len();
                return Err(self.damaged(format!("parameter {i} has the type {found}")));
            };
            let wide = || self.damaged("the parameters are too large");
            let offset = end.checked_next_multiple_of(align).ok_or_else(wide)?;
            end = offset.checked_add(bytes).ok_or_else(wide)?;
            let ty = match (d.ty, d.elements) {
                (Some(t), Some(n)) => Some(format!("{t}[{n}]")),
                (t, _) => t.map(String::from),
            };
            e.params.push(Param { offset, bytes, align: Some(align), ty });
            if by == b')' {
                return Ok(());
            }
        }
    }

    /// A declaration up to one of `ends`, which is given too.
    fn declared(&mut self, ends: &[u8]) -> Result<(Declared<'a>, u8)> {
        let mut d = Declared { lanes: 1, ..Declared::default() };
        let mut pointer = false;
        loop {
            match self.some()? {
                // of what is pointed to
                Token::Word(".ptr") => pointer = true,
                Token::Word(".align") => {
                    let n = u64::from(self.number()?);
                    if !pointer {
                        d.align = Some(n);
                    }
                }
                Token::Word(".v2") => d.lanes = 2,
                Token::Word(".v4") => d.lanes = 4,
                Token::Word(".param" | ".shared" | ".global" | ".const" | ".local") => {}
                Token::Word(w) if w.starts_with('.') => d.ty = Some(w),
                Token::Punct(b'[') => {
                    let n = if self.eat(b']')? { 0 } else { u64::from(self.number()?) };
                    let all = d.elements.unwrap_or(1).checked_mul(n);
                    d.elements = Some(all.ok_or_else(|| self.damaged("an array is too large"))?);
                }
                Token::Punct(b) if ends.contains(&b) => return Ok((d, b)),
                Token::Punct(b'{' | b'}' | b';' | b'(') => {
                    return Err(self.damaged("a declaration is not closed"));
                }
                _ => {}
            }
        }
    }

    /// Skips a block whose brace was read, and counts the shared memory that it declares.
    fn block(&mut self) -> Result<u64> {
        let opened = self.last;
        let (mut depth, mut shared) = (1usize, 0u64);
        let mut begins = true;
        loop {
            let Some(t) = self.next()? else {
                self.last = opened;
                return Err(self.damaged("a block is not closed"));
            };
            match t {
                Token::Punct(b'{') => depth += 1,
                Token::Punct(b'}') => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(shared);
                    }
                }
                Token::Word(".shared") if begins => shared = self.variables(shared)?,
                _ => {}
            }
            begins = matches!(t, Token::Punct(b'{' | b'}' | b';' | b':') | Token::Word(".shared"));
        }
    }

    /// Lays out `.align 4 .b8 a[16], b[4];` after the bytes before.
    fn variables(&mut self, mut end: u64) -> Result<u64> {
        let mut head: Option<(Option<&str>, Option<u64>, u64)> = None;
        loop {
            let (mut d, by) = self.declared(b",;")?;
            match head {
                Some((ty, align, lanes)) => (d.ty, d.align, d.lanes) = (ty, align, lanes),
                None => head = Some((d.ty, d.align, d.lanes)),
            }
            let (Some(bytes), Some(align)) = (d.bytes(), d.align()) else {
                return Err(self.damaged("shared memory of no known type"));
            };
            let next = end.checked_next_multiple_of(align).and_then(|e| e.checked_add(bytes));
            end = next.ok_or_else(|| self.damaged("the shared memory is too large"))?;
            if by == b';' {
                return Ok(end);
            }
        }
    }
}

/// Directives that may stand between the parameters of an entry and its body.
fn is_performance(w: &str) -> bool {
    matches!(
        w,
        ".maxntid"
            | ".reqntid"
            | ".minnctapersm"
            | ".maxnctapersm"
            | ".maxnreg"
            | ".noreturn"
            | ".pragma"
            | ".explicitcluster"
            | ".reqnctapercluster"
            | ".maxclusterrank"
            | ".blocksareclusters"
    )
}
