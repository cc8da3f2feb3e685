//! Predicted times beside measured ones: the bounds that they are held to, and that what was
//! measured is what stands in the repository.

#[allow(dead_code)]
#[path = "accuracy/table.rs"]
mod table;

use std::path::Path;

use table::{accuracy, predictions, rows};
use tilefoundry::base::sha256;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn predictions_are_near_and_in_order() {
    let all = rows(root()).unwrap();
    assert!(all.len() >= 10, "{} rows", all.len());
    let (median, rank) = accuracy(&all);
    assert!(median <= 0.25, "median error {median}");
    assert!(rank >= 0.9, "rank correlation {rank}");
}

#[test]
fn each_row_has_the_prediction_that_was_committed() {
    let known = predictions(root()).unwrap();
    for r in rows(root()).unwrap() {
        let p = known.iter().find(|p| p.key() == r.key());
        assert_eq!(p.map(|p| p.predicted_ns), Some(r.predicted_ns), "{}", r.key());
    }
}

#[test]
fn what_was_measured_is_what_stands_here() {
    for r in rows(root()).unwrap() {
        assert!(!r.images.is_empty());
        for (image, hash) in &r.images {
            let bytes =
                std::fs::read(root().join(image)).unwrap_or_else(|e| panic!("{image}: {e}"));
            assert_eq!(sha256(&bytes), *hash, "{image} changed after it was measured");
        }
    }
}

/// Ranks and correlation against a table worked out by hand: of 1..5 with two neighbours swapped,
/// Spearman's coefficient is 1 - 6 * 2 / (5 * 24) = 0.9.
#[test]
fn the_figures_are_the_textbook_ones() {
    let row = |p: f64, m: f64| table::Row {
        twin: String::new(),
        dims: table::Dims::new(),
        consts: table::Dims::new(),
        cold: false,
        predicted_ns: p,
        measured_ns: m,
        least_ns: m,
        most_ns: m,
        device: String::new(),
        driver: 0,
        clock_khz: 0,
        memory_clock_khz: 0,
        date: String::new(),
        images: Default::default(),
    };
    let all = [row(1.0, 1.0), row(2.0, 4.0), row(3.0, 2.0), row(8.0, 8.0), row(10.0, 16.0)];
    let (median, rank) = accuracy(&all);
    // errors 0, 0.5, 0.5, 0, 0.375
    assert_eq!(median, 0.375);
    assert!((rank - 0.9).abs() < 1e-12, "{rank}");
}
