//! Answers rows: the op of each, its point, its machine, the prediction.
//!
//! Rows are read one by one and answered many at a time, which a model does sooner.
//! Machines that rows name are opened once each, whichever thread meets them first. Left to
//! others: where the fields of a row stand (`csv_rows`, `json_rows`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, PoisonError};

use kernelgauge_data::fields::{self, FieldError, Lookup};
use kernelgauge_data::{CacheState, CustomPoint, Diagnostic, Dtype, Family, Point};
use kernelgauge_model::{Model, PredictError, Prediction};
use thiserror::Error;

use super::defaults::{self, Chosen};
use super::op_name::{OpError, OpName, OwnOps, RowOp};
use crate::machine::MachineError;
use crate::predictor::{Ask, Predictor, StandIn};
use crate::question::QuestionError;

/// Why a row has no answer.
#[derive(Debug, Error)]
pub enum RowError {
    /// Nobody can tell what it asks.
    #[error(transparent)]
    Op(#[from] OpError),
    /// A field is wrong.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A field that is left out has no default.
    #[error(transparent)]
    Question(#[from] QuestionError),
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
            RowError::Question(QuestionError::WhichDtype { example, .. }) => {
                Some(format!("add a column `dtype`, such as {example}"))
            }
            RowError::Question(error) => error.hint(),
            RowError::Machine(error) => error.hint(),
            RowError::Predict(error) => error.hint(),
            RowError::Malformed(_) => None,
        }
    }
}

/// An answer to a row.
#[derive(Debug)]
pub struct Answered<'seat> {
    /// What the model says.
    pub prediction: Prediction,
    /// Name of the machine that says it.
    pub machine: &'seat str,
    /// The dtype that answered in place of the one asked for.
    pub answered_by: Option<Dtype>,
}

/// A machine that rows named, or why it has no model here.
type Opened = Result<Arc<Predictor>, Arc<MachineError>>;

/// Where rows are answered.
pub struct Desk {
    ask: Ask,
    /// The op of every row, where the command line says it.
    op: Option<RowOp<String>>,
    /// The machine of rows that name none.
    usual: Option<Arc<Predictor>>,
    opened: Mutex<BTreeMap<String, Opened>>,
}

/// A row that was read.
#[derive(Debug)]
pub struct Asked {
    /// Place of its machine among the seat's.
    machine: usize,
    point: Point,
    ask: Ask,
}

/// One thread's place at the desk: remembers the machine of the row before, which is nearly
/// always that of the next.
pub struct Seat<'desk> {
    desk: &'desk Desk,
    /// The machines that its rows asked, each with the name that a row had for it; the usual one
    /// has none.
    machines: Vec<(Option<String>, Arc<Predictor>)>,
    /// Place of the machine of the row before.
    last: usize,
    chosen: Chosen,
    /// Rows that another dtype answered.
    pub stand_ins: BTreeMap<StandIn, u64>,
}

impl Desk {
    /// A desk for rows that ask `usual` unless they name a machine.
    pub fn new(ask: Ask, op: Option<RowOp<String>>, usual: Option<Predictor>) -> Self {
        Desk { ask, op, usual: usual.map(Arc::new), opened: Mutex::default() }
    }

    /// Whether rows that name no machine have one.
    pub fn has_machine(&self) -> bool {
        self.usual.is_some()
    }

    /// A place for one thread.
    pub fn seat(&self) -> Seat<'_> {
        let machines = self.usual.iter().map(|usual| (None, Arc::clone(usual))).collect();
        let (chosen, stand_ins) = (Chosen::default(), BTreeMap::new());
        Seat { desk: self, machines, last: 0, chosen, stand_ins }
    }

    /// Names of the parameters of the usual machine's own ops, which are no slips of others.
    pub fn own_parameters(&self) -> Vec<String> {
        let Some(usual) = &self.usual else { return Vec::new() };
        let own = usual.model().variants(Family::Custom);
        let names = own.iter().filter_map(|op| usual.model().parameter_names(Family::Custom, op));
        names.flatten().collect()
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
    /// What the row asks whose fields `get` finds.
    ///
    /// # Errors
    /// [`RowError`].
    pub fn read(&mut self, get: Lookup<'_, '_>) -> Result<Asked, RowError> {
        let mut ask = self.desk.ask;
        if let Some(cache) = get("cache").filter(|text| !text.is_empty()) {
            ask.cache = state(cache)?;
        }
        let machine = self.turn_to(get("machine").filter(|name| !name.is_empty()))?;
        let predictor = &*self.machines[machine].1;
        let point = match &self.desk.op {
            Some(RowOp::Known(op)) => known(op, get, predictor, &mut self.chosen)?,
            Some(RowOp::Custom(op)) => custom(op, get, predictor)?,
            None => match OpName::of_row(get, predictor.model())? {
                RowOp::Known(op) => known(&op, get, predictor, &mut self.chosen)?,
                RowOp::Custom(op) => custom(op, get, predictor)?,
            },
        };
        Ok(Asked { machine, point, ask })
    }

    /// The answers to rows, in order, and the machines that gave them; rows that could not be read
    /// stay what they are.
    pub fn answer(
        &mut self,
        rows: Vec<Result<Asked, RowError>>,
    ) -> Vec<Result<Answered<'_>, RowError>> {
        let Seat { machines, stand_ins, .. } = self;
        let mut answers = Vec::with_capacity(rows.len());
        for (machine, (_, predictor)) in machines.iter().enumerate() {
            let asked = rows.iter().enumerate().filter_map(|(row, asked)| match asked {
                Ok(asked) if asked.machine == machine => Some((row, (&asked.point, asked.ask))),
                _ => None,
            });
            let (places, questions): (Vec<usize>, Vec<(&Point, Ask)>) = asked.unzip();
            for (row, answer) in places.into_iter().zip(predictor.answer_all(&questions)) {
                let answered = answer.map_err(RowError::from).map(|(prediction, stand_in)| {
                    if let Some(stand_in) = stand_in {
                        *stand_ins.entry(stand_in).or_default() += 1;
                    }
                    let answered_by = stand_in.map(|(_, _, used)| used);
                    Answered { prediction, machine: &predictor.machine().name, answered_by }
                });
                answers.push((row, answered));
            }
        }
        let unread = rows.into_iter().enumerate();
        answers.extend(unread.filter_map(|(row, asked)| Some((row, Err(asked.err()?)))));
        answers.sort_by_key(|(row, _)| *row);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// The place of the machine that a row names, or of the usual one; opened if it is new here.
    fn turn_to(&mut self, named: Option<&str>) -> Result<usize, RowError> {
        let is_it = |(name, _): &(Option<String>, _)| name.as_deref() == named;
        if self.machines.get(self.last).is_some_and(is_it) {
            return Ok(self.last);
        }
        self.last = match (self.machines.iter().position(is_it), named) {
            (Some(known), _) => known,
            (None, Some(name)) => {
                self.machines.push((Some(name.to_owned()), self.desk.open(name)?));
                self.machines.len() - 1
            }
            (None, None) => return Err(RowError::Machine(Arc::new(MachineError::NotNamed))),
        };
        Ok(self.last)
    }
}

/// The state of operands that a row asks for.
fn state(text: &str) -> Result<CacheState, FieldError> {
    text.parse()
        .map_err(|error| FieldError::Unknown { column: Cow::Borrowed("cache"), name: error })
}

/// The point of an op of ours, what the row leaves out as in a single question.
fn known(
    op: &OpName,
    get: Lookup<'_, '_>,
    predictor: &Predictor,
    chosen: &mut Chosen,
) -> Result<Point, RowError> {
    let given = |name: &str| get(name).filter(|text| !text.is_empty());
    let dtype = match given("dtype") {
        None => chosen.dtype(op, get, predictor)?.map(Dtype::name),
        given => given,
    };
    let point = fields::read_point(op.family, &|name| match op.field {
        Some((field, value)) if name == field => Some(value),
        _ if name == "dtype" => dtype,
        _ => given(name).or_else(|| defaults::neutral(op.family, name, get)),
    });
    Ok(point?)
}

/// The point of an op of the machine's own: its parameters each in a field of its name, or all
/// in one field `parameters`.
fn custom(op: &str, get: Lookup<'_, '_>, predictor: &Predictor) -> Result<Point, RowError> {
    let given = |name: &str| get(name).filter(|text| !text.is_empty());
    if given("parameters").is_some() {
        let get = |name: &str| if name == "op" { Some(op) } else { get(name) };
        return Ok(fields::read_point(Family::Custom, &get)?);
    }
    let names = predictor.model().parameter_names(Family::Custom, op).unwrap_or_default();
    let parameters = names.into_iter().map(|name| match given(&name) {
        None => Err(FieldError::Missing(Cow::Owned(name))),
        Some(value) => match value.parse() {
            Ok(value) => Ok((name, value)),
            Err(_) => {
                let (column, value) = (Cow::Owned(name), value.to_owned());
                Err(FieldError::NotAnInteger { column, value })
            }
        },
    });
    let parameters = parameters.collect::<Result<_, _>>()?;
    Ok(Point::Custom(CustomPoint { op: op.to_owned(), parameters }))
}

impl OwnOps for Model {
    fn has(&self, name: &str) -> bool {
        self.has_variant(Family::Custom, name)
    }

    fn names(&self) -> Vec<String> {
        self.variants(Family::Custom)
    }
}
