//! The element types of the language.

use std::fmt;

/// An element type. Names are those of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    F64,
    F32,
    Tf32,
    F16,
    Bf16,
    F8e4m3,
    F8e5m2,
    F8e8m0,
    F4e2m1,
    I64,
    I32,
    I16,
    I8,
    U64,
    U32,
    U8,
    Bool,
}

impl DType {
    pub const ALL: [DType; 17] = [
        DType::F64,
        DType::F32,
        DType::Tf32,
        DType::F16,
        DType::Bf16,
        DType::F8e4m3,
        DType::F8e5m2,
        DType::F8e8m0,
        DType::F4e2m1,
        DType::I64,
        DType::I32,
        DType::I16,
        DType::I8,
        DType::U64,
        DType::U32,
        DType::U8,
        DType::Bool,
    ];

    pub fn name(self) -> &'static str {
        match self {
            DType::F64 => "f64",
            DType::F32 => "f32",
            DType::Tf32 => "tf32",
            DType::F16 => "f16",
            DType::Bf16 => "bf16",
            DType::F8e4m3 => "f8e4m3",
            DType::F8e5m2 => "f8e5m2",
            DType::F8e8m0 => "f8e8m0",
            DType::F4e2m1 => "f4e2m1",
            DType::I64 => "i64",
            DType::I32 => "i32",
            DType::I16 => "i16",
            DType::I8 => "i8",
            DType::U64 => "u64",
            DType::U32 => "u32",
            DType::U8 => "u8",
            DType::Bool => "bool",
        }
    }

    pub fn parse(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// The dtype that PyTorch and the configs of checkpoints call so.
    pub fn of_torch(name: &str) -> Option<DType> {
        Some(match name {
            "float64" => DType::F64,
            "float32" => DType::F32,
            "float16" => DType::F16,
            "bfloat16" => DType::Bf16,
            "float8_e4m3fn" => DType::F8e4m3,
            "float8_e5m2" => DType::F8e5m2,
            _ => return None,
        })
    }

    /// Bits that one element takes in storage.
    pub fn bits(self) -> u64 {
        match self {
            DType::F64 | DType::I64 | DType::U64 => 64,
            DType::F32 | DType::Tf32 | DType::I32 | DType::U32 => 32,
            DType::F16 | DType::Bf16 | DType::I16 => 16,
            DType::F4e2m1 => 4,
            _ => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(
            self,
            DType::F64
                | DType::F32
                | DType::Tf32
                | DType::F16
                | DType::Bf16
                | DType::F8e4m3
                | DType::F8e5m2
                | DType::F8e8m0
                | DType::F4e2m1
        )
    }

    pub fn is_int(self) -> bool {
        !self.is_float() && self != DType::Bool
    }

    pub fn is_signed(self) -> bool {
        self.is_float() || matches!(self, DType::I64 | DType::I32 | DType::I16 | DType::I8)
    }

    /// Whether an integer type, or `bool`, has a whole number among its values.
    pub fn holds(self, whole: f64) -> bool {
        let (lo, hi) = match self {
            DType::I64 => (-(2f64.powi(63)), 2f64.powi(63)),
            DType::I32 => (-(2f64.powi(31)), 2f64.powi(31) - 1.0),
            DType::I16 => (-32768.0, 32767.0),
            DType::I8 => (-128.0, 127.0),
            DType::U64 => (0.0, 2f64.powi(64)),
            DType::U32 => (0.0, 2f64.powi(32) - 1.0),
            DType::U8 => (0.0, 255.0),
            DType::Bool => (0.0, 1.0),
            _ => return true,
        };
        (lo..=hi).contains(&whole)
    }

    /// Bytes of `elements` values, rounded up to whole bytes (two f4 share one).
    pub fn bytes(self, elements: u64) -> u64 {
        (elements * self.bits()).div_ceil(8)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for d in DType::ALL {
            assert_eq!(DType::parse(d.name()), Some(d));
        }
        assert_eq!(DType::F4e2m1.bytes(3), 2);
    }
}
