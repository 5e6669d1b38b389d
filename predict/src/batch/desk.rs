//! Answers one row: its op, its point, its machine, the prediction.
//!
//! Machines that rows name are opened once each, whichever thread meets them first. Left to
//! others: where the fields of a row stand (`csv_rows`, `json_rows`).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, PoisonError};

use kernelgauge_data::fields::{self, FieldError, Lookup};
use kernelgauge_data::{Collective, Diagnostic, Dtype, Point};
use kernelgauge_model::{PredictError, Prediction};
use thiserror::Error;

use super::op_name::{OpError, OpName};
use crate::machine::MachineError;
use crate::predictor::{Ask, Predictor};

/// Why a row has no answer.
#[derive(Debug, Error)]
pub enum RowError {
    /// Nobody can tell what it asks.
    #[error(transparent)]
    Op(#[from] OpError),
    /// A field is wrong.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The machine it names has no model here.
    #[error("{0}")]
    Machine(Arc<MachineError>),
    /// The model refuses.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// The row is not a row.
    #[error("{0}")]
    Malformed(String),
}

impl RowError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            RowError::Op(error) => Some(error.hint()),
            RowError::Field(error) => error.hint(),
            RowError::Machine(error) => error.hint(),
            RowError::Predict(error) => error.hint(),
            RowError::Malformed(_) => None,
        }
    }
}

/// A collective, the dtype rows asked for, and the one that answered.
pub type StandIn = (Collective, Dtype, Dtype);

/// A machine that rows named, or why it has no model here.
type Opened = Result<Arc<Predictor>, Arc<MachineError>>;

/// Where rows are answered.
pub struct Desk {
    ask: Ask,
    /// The op of every row, where the command line says it.
    op: Option<OpName>,
    /// The machine of rows that name none.
    usual: Option<Arc<Predictor>>,
    opened: Mutex<BTreeMap<String, Opened>>,
}

/// One thread's place at the desk: remembers the machine of the row before, which is nearly
/// always that of the next.
pub struct Seat<'desk> {
    desk: &'desk Desk,
    last: Option<(String, Arc<Predictor>)>,
    /// Rows that another dtype answered.
    pub stand_ins: BTreeMap<StandIn, u64>,
}

impl Desk {
    /// A desk for rows that ask `usual` unless they name a machine.
    pub fn new(ask: Ask, op: Option<OpName>, usual: Option<Predictor>) -> Self {
        Desk { ask, op, usual: usual.map(Arc::new), opened: Mutex::default() }
    }

    /// Whether rows that name no machine have one.
    pub fn has_machine(&self) -> bool {
        self.usual.is_some()
    }

    /// A place for one thread.
    pub fn seat(&self) -> Seat<'_> {
        Seat { desk: self, last: None, stand_ins: BTreeMap::new() }
    }

    /// Every machine that was asked.
    pub fn machines(&self) -> Vec<Arc<Predictor>> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let named = opened.values().filter_map(|opened| opened.as_ref().ok());
        self.usual.iter().chain(named).cloned().collect()
    }

    fn open(&self, name: &str) -> Result<Arc<Predictor>, RowError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let predictor = opened.entry(name.to_owned()).or_insert_with(|| {
            Predictor::named(Some(OsStr::new(name))).map(Arc::new).map_err(Arc::new)
        });
        predictor.clone().map_err(RowError::Machine)
    }
}

impl Seat<'_> {
    /// The answer to the row whose fields `get` finds, and the machine that gave it.
    ///
    /// # Errors
    /// [`RowError`].
    pub fn answer(&mut self, get: Lookup<'_, '_>) -> Result<(Prediction, &str), RowError> {
        let point = self.point(get)?;
        let ask = self.desk.ask;
        let named = get("machine").filter(|name| !name.is_empty());
        self.turn_to(named)?;
        let predictor = match (&self.last, &self.desk.usual) {
            (Some((_, predictor)), _) if named.is_some() => predictor,
            (_, Some(usual)) => usual,
            _ => return Err(RowError::Machine(Arc::new(MachineError::NotNamed))),
        };
        let prediction = match predictor.stand_in(&point) {
            Some((other, stand_in)) => {
                *self.stand_ins.entry(stand_in).or_default() += 1;
                predictor.predict_with(&other, ask)?
            }
            None => predictor.predict_with(&point, ask)?,
        };
        Ok((prediction, &predictor.machine().name))
    }

    fn point(&self, get: Lookup<'_, '_>) -> Result<Point, RowError> {
        let op = match self.desk.op {
            Some(op) => op,
            None => OpName::of_row(get)?,
        };
        let point = match op.field {
            Some((field, value)) => fields::read_point(op.family, &|name| {
                if name == field { Some(value) } else { get(name) }
            }),
            None => fields::read_point(op.family, get),
        };
        Ok(point?)
    }

    /// Opens the machine a row names, if it is not the one of the row before.
    fn turn_to(&mut self, named: Option<&str>) -> Result<(), RowError> {
        let Some(name) = named else { return Ok(()) };
        if self.last.as_ref().is_none_or(|(last, _)| last != name) {
            self.last = Some((name.to_owned(), self.desk.open(name)?));
        }
        Ok(())
    }
}
