//! Both commands as a person runs them: whole output, exit codes, bad input.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod borrow;
mod calibrate;
mod collectives;
mod command;
mod evaluate;
mod gemm;
mod gpus;
mod gpus_at_fault;
mod gpus_in_a_process;
mod gpus_with_kernels;
mod made_up_machine;
mod predict;
mod predict_batch;
mod predict_collectives;
mod predict_convert;
mod predict_mistakes;
#[path = "../../cuda/tests/kernels/processor.rs"]
mod processor;
mod ranks;
mod ranks_collectives;
mod stand_in;
mod traces;
