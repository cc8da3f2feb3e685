//! The part of Python's pickle that a file of tensors uses, read as data.
//!
//! In: a pickle's bytes. Out: a tree of tuples, lists, dicts and references to tensors. Nothing
//! is imported or called: a global is a name, and the few names that `torch.save` writes are
//! understood here; any other is an error. Objects lie in tables and refer to each other by
//! index, so that neither depth nor a cycle can overflow the stack, and each opcode makes at
//! most one object.

use super::error::{ReadError, brief};
use std::collections::HashMap;

/// A pickle longer than this is refused; the pickles of the largest models have a few MB.
const MAX_BYTES: usize = 64 << 20;

#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    None,
    Bool,
    Int(i64),
    /// A float or a byte string, which no tensor's description needs.
    Opaque,
    Str(usize),
    Tuple(usize),
    List(usize),
    Dict(usize),
    Global(Global),
    Storage(usize),
    Tensor(usize),
}

/// The globals that are understood.
#[derive(Clone, Copy, Debug)]
pub(super) enum Global {
    OrderedDict,
    RebuildV2,
    RebuildV3,
    Parameter,
    /// A storage's class, by what `torch.NAMEStorage` or `torch.dtype` states.
    Elem(&'static Elem),
    Untyped,
}

/// An element type of PyTorch's.
#[derive(Debug)]
pub(super) struct Elem {
    pub storage: &'static str,
    pub dtype: &'static str,
    /// Bytes of one element.
    pub size: usize,
}

const fn elem(storage: &'static str, dtype: &'static str, size: usize) -> Elem {
    Elem { storage, dtype, size }
}

/// Those with a storage class of their own, then those that came later and have none.
static ELEMS: [Elem; 22] = [
    elem("DoubleStorage", "float64", 8),
    elem("FloatStorage", "float32", 4),
    elem("HalfStorage", "float16", 2),
    elem("BFloat16Storage", "bfloat16", 2),
    elem("LongStorage", "int64", 8),
    elem("IntStorage", "int32", 4),
    elem("ShortStorage", "int16", 2),
    elem("CharStorage", "int8", 1),
    elem("ByteStorage", "uint8", 1),
    elem("BoolStorage", "bool", 1),
    elem("ComplexFloatStorage", "complex64", 8),
    elem("ComplexDoubleStorage", "complex128", 16),
    elem("", "float8_e4m3fn", 1),
    elem("", "float8_e5m2", 1),
    elem("", "float8_e8m0fnu", 1),
    elem("", "float4_e2m1fn_x2", 1),
    elem("", "uint64", 8),
    elem("", "uint32", 4),
    elem("", "uint16", 2),
    elem("", "float8_e4m3fnuz", 1),
    elem("", "float8_e5m2fnuz", 1),
    elem("", "complex32", 4),
];

#[derive(Debug)]
pub(super) struct Storage<'a> {
    /// `None` for untyped storages, whose count is of bytes.
    pub elem: Option<&'static Elem>,
    pub key: &'a str,
    pub count: usize,
}

#[derive(Debug)]
pub(super) struct TensorRef {
    pub storage: usize,
    pub elem: &'static Elem,
    pub offset: usize,
    /// Tuples of extents and of strides.
    pub shape: usize,
    pub strides: usize,
}

#[derive(Default)]
pub(super) struct Pickle<'a> {
    pub strings: Vec<&'a str>,
    pub tuples: Vec<Vec<Value>>,
    pub lists: Vec<Vec<Value>>,
    pub dicts: Vec<Vec<(Value, Value)>>,
    pub storages: Vec<Storage<'a>>,
    pub tensors: Vec<TensorRef>,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
}

fn wrong<T>(what: impl Into<String>) -> Result<T, ReadError> {
    Err(ReadError::new(what))
}

/// The bytes that are still to be read.
struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], ReadError> {
        let rest = self.all.get(self.at..).unwrap_or_default();
        match rest.split_at_checked(n) {
            Some((taken, _)) => {
                self.at += n;
                Ok(taken)
            }
            None => wrong(format!("expected {n} more bytes of the pickle, found {}", rest.len())),
        }
    }

    /// A little-endian number of at most 8 bytes.
    fn number(&mut self, n: usize) -> Result<u64, ReadError> {
        Ok(self.take(n)?.iter().rev().fold(0, |x, &b| x << 8 | b as u64))
    }

    fn length(&mut self, n: usize) -> Result<usize, ReadError> {
        Ok(usize::try_from(self.number(n)?).unwrap_or(usize::MAX))
    }

    fn text(&mut self, n: usize) -> Result<&'a str, ReadError> {
        std::str::from_utf8(self.take(n)?)
            .or_else(|_| wrong("expected a string in UTF-8, found other bytes"))
    }

    fn line(&mut self) -> Result<&'a str, ReadError> {
        let rest = self.all.get(self.at..).unwrap_or_default();
        let Some(n) = rest.iter().position(|&b| b == b'\n') else {
            return wrong("expected a line of the pickle, found its end");
        };
        let line = self.text(n)?;
        self.at += 1;
        Ok(line)
    }
}

impl<'a> Pickle<'a> {
    /// Reads a pickle; the result is the value it leaves.
    pub(super) fn read(bytes: &'a [u8]) -> Result<(Pickle<'a>, Value), ReadError> {
        if bytes.len() > MAX_BYTES {
            let found = bytes.len();
            return wrong(format!("expected at most {MAX_BYTES} bytes of pickle, found {found}"));
        }
        let mut out = Pickle::default();
        let mut bytes = Bytes { all: bytes, at: 0 };
        loop {
            let at = bytes.at;
            match out.step(&mut bytes) {
                Ok(None) => {}
                Ok(Some(value)) => return Ok((out, value)),
                Err(e) => return Err(e.at(at)),
            }
        }
    }

    fn step(&mut self, bytes: &mut Bytes<'a>) -> Result<Option<Value>, ReadError> {
        let code = bytes.number(1)? as u8;
        let value = match code {
            // PROTO, FRAME
            0x80 => {
                let protocol = bytes.number(1)?;
                if !(2..=5).contains(&protocol) {
                    return wrong(format!("expected pickle protocol 2 to 5, found {protocol}"));
                }
                return Ok(None);
            }
            0x95 => {
                bytes.take(8)?;
                return Ok(None);
            }
            b'.' => return self.pop().map(Some),
            b'(' => {
                self.marks.push(self.stack.len());
                return Ok(None);
            }
            b'0' => {
                self.pop()?;
                return Ok(None);
            }
            b'1' => {
                self.pop_mark()?;
                return Ok(None);
            }
            b'2' => {
                let top = self.pop()?;
                self.stack.push(top);
                top
            }
            b'N' => Value::None,
            0x88 | 0x89 => Value::Bool,
            b'J' => Value::Int(bytes.number(4)? as u32 as i32 as i64),
            b'K' => Value::Int(bytes.number(1)? as i64),
            b'M' => Value::Int(bytes.number(2)? as i64),
            // LONG1: two's complement of any length
            0x8a => {
                let n = bytes.length(1)?;
                if n > 8 {
                    return wrong(format!("expected an integer of 8 bytes, found {n}"));
                }
                let raw = bytes.number(n)?;
                let unused = 64 - 8 * n as u32;
                Value::Int(if n == 0 { 0 } else { (raw << unused) as i64 >> unused })
            }
            b'G' => {
                bytes.take(8)?;
                Value::Opaque
            }
            b'X' | 0x8c | 0x8d => {
                let n = bytes.length(match code {
                    b'X' => 4,
                    0x8c => 1,
                    _ => 8,
                })?;
                let text = bytes.text(n)?;
                self.string(text)
            }
            // Byte strings
            b'B' | b'T' | b'C' | b'U' | 0x8e => {
                let n = bytes.length(match code {
                    b'B' | b'T' => 4,
                    b'C' | b'U' => 1,
                    _ => 8,
                })?;
                bytes.take(n)?;
                Value::Opaque
            }
            b')' => self.tuple(Vec::new()),
            0x85..=0x87 => {
                let at = self.stack.len().checked_sub((code - 0x84) as usize);
                let Some(at) = at.filter(|&at| at >= self.floor()) else {
                    return self.underflow();
                };
                let items = self.stack.split_off(at);
                self.tuple(items)
            }
            b't' => {
                let items = self.pop_mark()?;
                self.tuple(items)
            }
            b']' => self.list(Vec::new()),
            b'l' => {
                let items = self.pop_mark()?;
                self.list(items)
            }
            b'a' => {
                let item = self.pop()?;
                return self.extend_list(vec![item]);
            }
            b'e' => {
                let items = self.pop_mark()?;
                return self.extend_list(items);
            }
            b'}' => self.dict(Vec::new()),
            b'd' => {
                let items = self.pop_mark()?;
                let pairs = pairs(&items)?;
                self.dict(pairs)
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                return self.extend_dict(&[key, value]);
            }
            b'u' => {
                let items = self.pop_mark()?;
                return self.extend_dict(&items);
            }
            // BINPUT, LONG_BINPUT, MEMOIZE
            b'q' | b'r' | 0x94 => {
                let index = match code {
                    b'q' => bytes.number(1)? as u32,
                    b'r' => bytes.number(4)? as u32,
                    _ => self.memo.len() as u32,
                };
                let top = self.pop()?;
                self.memo.insert(index, top);
                top
            }
            b'h' | b'j' => {
                let index = bytes.number(if code == b'h' { 1 } else { 4 })? as u32;
                match self.memo.get(&index) {
                    Some(&value) => value,
                    None => return wrong(format!("expected memo {index}, found none")),
                }
            }
            b'c' => {
                let (module, name) = (bytes.line()?, bytes.line()?);
                global(module, name)?
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (self.text(module), self.text(name)) {
                    (Some(module), Some(name)) => global(module, name)?,
                    _ => return wrong("expected a global's module and name, found no strings"),
                }
            }
            b'Q' => {
                let id = self.pop()?;
                self.persistent(id)?
            }
            b'R' => {
                let (arguments, function) = (self.pop()?, self.pop()?);
                self.call(function, arguments)?
            }
            // BUILD: an OrderedDict's own attributes (`_metadata`) say nothing of its items.
            b'b' => {
                self.pop()?;
                match self.pop()? {
                    dict @ Value::Dict(_) => dict,
                    other => {
                        let what = self.kind(other);
                        return wrong(format!("expected state only of a dict, found {what}'s"));
                    }
                }
            }
            _ => return wrong(format!("opcode {code:#04x} is not one a file of tensors needs")),
        };
        self.stack.push(value);
        Ok(None)
    }

    /// Values below the last mark are not to be popped one by one.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn underflow<T>(&self) -> Result<T, ReadError> {
        wrong("expected a value on the pickle's stack, found none")
    }

    fn pop(&mut self) -> Result<Value, ReadError> {
        if self.stack.len() <= self.floor() {
            return self.underflow();
        }
        self.stack.pop().map_or_else(|| self.underflow(), Ok)
    }

    fn pop_mark(&mut self) -> Result<Vec<Value>, ReadError> {
        match self.marks.pop() {
            Some(mark) if mark <= self.stack.len() => Ok(self.stack.split_off(mark)),
            _ => wrong("expected a mark on the pickle's stack, found none"),
        }
    }

    fn string(&mut self, text: &'a str) -> Value {
        self.strings.push(text);
        Value::Str(self.strings.len() - 1)
    }

    fn tuple(&mut self, items: Vec<Value>) -> Value {
        self.tuples.push(items);
        Value::Tuple(self.tuples.len() - 1)
    }

    fn list(&mut self, items: Vec<Value>) -> Value {
        self.lists.push(items);
        Value::List(self.lists.len() - 1)
    }

    fn dict(&mut self, items: Vec<(Value, Value)>) -> Value {
        self.dicts.push(items);
        Value::Dict(self.dicts.len() - 1)
    }

    fn extend_list(&mut self, items: Vec<Value>) -> Result<Option<Value>, ReadError> {
        let top = self.pop()?;
        self.stack.push(top);
        match top {
            Value::List(i) => {
                if let Some(list) = self.lists.get_mut(i) {
                    list.extend(items);
                }
                Ok(None)
            }
            other => wrong(format!("expected a list to append to, found {}", self.kind(other))),
        }
    }

    fn extend_dict(&mut self, items: &[Value]) -> Result<Option<Value>, ReadError> {
        let items = pairs(items)?;
        let top = self.pop()?;
        self.stack.push(top);
        match top {
            Value::Dict(i) => {
                if let Some(dict) = self.dicts.get_mut(i) {
                    dict.extend(items);
                }
                Ok(None)
            }
            other => wrong(format!("expected a dict to add to, found {}", self.kind(other))),
        }
    }

    pub(super) fn text(&self, value: Value) -> Option<&'a str> {
        match value {
            Value::Str(i) => self.strings.get(i).copied(),
            _ => None,
        }
    }

    /// The items of a tuple or a list.
    pub(super) fn items(&self, value: Value) -> Option<&[Value]> {
        match value {
            Value::Tuple(i) => self.tuples.get(i).map(Vec::as_slice),
            Value::List(i) => self.lists.get(i).map(Vec::as_slice),
            _ => None,
        }
    }

    fn kind(&self, value: Value) -> &'static str {
        match value {
            Value::None => "none",
            Value::Bool => "a bool",
            Value::Int(_) => "an int",
            Value::Opaque => "a float or bytes",
            Value::Str(_) => "a string",
            Value::Tuple(_) => "a tuple",
            Value::List(_) => "a list",
            Value::Dict(_) => "a dict",
            Value::Global(_) => "a global",
            Value::Storage(_) => "a storage",
            Value::Tensor(_) => "a tensor",
        }
    }

    /// A storage: `('storage', class, key, location, count)`.
    fn persistent(&mut self, id: Value) -> Result<Value, ReadError> {
        let (elem, key, count) = match self.items(id) {
            Some(&[tag, Value::Global(class), key, _, Value::Int(count)])
                if self.text(tag) == Some("storage") =>
            {
                let elem = match class {
                    Global::Elem(elem) => Some(elem),
                    Global::Untyped => None,
                    _ => return wrong("expected a storage's class, found another global"),
                };
                (elem, self.text(key), usize::try_from(count).ok())
            }
            _ => return wrong("expected a storage's description, found another reference"),
        };
        let (Some(key), Some(count)) = (key, count) else {
            return wrong("expected a storage's key and size, found others");
        };
        self.storages.push(Storage { elem, key, count });
        Ok(Value::Storage(self.storages.len() - 1))
    }

    /// What a call of one of the known globals makes.
    fn call(&mut self, function: Value, arguments: Value) -> Result<Value, ReadError> {
        let Value::Global(function) = function else {
            return wrong(format!("expected a global to call, found {}", self.kind(function)));
        };
        let Some(arguments) = self.items(arguments) else {
            return wrong(format!("expected a tuple of arguments, found {}", self.kind(arguments)));
        };
        match (function, arguments) {
            (Global::OrderedDict, []) => Ok(self.dict(Vec::new())),
            (Global::OrderedDict, &[list]) => {
                let pair = |&v: &Value| match self.items(v) {
                    Some(&[key, value]) => Some((key, value)),
                    _ => None,
                };
                let items: Option<Vec<_>> =
                    self.items(list).and_then(|items| items.iter().map(pair).collect());
                match items {
                    Some(items) => Ok(self.dict(items)),
                    None => wrong("expected a list of pairs for an OrderedDict, found another"),
                }
            }
            (Global::Parameter, &[tensor @ Value::Tensor(_), ..]) => Ok(tensor),
            (
                Global::RebuildV2,
                &[Value::Storage(s), Value::Int(o), Value::Tuple(shape), Value::Tuple(strides), ..],
            ) => match self.storages.get(s).and_then(|s| s.elem) {
                Some(elem) => self.tensor(s, elem, o, shape, strides),
                None => wrong("expected a typed storage for a tensor, found an untyped one"),
            },
            (
                Global::RebuildV3,
                &[
                    Value::Storage(s),
                    Value::Int(o),
                    Value::Tuple(shape),
                    Value::Tuple(strides),
                    _,
                    _,
                    Value::Global(Global::Elem(elem)),
                    ..,
                ],
            ) => self.tensor(s, elem, o, shape, strides),
            _ => wrong(format!("the arguments are not those of {function:?}")),
        }
    }

    fn tensor(
        &mut self,
        storage: usize,
        elem: &'static Elem,
        offset: i64,
        shape: usize,
        strides: usize,
    ) -> Result<Value, ReadError> {
        let Ok(offset) = usize::try_from(offset) else {
            return wrong(format!("expected an offset into a storage, found {offset}"));
        };
        self.tensors.push(TensorRef { storage, elem, offset, shape, strides });
        Ok(Value::Tensor(self.tensors.len() - 1))
    }
}

fn pairs(items: &[Value]) -> Result<Vec<(Value, Value)>, ReadError> {
    let (pairs, rest) = items.as_chunks::<2>();
    if !rest.is_empty() {
        return wrong(format!("expected keys and values, found {} items", items.len()));
    }
    Ok(pairs.iter().map(|&[key, value]| (key, value)).collect())
}

fn global(module: &str, name: &str) -> Result<Value, ReadError> {
    let known = match (module, name) {
        ("collections", "OrderedDict") => Some(Global::OrderedDict),
        ("torch._utils", "_rebuild_tensor_v2" | "_rebuild_tensor") => Some(Global::RebuildV2),
        ("torch._utils", "_rebuild_tensor_v3") => Some(Global::RebuildV3),
        ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => {
            Some(Global::Parameter)
        }
        ("torch.storage" | "torch", "UntypedStorage") => Some(Global::Untyped),
        ("torch" | "torch.storage", _) if name.ends_with("Storage") => {
            ELEMS.iter().find(|e| e.storage == name).map(Global::Elem)
        }
        ("torch", _) => ELEMS.iter().find(|e| e.dtype == name).map(Global::Elem),
        _ => None,
    };
    match known {
        Some(known) => Ok(Value::Global(known)),
        None => {
            let (module, name) = (brief(module), brief(name));
            wrong(format!(
                "global `{module}.{name}` is not allowed: only tensors, tuples, lists and dicts \
                 are read"
            ))
        }
    }
}
