//! An execution trace from its JSON, one node at a time.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use serde_json::value::RawValue;

use super::node::{ExecutionTrace, Node, NodeKind, Values};
use super::rank::RankVotes;
use super::schema::{self, Form};
use super::tree::{self, Loose};
use super::written::{WrittenNode, WrittenValues};
use super::{collective, group, value};
use crate::error::TraceError;
use crate::json::{Document, Piece};
use crate::names::{Names, Symbol};
use crate::options::ReadOptions;
use crate::recording::FactsId;

/// Reads an execution trace from JSON text; compressed ones are unpacked before.
///
/// The rank is taken from the collectives if they agree; the name of the file is left to the
/// caller.
///
/// # Errors
///
/// What is no execution trace, one of an unknown schema, one that ends too early (unless
/// allowed), nodes that are no objects or whose parent is no single number, and parents that
/// lead round in a circle.
pub fn read(
    source_name: &str,
    reader: impl Read,
    options: &ReadOptions,
) -> Result<ExecutionTrace, TraceError> {
    let mut document = Document::new(source_name, reader, "nodes", options.allow_truncated);
    let mut collector = Collector::new(source_name);
    loop {
        match document.next()? {
            Piece::Property(key) if key == "schema" => {
                let schema: String = serde_json::from_str(document.text()).unwrap_or_default();
                collector.form = Some(schema::form(&schema, source_name, options)?);
                collector.trace.schema = schema;
            }
            Piece::Property(_) => {}
            Piece::Element(number) => {
                let place = document.place();
                collector.take(document.text()).map_err(|problem| TraceError::Content {
                    source_name: source_name.to_owned(),
                    place: format!("element {number} of nodes ({place})"),
                    problem,
                    hint: None,
                })?;
            }
            Piece::End => break,
        }
    }
    let mut oddities = document.oddities();
    oddities.read = collector.loose.len() as u64;
    collector.trace.oddities = oddities;
    collector.finished(options)
}

/// What was read so far.
struct Collector {
    trace: ExecutionTrace,
    form: Option<Form>,
    loose: Vec<Loose>,
    numbers: HashSet<u64>,
    flat: u64,
    votes: RankVotes,
    /// Names of groups by the number collectives give before 1.0.3.
    group_names: HashMap<u64, String>,
}

impl Collector {
    fn new(source_name: &str) -> Self {
        Collector {
            trace: ExecutionTrace { source: source_name.to_owned(), ..ExecutionTrace::default() },
            form: None,
            loose: Vec::new(),
            numbers: HashSet::new(),
            flat: 0,
            votes: RankVotes::default(),
            group_names: HashMap::new(),
        }
    }

    /// Takes in one node; a sentence on what is wrong with it otherwise.
    fn take(&mut self, text: &str) -> Result<(), String> {
        let written: WrittenNode<'_> =
            serde_json::from_str(text).map_err(|error| format!("this is no node: {error}"))?;
        let (Some(id), Some(name)) =
            (written.id.and_then(value::identity), written.name.as_deref())
        else {
            self.trace.node_oddities.unnamed += 1;
            return Ok(());
        };
        if !self.numbers.insert(id) {
            self.trace.node_oddities.repeated += 1;
            return Ok(());
        }
        let in_node = |problem: String| format!("node {id}: {problem}");
        let parent = written.parent().map_err(in_node)?;
        let inputs = written.inputs().map_err(|error| in_node(format!("inputs: {error}")))?;
        let outputs = written.outputs().map_err(|error| in_node(format!("outputs: {error}")))?;
        self.flat += u64::from(written.form() == Form::Flat);
        if name == group::NODE_NAME {
            self.take_groups(inputs.values);
        }
        let cut = [inputs.values, outputs.values].into_iter().flatten().any(value::has_cut_list);
        self.trace.node_oddities.cut_lists += u64::from(cut);
        let node = self.node(id, name, &written, (inputs, outputs));
        self.loose.push(Loose { node, parent });
        Ok(())
    }

    fn node(
        &mut self,
        id: u64,
        name: &str,
        written: &WrittenNode<'_>,
        (inputs, outputs): (WrittenValues<'_>, WrittenValues<'_>),
    ) -> Node {
        let collective =
            if name == collective::NODE_NAME { self.collective(written) } else { None };
        let names = &mut self.trace.names;
        let schema = written.text("op_schema").unwrap_or_default();
        let backend = written.text("kernel_backend").unwrap_or_default();
        let stated = |field| written.integer(field).filter(|&number| number != 0);
        Node {
            id,
            parent: 0,
            kind: kind(name, &schema, &backend),
            name: names.symbol(name),
            record_function: stated("rf_id"),
            forward_parent: stated("fw_parent").and_then(|parent| u64::try_from(parent).ok()),
            sequence: written.integer("seq_id").filter(|&sequence| sequence >= 0),
            thread: written.integer("tid").unwrap_or(0),
            forward_thread: stated("fw_tid"),
            schema: names.symbol(&schema),
            inputs: kept(inputs, names),
            outputs: kept(outputs, names),
            backend: names.symbol(&backend),
            kernel_file: names.symbol(&written.text("kernel_file").unwrap_or_default()),
            collective,
        }
    }

    fn collective(&mut self, written: &WrittenNode<'_>) -> Option<FactsId> {
        let stated = collective::stated(written, &mut self.trace.names)?;
        if let Some(rank) = stated.rank {
            self.votes.cast(rank);
        }
        let mut facts = stated.facts;
        if let Some(name) = self.group_names.get(&stated.group_number) {
            facts.group = self.trace.names.symbol(name);
        }
        self.trace.collectives.row(facts)
    }

    fn take_groups(&mut self, values: Option<&RawValue>) {
        for (group, number) in values.and_then(group::groups).unwrap_or_default() {
            if let Some(number) = number {
                self.group_names.insert(number, group.name.clone());
            }
            if !self.trace.groups.contains(&group) {
                self.trace.groups.push(group);
            }
        }
    }

    fn finished(mut self, options: &ReadOptions) -> Result<ExecutionTrace, TraceError> {
        let source_name = self.trace.source.clone();
        if self.form.is_none() && !options.allow_unknown_schema {
            return Err(TraceError::unusable(
                &source_name,
                "it states no schema",
                "an execution trace begins with `\"schema\": \"1.1.1-chakra.0.0.4\"` or the like",
            ));
        }
        if self.loose.is_empty() {
            return Err(TraceError::unusable(&source_name, "it has no nodes", ""));
        }
        let total = self.loose.len() as u64;
        self.trace.node_oddities.other_form = match self.form {
            Some(Form::Flat) => total - self.flat,
            Some(Form::Nested) => self.flat,
            None => 0,
        };
        self.trace.rank = self.votes.outcome();
        let oddities = &mut self.trace.node_oddities;
        self.trace.nodes = tree::grown(self.loose, &self.trace.names, &source_name, oddities)?;
        Ok(self.trace)
    }
}

/// The rule of the tool that replays execution traces: an operator has a schema, communicates
/// or is a Triton kernel.
fn kind(name: &str, schema: &str, backend: &str) -> NodeKind {
    let of_recorder = |what| name.starts_with("[pytorch|profiler|") && name.ends_with(what);
    if of_recorder("|process]") {
        NodeKind::Process
    } else if of_recorder("|thread]") {
        NodeKind::Thread
    } else if !schema.is_empty() || name == collective::NODE_NAME || backend == "triton" {
        NodeKind::Operator
    } else {
        NodeKind::Annotation
    }
}

fn kept(written: WrittenValues<'_>, names: &mut Names) -> Values {
    let mut symbol =
        |text: Option<&RawValue>| text.map_or(Symbol::EMPTY, |text| names.symbol(text.get()));
    Values {
        values: symbol(written.values),
        shapes: symbol(written.shapes),
        types: symbol(written.types),
        strides: symbol(written.strides),
    }
}
