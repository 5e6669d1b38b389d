//! Both commands as a person runs them: whole output, exit codes, bad input.

mod command;
mod made_up_machine;
mod predict;
mod predict_batch;
mod predict_mistakes;
