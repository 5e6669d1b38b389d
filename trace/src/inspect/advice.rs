//! What the recording does not show, and what to record differently.

use super::RankReport;
use crate::graph::Graph;

/// Something to know about a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// A word for it, for programs.
    pub code: &'static str,
    /// What is so.
    pub finding: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

/// Everything to know about a graph's recordings.
pub fn of(graph: &Graph, ranks: &[RankReport]) -> Vec<Advice> {
    let mut advice = Vec::new();
    let mut say = |code, finding: String, hint| advice.push(Advice { code, finding, hint });
    let links = &graph.links;
    if links.orphan_nodes > 0 {
        say(
            "orphan_nodes",
            format!(
                "{} nodes of execution traces name a parent that was not recorded, or themselves: \
                 they hang on the process",
                links.orphan_nodes
            ),
            None,
        );
    }
    if links.repeated_nodes > 0 {
        say(
            "repeated_nodes",
            format!("{} nodes with the number of another were set aside", links.repeated_nodes),
            None,
        );
    }
    let timed = graph.tasks.iter().any(|task| task.timing.is_some());
    if !timed {
        say(
            "no_times",
            "an execution trace alone: ops and shapes, no times".to_owned(),
            Some("give the profiler's trace of the same rank too, or predict its ops"),
        );
        return advice;
    }
    if links.device_work == 0 {
        say(
            "no_kernels",
            "no kernels in the trace: was the activity of the device recorded?".to_owned(),
            Some("record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"),
        );
    }
    let unmarked = graph.ranks.iter().filter(|rank| !rank.steps_marked).count();
    if unmarked > 0 {
        say(
            "no_steps",
            "no steps are marked: the whole trace is taken as one".to_owned(),
            Some("call `profiler.step()` after each step to mark them"),
        );
    }
    let unlinked = links.launchable().saturating_sub(links.launched);
    if links.launched_before > 0 {
        say(
            "launched_before",
            format!("{} kernels were launched before the recording began", links.launched_before),
            Some("start the profiler a step earlier (schedule with warmup=1)"),
        );
    }
    if unlinked > 0 {
        say(
            "unlinked",
            format!(
                "{unlinked} of {} pieces of device work have no launch in the trace",
                links.device_work
            ),
            None,
        );
    }
    if links.before_launch > 0 {
        say(
            "before_launch",
            format!("{} kernels begin before their launch (clock skew)", links.before_launch),
            None,
        );
    }
    if links.device_work > 0 && links.recorded_syncs == 0 {
        say(
            "no_syncs",
            "synchronisation events are not recorded: which stream waits for which is unknown"
                .to_owned(),
            Some(
                "record them: experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)",
            ),
        );
    }
    if links.contradictions > 0 {
        say(
            "contradictions",
            format!(
                "{} dependencies contradict others and were left out: clocks, correlations or \
                 the order of collectives disagree",
                links.contradictions
            ),
            None,
        );
    }
    collectives(graph, &mut say);
    reading(graph, &mut say);
    let unexplained = ranks.iter().flat_map(|rank| &rank.steps).fold((0, 0), |sum, step| {
        (sum.0 + step.idle.unexplained.get(), sum.1 + step.timing.duration.get())
    });
    if unexplained.0 * 20 > unexplained.1 {
        let share = 100.0 * unexplained.0 as f64 / unexplained.1 as f64;
        say(
            "unexplained_idle",
            format!("{share:.1} % of the steps is idle time that nothing recorded explains"),
            None,
        );
    }
    advice
}

type Say<'a> = &'a mut dyn FnMut(&'static str, String, Option<&'static str>);

fn collectives(graph: &Graph, say: Say<'_>) {
    let links = &graph.links;
    let undescribed = links.collectives - links.described_collectives;
    if undescribed > 0 {
        say(
            "undescribed_collectives",
            format!("{undescribed} of {} collectives lack kind or size", links.collectives),
            Some("record with record_shapes=True, or give the execution trace of the same rank"),
        );
    }
    if links.mismatched_collectives > 0 {
        say(
            "mismatched_collectives",
            format!(
                "{} collectives differ in kind from those of other ranks at the same place",
                links.mismatched_collectives
            ),
            Some("record the same steps on all ranks"),
        );
    }
    let early = graph.rendezvous.iter().filter(|one| ends_before_it_can(graph, one)).count();
    if early > 0 {
        say(
            "clocks",
            format!(
                "{early} collectives end on one rank before they begin on another: the clocks of \
                 the ranks disagree, and waiting and spread with them"
            ),
            Some("record with clocks that are kept together (PTP, or all ranks on one host)"),
        );
    }
    let partial = graph.rendezvous.iter().filter(|one| !one.is_whole()).count();
    if partial > 0 {
        say(
            "partial_collectives",
            format!(
                "{partial} of {} collectives lack ranks: their time includes waiting for ranks \
                 that are not here, so it is an upper bound of the transfer",
                graph.rendezvous.len()
            ),
            Some("give the traces of all ranks"),
        );
    }
}

fn reading(graph: &Graph, say: Say<'_>) {
    let sum = |count: fn(&crate::recording::Oddities) -> u64| {
        graph.ranks.iter().map(|rank| count(&rank.oddities)).sum::<u64>()
    };
    let set_aside = sum(|oddities| oddities.set_aside());
    if set_aside > 0 {
        say("set_aside", format!("{set_aside} events without a usable time were set aside"), None);
    }
    let mended = sum(|oddities| oddities.control_characters + oddities.broken_characters);
    if mended > 0 {
        say("mended", format!("{mended} broken characters in names were mended"), None);
    }
    if graph.ranks.iter().any(|rank| rank.oddities.cut) {
        say("cut", "the trace ends in the middle: what was complete was read".to_owned(), None);
    }
}

/// How much earlier than the last arrival a member may end by the rounding of clocks: what the
/// ends of one collective differ by on one host (some microseconds), with room to spare.
const CLOCK_TOLERANCE: i64 = 100_000;

/// Whether a member ends before another has arrived, which no collective can.
fn ends_before_it_can(graph: &Graph, meeting: &crate::graph::Rendezvous) -> bool {
    let timings = || meeting.members.iter().filter_map(|&task| graph.task(task).timing);
    let last = timings().map(|timing| timing.start).max();
    let first = timings().map(crate::graph::Timing::end).min();
    last.zip(first).is_some_and(|(last, first)| last.minus(first) > CLOCK_TOLERANCE)
}
