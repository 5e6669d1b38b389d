//! Texts and statements of a recording, in the numbers of the graph.

use crate::names::{Names, Symbol};
use crate::recording::{FactsId, OpFacts, Table};

/// Remembers what was translated.
pub struct Translator<'a> {
    from: &'a Names,
    symbols: Vec<Option<Symbol>>,
    ops: Vec<Option<Option<FactsId>>>,
}

impl<'a> Translator<'a> {
    /// For the texts of one recording.
    pub fn new(from: &'a Names) -> Self {
        Translator { from, symbols: vec![None; from.len()], ops: Vec::new() }
    }

    /// A text of the recording as a text of the graph.
    pub fn symbol(&mut self, to: &mut Names, symbol: Symbol) -> Symbol {
        let from = self.from;
        match self.symbols.get_mut(symbol.place()) {
            Some(known) => *known.get_or_insert_with(|| to.symbol(from.text(symbol))),
            None => Symbol::EMPTY,
        }
    }

    /// What an op of the recording stated, as a row of the graph's table; what it says of a
    /// collective is taken up elsewhere.
    pub fn op(
        &mut self,
        names: &mut Names,
        to: &mut Table<OpFacts>,
        from: &Table<OpFacts>,
        row: FactsId,
    ) -> Option<FactsId> {
        if self.ops.len() < from.rows().len() {
            self.ops.resize(from.rows().len(), None);
        }
        if let Some(Some(known)) = self.ops.get(row.place()) {
            return *known;
        }
        let facts = from.get(row)?;
        let translated = OpFacts {
            dims: self.symbol(names, facts.dims),
            types: self.symbol(names, facts.types),
            values: self.symbol(names, facts.values),
            strides: self.symbol(names, facts.strides),
            forward_thread: facts.forward_thread,
            backend: self.symbol(names, facts.backend),
            collective: None,
        };
        let stated = to.row(translated);
        if let Some(place) = self.ops.get_mut(row.place()) {
            *place = Some(stated);
        }
        stated
    }
}
