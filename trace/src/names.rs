//! Texts that occur again and again, kept once: names of ops and kernels, texts of shapes.

use std::sync::Arc;

use crate::hash::FastMap;

/// A text of a [`Names`], as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);

impl Symbol {
    /// The empty text, which every [`Names`] holds first.
    pub const EMPTY: Symbol = Symbol(0);

    /// Its place among the texts.
    pub(crate) fn place(self) -> usize {
        self.0 as usize
    }

    /// Whether this is the empty text: nothing was stated.
    pub fn is_empty(self) -> bool {
        self == Symbol::EMPTY
    }
}

/// Every text that was seen, once each.
#[derive(Debug, Clone)]
pub struct Names {
    texts: Vec<Arc<str>>,
    symbols: FastMap<Arc<str>, Symbol>,
}

impl Default for Names {
    fn default() -> Self {
        let empty: Arc<str> = Arc::from("");
        let symbols = FastMap::from_iter([(Arc::clone(&empty), Symbol::EMPTY)]);
        Names { texts: vec![empty], symbols }
    }
}

impl Names {
    /// The number of a text, which is kept if it is new.
    pub fn symbol(&mut self, text: &str) -> Symbol {
        // Most events leave most texts out.
        if text.is_empty() {
            return Symbol::EMPTY;
        }
        if let Some(&symbol) = self.symbols.get(text) {
            return symbol;
        }
        // Four thousand million different names do not fit into the memory of one machine.
        let symbol = Symbol(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        let text: Arc<str> = Arc::from(text);
        self.texts.push(Arc::clone(&text));
        self.symbols.insert(text, symbol);
        symbol
    }

    /// The number of a text that was seen.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.symbols.get(text).copied()
    }

    /// The text of a number of these names; empty for a number of others.
    pub fn text(&self, symbol: Symbol) -> &str {
        self.texts.get(symbol.0 as usize).map_or("", |text| text)
    }

    /// How many different texts there are, the empty one included.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Never: the empty text is always there.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_its_number() {
        let mut names = Names::default();
        let first = names.symbol("aten::mm");
        assert_eq!(names.symbol("aten::mm"), first);
        assert_ne!(names.symbol("aten::add"), first);
        assert_eq!(names.text(first), "aten::mm");
        assert_eq!(names.symbol(""), Symbol::EMPTY);
        assert_eq!(names.find("aten::bmm"), None);
    }
}
