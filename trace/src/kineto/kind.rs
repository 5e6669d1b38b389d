//! What kind of event it is, whatever the year and the vendor called it.

use crate::recording::Category;

/// What is done with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It has a time and a duration.
    Timed(Category),
    /// An arrow from a forward to a backward op; whether it begins here.
    Arrow { begins: bool },
    /// An arrow from a launch to its work: correlations say the same.
    LaunchArrow,
    /// A point in time: memory in most recordings.
    Instant,
    /// A counter.
    Counter,
    /// Names and places of rows.
    Metadata,
    /// A span of the profiler itself.
    Span,
    /// None of these.
    Unknown,
}

/// The kind of an event by its phase, category and name.
pub(super) fn of(phase: &str, category: &str, name: &str) -> Kind {
    match phase.as_bytes() {
        b"X" => timed(category, name),
        b"s" | b"f" if matches!(category.as_bytes(), b"fwdbwd" | b"forward_backward") => {
            Kind::Arrow { begins: phase == "s" }
        }
        b"s" | b"t" | b"f" => Kind::LaunchArrow,
        b"i" | b"I" | b"R" => Kind::Instant,
        b"C" => Kind::Counter,
        b"M" => Kind::Metadata,
        _ => Kind::Unknown,
    }
}

/// Categories as Kineto has written them since 2021, its backends for other devices included.
fn timed(category: &str, name: &str) -> Kind {
    Kind::Timed(match category.as_bytes() {
        b"cpu_op" | b"Operator" if is_annotation(name) => Category::Annotation,
        b"cpu_op" | b"Operator" => Category::Op,
        b"user_annotation" => Category::Annotation,
        b"cuda_runtime"
        | b"cuda_driver"
        | b"Runtime"
        | b"hip_runtime"
        | b"hip"
        | b"mtia_runtime"
        | b"glow_runtime"
        | b"xpu_runtime"
        | b"xpu_driver"
        | b"privateuse1_runtime"
        | b"privateuse1_driver" => Category::Runtime,
        b"kernel" | b"Kernel" | b"hpu_op" => Category::Kernel,
        b"gpu_memcpy" | b"Memcpy" => Category::Copy,
        b"gpu_memset" | b"Memset" => Category::Fill,
        // What the control processor of an MTIA does: waits, transfers, and everything else.
        b"mtia_ccp_events" => match name.as_bytes() {
            b"event_record" | b"event_wait" => Category::Sync,
            b"dma_request" => Category::Copy,
            _ => Category::Kernel,
        },
        b"cuda_sync" => Category::Sync,
        b"gpu_user_annotation" => Category::DeviceAnnotation,
        b"python_function" => Category::Python,
        b"overhead" => Category::Overhead,
        b"Trace" => return Kind::Span,
        _ => return Kind::Unknown,
    })
}

/// Ranges that were recorded as ops before annotations were a category.
fn is_annotation(name: &str) -> bool {
    ["ProfilerStep#", "nccl:", "## ", "Optimizer.", "enumerate(DataLoader)"]
        .iter()
        .any(|beginning| name.starts_with(beginning))
}

/// Whether anything is wanted of the `args` of such an event; either text may still be unknown.
pub(super) fn wants_arguments(phase: &str, category: &str) -> bool {
    // Compared as bytes, which compiles to a decision and not to a chain of comparisons.
    matches!(phase.as_bytes(), b"X" | b"")
        && !matches!(category.as_bytes(), b"python_function" | b"overhead" | b"Trace")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_years_mean_the_same() {
        let timed = |category, name| match of("X", category, name) {
            Kind::Timed(category) => Some(category),
            _ => None,
        };
        for category in ["cpu_op", "Operator"] {
            assert_eq!(timed(category, "aten::mm"), Some(Category::Op));
            assert_eq!(timed(category, "ProfilerStep#5"), Some(Category::Annotation));
            assert_eq!(timed(category, "nccl:all_reduce"), Some(Category::Annotation));
            assert_eq!(timed(category, "Optimizer.step#SGD.step"), Some(Category::Annotation));
        }
        for category in ["cuda_runtime", "cuda_driver", "Runtime", "mtia_runtime"] {
            assert_eq!(timed(category, "x"), Some(Category::Runtime));
        }
        assert_eq!(timed("Kernel", "x"), Some(Category::Kernel));
        assert_eq!(timed("Memcpy", "x"), Some(Category::Copy));
        assert_eq!(timed("Memset", "x"), Some(Category::Fill));
        assert_eq!(timed("mtia_ccp_events", "dma_request"), Some(Category::Copy));
        assert_eq!(timed("mtia_ccp_events", "event_wait"), Some(Category::Sync));
        assert_eq!(timed("mtia_ccp_events", "pe_exe"), Some(Category::Kernel));
        assert_eq!(timed("something_new", "x"), None);
    }

    #[test]
    fn arrows_are_told_apart() {
        assert_eq!(of("s", "fwdbwd", "fwdbwd"), Kind::Arrow { begins: true });
        assert_eq!(of("f", "fwdbwd", "fwdbwd"), Kind::Arrow { begins: false });
        for category in ["ac2g", "async_cpu_to_gpu", "async", "async_gpu"] {
            assert_eq!(of("s", category, "launch"), Kind::LaunchArrow);
        }
    }
}
