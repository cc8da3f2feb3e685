//! One greedy step of a model of the size of Qwen3-1.7B on random weights, 28 layers, 1,024 tokens
//! in the cache: `cargo bench --bench step [-- FOLDER]`.
//!
//! Writes a checkpoint of 3.4 GB with the published names to the folder (the system's temporary
//! one by default), maps it, runs `tests/samples/qwen3_1_7b.tf` on it, and prints the time of each
//! step and the most memory that the process ever held, mapped weights included.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use tilefoundry::eval::{Options, evaluate, shape_of};
use tilefoundry::graph::ParamKind;
use tilefoundry::session::{MemorySources, Selection, Session, Targets};
use tilefoundry::tensorio::Checkpoint;
use tilefoundry::types::dim::Env;
use tilefoundry::types::value::Tensor;

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CONTEXT: i64 = 1024;
const STEPS: usize = 5;

fn main() {
    let folder = std::env::args().skip(1).find(|a| a != "--bench");
    let folder = folder.map_or_else(std::env::temp_dir, Into::into);
    let file = folder.join("tilefoundry-step.safetensors");
    let mut sources =
        MemorySources::one("qwen3.tf", include_str!("../tests/samples/qwen3_1_7b.tf"));
    let config = include_bytes!("../tests/samples/qwen3_1_7b.json").to_vec();
    sources.0.insert("qwen3_1_7b.json".into(), config);
    let consts = [("MAX".to_string(), CONTEXT.to_string())];
    let session = Session::open(&sources, "qwen3.tf", &consts, Targets::default());
    let root =
        session.select(&Selection::parse("qwen3.tf:Qwen3.step")).expect("the sample has a step");
    let compiled = session.compile(root);
    let Some(graph) = compiled.graph.as_ref() else { panic!("{:?}", session.diagnostics_of(root)) };
    let mut env = Env::default();
    graph.dims.iter().for_each(|d| env.set(*d, CONTEXT));
    let shape = |v| shape_of(graph, v, &env).expect("sizes are stated");

    let mut wanted: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for p in &graph.params {
        if let ParamKind::Weight { key: Some(key) } = &p.kind {
            let all = shape(p.value);
            let lead = key.matches("{}").count();
            for i in 0..all[..lead].iter().product() {
                wanted.insert(key.replacen("{}", &i.to_string(), 1), all[lead..].to_vec());
            }
        }
    }
    let bytes = write(&file, &wanted).expect("there is room for the checkpoint");

    let start = Instant::now();
    let checkpoint = Checkpoint::open(&file).expect("it was just written");
    let one = |name: &str| checkpoint.get(name).expect("it reads").expect("it is there");
    let inputs: Vec<Tensor> = graph
        .params
        .iter()
        .map(|p| match &p.kind {
            ParamKind::Weight { key: Some(key) } => match key.matches("{}").count() {
                0 => one(key),
                lead => {
                    let lead = &shape(p.value)[..lead];
                    let names = (0..lead.iter().product()).map(|i: usize| i.to_string());
                    let parts = names.map(|i| one(&key.replacen("{}", &i, 1))).collect();
                    Tensor::stacked(lead, parts).expect("layers are alike")
                }
            },
            _ => Tensor::full(graph.ty(p.value).dtype, shape(p.value), 1.0),
        })
        .collect();
    println!("weights {:.3} GB, bound in {:.1} ms", gb(bytes), ms(start));
    for i in 0..STEPS {
        let start = Instant::now();
        let out = evaluate(graph, &env, &inputs, &Options::default()).expect("it runs");
        println!("step {i}: {:.1} ms, token {}", ms(start), out.outputs[0].get_i64(0));
    }
    if let Some(peak) = peak() {
        let over = 100.0 * (peak as f64 / bytes as f64 - 1.0);
        println!("peak memory {:.3} GB, {over:.1}% more than the weights", gb(peak));
    }
    let _ = std::fs::remove_file(&file);
}

/// A checkpoint of bf16 noise, the norms' weights near 1.
fn write(file: &Path, wanted: &BTreeMap<String, Vec<usize>>) -> std::io::Result<u64> {
    let mut header = serde_json::Map::new();
    let mut at = 0u64;
    for (name, shape) in wanted {
        let size = 2 * shape.iter().product::<usize>() as u64;
        let entry = serde_json::json!({
            "dtype": "BF16", "shape": shape, "data_offsets": [at, at + size],
        });
        header.insert(name.clone(), entry);
        at += size;
    }
    let mut header = serde_json::Value::Object(header).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut out = BufWriter::new(std::fs::File::create(file)?);
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    let mut seed = 1u64;
    let mut block = vec![];
    for shape in wanted.values() {
        let matrix = shape.len() == 2;
        let (middle, scale) =
            if matrix { (0.0, 1.7 / (shape[1] as f64).sqrt()) } else { (1.0, 0.2) };
        for _ in 0..shape.iter().product::<usize>() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
            let x = ((seed >> 40) as f64 / (1u64 << 23) as f64 - 1.0) * scale + middle;
            // the upper half of an f32 is a bf16, cut off
            block.extend(((x as f32).to_bits() >> 16).to_le_bytes().into_iter().take(2));
            if block.len() >= 1 << 20 {
                out.write_all(&block)?;
                block.clear();
            }
        }
        out.write_all(&block)?;
        block.clear();
    }
    out.flush()?;
    Ok(at)
}

/// The most memory that this process held; only Linux says.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}

fn gb(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

fn ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}
