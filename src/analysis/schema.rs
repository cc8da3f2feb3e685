//! The JSON Schema of what `analyze --json` prints, from the records themselves.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::arms::Arms;
use super::crossings::Crossings;
use super::diff::Diff;
use super::poly::Polynomials;
use super::record::Analysis;
use super::sweep::Sweep;

/// One document of `analyze --json`; its `schema` says which, with a version.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Document {
    /// One function at one size.
    Analysis(Box<Analysis>),
    /// Functions at sizes.
    Sweep(Sweep),
    /// `--against` at one size.
    Diff(Diff),
    /// `--crossings` of two functions.
    Crossings(Crossings),
    /// `--crossings` of the arms of one.
    Arms(Arms),
    /// `--poly`.
    Polynomials(Polynomials),
}

/// A 128-bit count is a number where it fits 64 bits, otherwise a string of its digits.
#[derive(Clone)]
struct Big;

impl Transform for Big {
    fn transform(&mut self, schema: &mut Schema) {
        if schema.get("format") == Some(&json!("uint128")) {
            for key in ["format", "type", "minimum"] {
                schema.remove(key);
            }
            schema.insert("anyOf".into(), big());
        }
        transform_subschemas(self, schema);
    }
}

fn big() -> Value {
    json!([
        { "type": "integer", "minimum": 0 },
        { "type": "string", "pattern": "^[0-9]+$" }
    ])
}

/// The schema of [`super::record::Ratio`].
pub(super) fn ratio() -> Schema {
    schemars::json_schema!({
        "description": "An integer, or `num/den` in lowest terms.",
        "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "string", "pattern": "^[0-9]+/[0-9]+$" }
        ]
    })
}

/// The whole schema, as text.
pub fn schema() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(Big);
    let schema = settings.into_generator().into_root_schema_for::<Document>();
    serde_json::to_string_pretty(&schema).map_or_else(|e| e.to_string(), |s| s + "\n")
}
