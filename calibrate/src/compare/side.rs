//! One side of a comparison: a data set, or a model that kept its points.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use kernelgauge_data::dataset::MANIFEST;
use kernelgauge_data::{
    BuildInfo, Bytes, CacheState, DataSet, Diagnostic, ExitStatus, Family, Flag, Machine, Point,
    foreign,
};
use kernelgauge_model::{FitOptions, MeasuredPoint, Model, StoreError, measured_points};
use thiserror::Error;

use super::{About, Fact};
use crate::error::CommandError;
use crate::finish::{self, MODEL};

/// Largest model file that is read.
const MODEL_FILE_LIMIT: u64 = 64 << 20;

/// Family, variant and cache state.
pub type Key = (Family, String, CacheState);

/// Why a path is no side of a comparison.
#[derive(Debug, Error)]
pub enum SideError {
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A folder that holds neither.
    #[error("{} holds no {MANIFEST} and no {MODEL}", .0.display())]
    Nothing(PathBuf),
    /// Longer than any model.
    #[error("{} has over {}, which no model file has", .0.display(), Bytes::new(MODEL_FILE_LIMIT))]
    TooLarge(PathBuf),
    /// Something else altogether.
    #[error("{} is not a model file: it seems to be {seems}", path.display())]
    NotAModel {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        seems: &'static str,
    },
    /// A file that is no model of this version.
    #[error("{}: {source}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// Why.
        source: StoreError,
    },
}

impl Diagnostic for SideError {
    fn hint(&self) -> Option<String> {
        match self {
            SideError::Model { source, .. } => source.hint(),
            SideError::Read { .. }
            | SideError::Nothing(_)
            | SideError::TooLarge(_)
            | SideError::NotAModel { .. } => Some(
                "give a data set folder, a folder that `calibrate` wrote, a model file, or a \
                 machine of `predict machines`"
                    .to_owned(),
            ),
        }
    }

    fn exit_status(&self) -> ExitStatus {
        ExitStatus::Input
    }
}

/// One side of a comparison.
#[derive(Debug)]
pub struct Side {
    given: PathBuf,
    machine: Machine,
    source: Source,
    /// Measured points by variant.
    pub points: BTreeMap<Key, Vec<MeasuredPoint>>,
    /// Points of them that were only measured while the machine drifted or was shared.
    disturbed: BTreeSet<(Point, CacheState)>,
}

#[derive(Debug)]
enum Source {
    Data(Box<DataSet>),
    Model(String),
}

impl Side {
    /// Reads what `given` names.
    ///
    /// # Errors
    /// [`SideError`], or what is wrong with the data set.
    pub fn read(given: &Path, build: &BuildInfo) -> Result<Self, CommandError> {
        let name = given.to_str().filter(|_| !given.exists());
        if let Some((name, text)) = name.and_then(build.shipped) {
            return Side::of_text(given, Path::new(name), text.to_owned());
        }
        let failed = |source| SideError::Read { path: given.to_owned(), source };
        if !fs::metadata(given).map_err(failed)?.is_dir() {
            return Side::of_model(given, given);
        }
        let folder = finish::data_folder(given);
        if folder.join(MANIFEST).exists() {
            let data = DataSet::read(&folder)?;
            let points = by_variant(measured_points(&data));
            let machine = data.manifest.machine.clone();
            let disturbed = disturbed(&data);
            let source = Source::Data(Box::new(data));
            return Ok(Side { given: given.to_owned(), machine, source, points, disturbed });
        }
        let inside = given.join(MODEL);
        if inside.is_file() {
            return Side::of_model(given, &inside);
        }
        Err(SideError::Nothing(given.to_owned()).into())
    }

    fn of_model(given: &Path, path: &Path) -> Result<Self, CommandError> {
        Side::of_text(given, path, model_text(path)?)
    }

    fn of_text(given: &Path, path: &Path, text: String) -> Result<Self, CommandError> {
        let model = parsed(path, &text)?;
        let points = by_variant(model.measured_points()?);
        let machine = model.machine().clone();
        let (source, disturbed) = (Source::Model(text), BTreeSet::new());
        Ok(Side { given: given.to_owned(), machine, source, points, disturbed })
    }

    /// Whether a measured point says as much about the moment as about the machine.
    pub fn is_disturbed(&self, measured: &MeasuredPoint) -> bool {
        !self.disturbed.is_empty()
            && self.disturbed.contains(&(measured.point.clone(), measured.cache))
    }

    /// A model that speaks for the `wanted` variants: the one that was given; for a data set the
    /// one beside it if it was fitted on just these data, else a new one of these variants only.
    /// None where these are too few to fit.
    pub fn model_of(&self, wanted: &[Key], seed: u64) -> Option<Model> {
        let data = match &self.source {
            Source::Model(text) => return Model::from_text(text).ok(),
            Source::Data(data) => data,
        };
        let beside = fs::read_to_string(self.given.join(MODEL)).ok();
        if let Some(model) = beside.and_then(|text| Model::from_text(&text).ok())
            && model.data_sha256() == data.digest()
        {
            return Some(model);
        }
        let mut part = data.as_ref().clone();
        part.records.retain(|record| {
            let (point, cache) = (&record.point, record.conditions.cache);
            wanted.iter().any(|(family, variant, state)| {
                (*family, *state) == (point.family(), cache) && variant == point.variant().as_str()
            })
        });
        Model::fit(&part, &FitOptions { seed, ..FitOptions::default() }).ok()
    }

    /// The side in a few words.
    pub fn about(&self) -> About {
        let Machine { name, device, .. } = &self.machine;
        let given = self.given.display().to_string();
        About { given, machine: name.clone(), device: device.clone() }
    }

    /// What is not the same about two sides: machine, software and, where both are data sets,
    /// the environment they were measured in.
    pub fn differences(&self, other: &Side) -> Vec<Fact> {
        let mut mine = facts(&self.machine);
        let mut theirs = facts(&other.machine);
        if let (Source::Data(a), Source::Data(b)) = (&self.source, &other.source) {
            let environment = |data: &DataSet| {
                let facts = data.manifest.environment.facts();
                facts.map(|(fact, value)| (fact.to_owned(), value.to_owned())).collect::<Vec<_>>()
            };
            mine.extend(environment(a));
            theirs.extend(environment(b));
        }
        let names: Vec<String> = mine.keys().chain(theirs.keys()).cloned().collect();
        let mut found: Vec<Fact> = names
            .into_iter()
            .filter(|name| mine.get(name) != theirs.get(name))
            .map(|fact| Fact { a: mine.get(&fact).cloned(), b: theirs.get(&fact).cloned(), fact })
            .collect();
        found.sort_by(|a, b| a.fact.cmp(&b.fact));
        found.dedup();
        found
    }
}

/// Points that have no record without such a flag.
fn disturbed(data: &DataSet) -> BTreeSet<(Point, CacheState)> {
    let mut disturbed = BTreeSet::new();
    let mut calm = BTreeSet::new();
    for record in data.records.iter().filter(|record| record.fit_time().is_some()) {
        let flags = record.flags;
        let flagged = flags.contains(Flag::Drift) || flags.contains(Flag::Contended);
        let point = (record.point.clone(), record.conditions.cache);
        if flagged {
            disturbed.insert(point)
        } else {
            calm.insert(point)
        };
    }
    disturbed.retain(|point| !calm.contains(point));
    disturbed
}

fn facts(machine: &Machine) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> = machine.software.clone().into_iter().collect();
    facts.insert("device".to_owned(), machine.device.clone());
    facts.insert("devices".to_owned(), machine.count.to_string());
    facts.insert("links".to_owned(), machine.links.name().to_owned());
    facts
}

fn by_variant(points: Vec<MeasuredPoint>) -> BTreeMap<Key, Vec<MeasuredPoint>> {
    let mut variants: BTreeMap<Key, Vec<MeasuredPoint>> = BTreeMap::new();
    for point in points {
        let variant = point.point.variant().as_str().to_owned();
        let key = (point.point.family(), variant, point.cache);
        variants.entry(key).or_default().push(point);
    }
    variants
}

fn parsed(path: &Path, text: &str) -> Result<Model, SideError> {
    Model::from_text(text).map_err(|source| SideError::Model { path: path.to_owned(), source })
}

fn model_text(path: &Path) -> Result<String, SideError> {
    let failed = |source| SideError::Read { path: path.to_owned(), source };
    let kind = fs::metadata(path).map_err(failed)?;
    // A pipe or device could stay silent, or never end.
    if !kind.is_file() {
        return Err(failed(io::Error::other("not a regular file")));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MODEL_FILE_LIMIT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MODEL_FILE_LIMIT {
        return Err(SideError::TooLarge(path.to_owned()));
    }
    let not_a_model = |seems| SideError::NotAModel { path: path.to_owned(), seems };
    if let Some(seems) = foreign::seems(&bytes) {
        return Err(not_a_model(seems));
    }
    String::from_utf8(bytes).map_err(|_| not_a_model(foreign::BINARY))
}
