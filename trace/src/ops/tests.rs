//! What ops become, on inputs as profilers write them.

use kernelgauge_data::{Nanos, Point, fields};

use super::translate::point;
use super::{Distinct, Uncovered, distinct, totals};
use crate::graph::{Call, CallId, CallKind, Graph, Processor, ProcessorId, ProcessorKind};
use crate::names::Symbol;
use crate::options::ReadOptions;
use crate::recording::OpFacts;

/// An op as recorded: name, then dims, types, strides and values as JSON.
type Op<'a> = (&'a str, [&'a str; 4]);

/// A graph of calls of one thread, one after another.
fn graph(ops: &[(Op<'_>, Option<i64>)]) -> Graph {
    let mut graph = Graph::default();
    for ((name, texts), sequence) in ops {
        let [dims, types, strides, values] = texts.map(|text| graph.names.symbol(text));
        let (backend, collective, forward_thread) = (Symbol::EMPTY, None, 0);
        let facts = OpFacts { dims, types, values, strides, forward_thread, backend, collective };
        let name = graph.names.symbol(name);
        graph.calls.push(Call {
            kind: CallKind::Op,
            name,
            processor: ProcessorId(0),
            timing: None,
            parent: None,
            facts: graph.ops.row(facts),
            sequence: *sequence,
            record_function: None,
            node: None,
            step: None,
        });
    }
    graph.processors.push(Processor {
        rank: 0,
        kind: ProcessorKind::Thread { process: Symbol::EMPTY, thread: Symbol::EMPTY },
        tasks: 0..0,
        calls: 0..ops.len() as u32,
    });
    graph
}

/// The values of a point in the order of the columns of its family, or why there is none.
fn shown(point: Result<Point, Uncovered>) -> String {
    match point {
        Ok(point) => {
            let values = fields::write_point(&point).into_iter().map(|(_, value)| value);
            let values: Vec<String> = values.collect();
            format!("{} {}", point.family(), values.join(" ")).trim_end().to_owned()
        }
        Err(why) => why.to_string(),
    }
}

fn of(name: &str, dims: &str, types: &str, strides: &str, values: &str) -> String {
    let graph = graph(&[((name, [dims, types, strides, values]), None)]);
    shown(point(&graph, CallId(0)))
}

#[test]
fn products_are_m_n_k_with_the_layout_of_their_strides() {
    let two = r#"["float", "float"]"#;
    let rows = "[[64, 1], [16, 1]]";
    for (name, dims, types, strides, expected) in [
        ("aten::mm", "[[32, 64], [64, 16]]", two, rows, "gemm f32 1 32 16 64 nn"),
        // A weight that was transposed on the way.
        ("aten::mm", "[[32, 64], [64, 16]]", two, "[[64, 1], [1, 64]]", "gemm f32 1 32 16 64 nt"),
        ("aten::mm", "[[32, 64], [64, 16]]", two, "[[1, 32], [16, 1]]", "gemm f32 1 32 16 64 tn"),
        // Both transposed is no layout that is measured, and none was stated here.
        ("aten::mm", "[[32, 64], [64, 16]]", two, "[[1, 32], [1, 64]]", "gemm f32 1 32 16 64 "),
        ("aten::mm", "[[32, 64], [64, 16]]", two, "", "gemm f32 1 32 16 64 "),
        (
            "aten::addmm",
            "[[16], [32, 64], [64, 16], [], []]",
            r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"]"#,
            "[[1], [64, 1], [1, 64], [], []]",
            "gemm bf16 1 32 16 64 nt",
        ),
        (
            "aten::bmm",
            "[[8, 32, 64], [8, 64, 16]]",
            r#"["c10::Half", "c10::Half"]"#,
            "[[2048, 64, 1], [1024, 1, 64]]",
            "gemm f16 8 32 16 64 nt",
        ),
        ("aten::mv", "[[32, 64], [64]]", two, "", "gemm f32 1 32 1 64 "),
        (
            "aten::linear",
            "[[4, 8, 64], [16, 64], [16]]",
            r#"["float", "float", "float"]"#,
            "",
            "gemm f32 1 32 16 64 nt",
        ),
        ("aten::mm", "[[32, 64], [63, 16]]", two, "", "factors do not fit together"),
        ("aten::mm", "[[64], [64]]", two, "", "not a product of matrices"),
        ("aten::mm", "[]", "[]", "", "shapes are not recorded"),
    ] {
        assert_eq!(of(name, dims, types, strides, ""), expected.trim_end(), "{name} {dims}");
    }
}

#[test]
fn types_empty_and_symbolic_sizes_are_said() {
    let two = r#"["float", "float"]"#;
    for (name, dims, types, expected) in [
        ("aten::mm", r#"[["s0", 64], [64, 16]]"#, two, "needs a value for s0"),
        ("aten::relu", r#"[["s0", 64]]"#, two, "needs a value for s0"),
        ("aten::mm", "[[0, 64], [64, 16]]", two, "no elements: launches only"),
        ("aten::relu", "[[0]]", two, "no elements: launches only"),
        (
            "aten::mm",
            "[[2, 2], [2, 2]]",
            r#"["c10::complex<float>", "float"]"#,
            "no family has the element type c10::complex<float>",
        ),
        ("aten::grid_sampler_2d", "[[2, 2]]", two, "no family covers it"),
        (
            "aten::mm",
            "[[4294967296, 4294967296], [4294967296, 4294967296]]",
            two,
            "batch * m * k in bytes = 4294967296 * 4294967296 * 4 does not fit in 64 bits",
        ),
    ] {
        let found = of(name, dims, types, "", "");
        if expected.contains("64 bits") {
            assert!(found.starts_with("batch * m * k"), "{found}");
        } else {
            assert_eq!(found, expected, "{name} {dims}");
        }
    }
    // Without any statement of inputs, an op of a family lacks its shapes and another has none.
    let mut bare = graph(&[(("aten::mm", [""; 4]), None), (("aten::sort", [""; 4]), None)]);
    bare.calls.iter_mut().for_each(|call| call.facts = None);
    assert_eq!(point(&bare, CallId(0)), Err(Uncovered::NoShapes));
    assert_eq!(point(&bare, CallId(1)), Err(Uncovered::NoFamily));
}

const BAG: [&str; 4] = [
    "[[1000, 64], [640], [128], [], [], [], [], [], []]",
    r#"["float", "long int", "long int", "Scalar", "Scalar", "Scalar", "", "Scalar", "Scalar"]"#,
    "",
    "",
];

#[test]
fn embedding_bags_have_the_mean_pooling() {
    let [dims, types, ..] = BAG;
    let bag = of("aten::_embedding_bag", dims, types, "", "");
    assert_eq!(bag, "embedding forward f32 1 1000 64 128 5 uniform sgd");
    let rows = of(
        "aten::embedding",
        "[[50257, 768], [4, 512], [], [], []]",
        r#"["float", "long int", "Scalar", "Scalar", "Scalar"]"#,
        "",
        "",
    );
    assert_eq!(rows, "embedding forward f32 1 50257 768 2048 1 uniform sgd");
    let gradient = of(
        "aten::embedding_dense_backward",
        "[[4, 512, 768], [4, 512], [], [], []]",
        r#"["float", "long int", "Scalar", "Scalar", "Scalar"]"#,
        "",
        r#"["", "", "50257", "-1", "False"]"#,
    );
    assert_eq!(gradient, "embedding backward f32 1 50257 768 2048 1 uniform dense");
}

#[test]
fn the_gradient_of_a_bag_is_that_of_its_forward_op() {
    let forward = ("aten::_embedding_bag", BAG);
    let name = "autograd::engine::evaluate_function: EmbeddingBagBackward0";
    let graph =
        graph(&[(forward, Some(7)), ((name, [""; 4]), Some(7)), ((name, [""; 4]), Some(8))]);
    let bag = "embedding backward f32 1 1000 64 128 5 uniform sgd";
    assert_eq!(shown(point(&graph, CallId(1))), bag);
    // No forward op has that number.
    assert_eq!(point(&graph, CallId(2)), Err(Uncovered::NoFamily));
}

#[test]
fn fused_tables_are_read_from_their_offsets_and_total_dim() {
    // Three tables of 64 columns, 2000 rows each; batch 128; 10 indices a bag.
    let dense = of(
        "fbgemm::dense_embedding_codegen_lookup_function",
        "[[384000], [3], [4], [], [], [4], [], [3840], [385], [], [], [], []]",
        r#"["float", "long int", "int", "Scalar", "Scalar", "long int", "Scalar", "long int",
            "long int", "Scalar", "", "Scalar", "Scalar"]"#,
        "",
        r#"["", "", "", "192", "64", "", "13", "", "", "0", "", "-1", "False"]"#,
    );
    assert_eq!(dense, "embedding forward f32 3 2000 64 128 10 uniform dense");
    let split = |lookups: &str, bags: &str| {
        of(
            "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function",
            &format!(
                "[[0], [384000], [0], [0, 0], [3], [3], [4], [], [], [4], [], [{lookups}], [{bags}]]"
            ),
            r#"["float", "c10::Half", "c10::Half", "float", "int", "long int", "int", "Scalar",
                "Scalar", "long int", "Scalar", "long int", "long int"]"#,
            "",
            r#"["", "", "", "", "", "", "", "192", "64", "", "13", "", ""]"#,
        )
    };
    let bags = "embedding forward f16 3 2000 64 128 10 uniform rowwise_adagrad";
    assert_eq!(split("3840", "385"), bags);
    assert_eq!(split("0", "385"), "no elements: launches only");
    assert_eq!(split("3840", "386"), "batches differ between tables");
}

/// As [`graph`], with the last op on a thread of its own.
fn backward_after(forward: &[(Op<'_>, Option<i64>)], name: &str, number: i64) -> Graph {
    let mut ops = forward.to_vec();
    ops.push(((name, [""; 4]), Some(number)));
    let mut graph = graph(&ops);
    let last = forward.len() as u32;
    graph.processors[0].calls = 0..last;
    graph.processors.push(Processor { calls: last..last + 1, ..graph.processors[0].clone() });
    graph.calls[last as usize].processor = ProcessorId(1);
    graph
}

#[test]
fn the_gradient_of_fused_tables_is_found_by_the_ops_before_them() {
    let dense = [
        "[[384000], [3], [4], [], [], [4], [], [3840], [385], [], [], [], []]",
        r#"["float", "long int", "int", "Scalar", "Scalar", "long int", "Scalar", "long int",
            "long int", "Scalar", "", "Scalar", "Scalar"]"#,
        "",
        r#"["", "", "", "192", "64", "", "13", "", "", "0", "", "-1", "False"]"#,
    ];
    let lookup = "fbgemm::dense_embedding_codegen_lookup_function";
    // A function of C++ takes the number of the ops before it, and states none inside.
    let forward =
        [((lookup, [""; 4]), None), (("aten::zero_", [""; 4]), Some(492)), ((lookup, dense), None)];
    let of = |name: &str, number| {
        let graph = backward_after(&forward, name, number);
        shown(point(&graph, CallId(3)))
    };
    let name = "torch::autograd::CppNode<SplitLookupFunction_Dense_Op>";
    assert_eq!(of(name, 492), "embedding backward f32 3 2000 64 128 10 uniform dense");
    assert_eq!(of(name, 493), "no family covers it");
    let other = "torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>";
    assert_eq!(of(other, 492), "no family covers it");
}

#[test]
fn attention_is_covered_where_it_is_causal_or_generates() {
    let name = "aten::_scaled_dot_product_flash_attention";
    let types = r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"]"#;
    let at = |length: u32, causal: &str| {
        let dims = format!("[[2, 32, {length}, 128], [2, 8, 512, 128], [2, 8, 512, 128], [], []]");
        of(name, &dims, types, "", &format!(r#"["", "", "", "0.", "{causal}"]"#))
    };
    assert_eq!(at(512, "True"), "attention context bf16 2 32 8 128 512 512 bf16 0");
    assert_eq!(at(1, "False"), "attention generation bf16 2 32 8 128 1 512 bf16 0");
    assert_eq!(at(512, "False"), "not causal: the family measures causal attention");
    let flat = of(name, "[[64, 128], [64, 128]]", r#"["float", "float"]"#, "", "");
    assert_eq!(flat, "queries and keys have other than four axes");
}

#[test]
fn memory_bound_ops_move_what_they_read_and_write() {
    let one = r#"["float"]"#;
    let two = r#"["float", "float"]"#;
    for (name, dims, types, values, expected) in [
        ("aten::add_", "[[8, 128], [8, 128]]", two, "", "memory add f32 1024 8192 4096 1"),
        // A bias that is small beside what it is added to.
        ("aten::add", "[[8, 128], [128]]", two, "", "memory scale f32 1024 4096 4096 1"),
        (
            "aten::mul",
            "[[8, 128], []]",
            r#"["float", "Scalar"]"#,
            "",
            "memory scale f32 1024 4096 4096 1",
        ),
        ("aten::relu", "[[8, 128]]", one, "", "memory relu f32 1024 4096 4096 1"),
        (
            "aten::fill_",
            "[[8, 128], []]",
            r#"["float", "Scalar"]"#,
            "",
            "memory fill f32 1024 0 4096 1",
        ),
        (
            "aten::_softmax",
            "[[8, 128], [], []]",
            one,
            r#"["", "-1", "False"]"#,
            "memory softmax f32 1024 4096 4096 8",
        ),
        (
            "aten::_softmax",
            "[[8, 128], [], []]",
            one,
            r#"["", "1", "False"]"#,
            "memory softmax f32 1024 4096 4096 8",
        ),
        (
            "aten::_softmax",
            "[[8, 128], [], []]",
            one,
            r#"["", "0", "False"]"#,
            "not along the last axis",
        ),
        // Two lists of inputs, 96 and 32 columns wide.
        (
            "aten::cat",
            "[[[8, 96], [8, 32]], []]",
            r#"["TensorList", "Scalar"]"#,
            "",
            "the element type of a list is not recorded",
        ),
        (
            "aten::cat",
            "[[[8, 96], [8, 32]], []]",
            r#"["GenericList[Tensor(float),Tensor(float)]", "Int"]"#,
            "",
            "memory concat f32 1024 4096 4096 1",
        ),
        (
            "aten::copy_",
            "[[8, 128], [8, 128], []]",
            r#"["float", "float", "Scalar"]"#,
            "",
            "memory scale f32 1024 4096 4096 1",
        ),
        (
            "aten::copy_",
            "[[8, 128], [8, 128], []]",
            r#"["c10::Half", "float", "Scalar"]"#,
            "",
            "memory cast f32 1024 4096 2048 1",
        ),
        (
            "aten::copy_",
            "[[8, 128], [8, 128], []]",
            r#"["double", "float", "Scalar"]"#,
            "",
            "the family casts f64 to f32, f32 to f16, narrower to f32",
        ),
        (
            "aten::copy_",
            "[[8, 128], [8, 128], []]",
            r#"["float", "long int", "Scalar"]"#,
            "",
            "memory cast f64 1024 8192 4096 1",
        ),
        (
            "aten::_log_softmax_backward_data",
            "[[8, 128], [8, 128], [], []]",
            two,
            "",
            "memory add f32 1024 8192 4096 1",
        ),
        (
            "aten::_foreach_add_",
            "[[[8, 96], [256]], [[8, 96], [256]], []]",
            r#"["GenericList[Tensor(float),Tensor(float)]", "GenericList[Tensor(float),Tensor(float)]", "Int"]"#,
            "",
            "memory add f32 1024 8192 4096 1",
        ),
        (
            "aten::_foreach_mul_",
            "[[[8, 96], [256]], []]",
            r#"["GenericList[Tensor(float),Tensor(float)]", "Double"]"#,
            "",
            "memory scale f32 1024 4096 4096 1",
        ),
    ] {
        assert_eq!(of(name, dims, types, "", values), expected, "{name} {dims} {types}");
    }
}

#[test]
fn copies_are_named_by_the_profiler() {
    let copy = |name: &str, bytes| shown(super::copy::point(name, bytes));
    let pinned = "Memcpy HtoD (Pinned -> Device)";
    assert_eq!(copy(pinned, Some(512)), "copy h2d true 512");
    assert_eq!(copy("Memcpy HtoD (Pageable -> Device)", Some(512)), "copy h2d false 512");
    assert_eq!(copy("Memcpy DtoH (Device -> Pinned)", Some(512)), "copy d2h true 512");
    assert_eq!(copy("Memcpy DtoD (Device -> Device)", Some(512)), "copy d2d false 512");
    assert_eq!(copy(pinned, None), "the size of the copy is not recorded");
    assert_eq!(copy("CopyDeviceToHost", Some(512)), "the direction of the copy is not recorded");
}

/// A rank of a job of eight: an op that launches two kernels and one nested in it that launches
/// one, attention that is implemented by another op, a copy, a fill, a collective and a kernel
/// that nothing launched.
const STEP: &str = r#"{"distributedInfo": {"rank": 0, "world_size": 8}, "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 7, "tid": 7, "ts": 100, "dur": 100,
 "args": {"Input Dims": [[16], [32, 64], [64, 16]], "Input type": ["float", "float", "float"]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 110, "dur": 5, "args": {"correlation": 1}},
{"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 7, "tid": 7, "ts": 120, "dur": 30,
 "args": {"Input Dims": [[32, 16]], "Input type": ["float"]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 125, "dur": 5, "args": {"correlation": 2}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 160, "dur": 5, "args": {"correlation": 3}},
{"ph": "X", "cat": "cpu_op", "name": "aten::_scaled_dot_product_flash_attention", "pid": 7, "tid": 7, "ts": 300, "dur": 100,
 "args": {"Input Dims": [[2, 8, 64, 32], [2, 8, 64, 32], [2, 8, 64, 32], [], []],
 "Input type": ["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "0.", "True"]}},
{"ph": "X", "cat": "cpu_op", "name": "aten::_flash_attention_forward", "pid": 7, "tid": 7, "ts": 310, "dur": 80},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 320, "dur": 5, "args": {"correlation": 4}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 7, "tid": 7, "ts": 500, "dur": 5, "args": {"correlation": 5}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 510, "dur": 5, "args": {"correlation": 6}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 3, "ts": 200, "dur": 11, "args": {"correlation": 1, "device": 0, "stream": 3}},
{"ph": "X", "cat": "kernel", "name": "relu", "pid": 0, "tid": 3, "ts": 220, "dur": 2, "args": {"correlation": 2, "device": 0, "stream": 3}},
{"ph": "X", "cat": "kernel", "name": "splitK", "pid": 0, "tid": 3, "ts": 230, "dur": 3, "args": {"correlation": 3, "device": 0, "stream": 3}},
{"ph": "X", "cat": "kernel", "name": "flash", "pid": 0, "tid": 3, "ts": 400, "dur": 40, "args": {"correlation": 4, "device": 0, "stream": 3}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 3, "ts": 600, "dur": 7, "args": {"correlation": 5, "device": 0, "stream": 3, "bytes": 4096}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "pid": 0, "tid": 9, "ts": 620, "dur": 90,
 "args": {"correlation": 6, "device": 0, "stream": 9, "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 8, "dtype": "Float", "Process Group Name": "0"}},
{"ph": "X", "cat": "kernel", "name": "stray", "pid": 0, "tid": 3, "ts": 800, "dur": 1, "args": {"correlation": 99, "device": 0, "stream": 3}}
]}"#;

fn step() -> Graph {
    let recording = crate::kineto::read("rank0.json", STEP.as_bytes(), &ReadOptions::default());
    crate::build::graph(vec![recording.unwrap()], Vec::new())
}

#[test]
fn the_time_of_every_kernel_belongs_to_exactly_one_op() {
    let graph = step();
    let lines = distinct(&graph);
    let shown: Vec<(String, String, u64, u64, u64)> = lines
        .iter()
        .map(|line: &Distinct| {
            let device = line.device.unwrap().get() / 1_000;
            (line.name.clone(), shown(line.point.clone()), line.calls, line.work, device)
        })
        .collect();
    let row = |name: &str, point: &str, work, device| {
        (name.to_owned(), point.to_owned(), 1, work, device)
    };
    let collective = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
    assert_eq!(
        shown,
        [
            row(collective, "collective all_reduce f32 8 1 unstated 4000 100", 1, 90),
            row(
                "aten::_scaled_dot_product_flash_attention",
                "attention context f16 2 8 8 32 64 64 f16 0",
                1,
                40
            ),
            row("aten::addmm", "gemm f32 1 32 16 64", 2, 14),
            row("Memcpy HtoD (Pinned -> Device)", "copy h2d true 4096", 1, 7),
            row("aten::relu", "memory relu f32 512 2048 2048 1", 1, 2),
            row("stray", "no family covers it", 1, 1),
        ]
    );
    let of_tasks: u64 = graph
        .tasks
        .iter()
        .filter(|task| task.kind.is_on_device())
        .map(|task| task.timing.unwrap().duration.get())
        .sum();
    let sums = totals(lines.iter());
    assert_eq!(sums.device, Nanos::new(of_tasks));
    assert_eq!((sums.calls, sums.covered_calls), (6, 5));
    assert_eq!(sums.covered_device, Nanos::new(of_tasks - 1_000));
}
