//! The models inside the binary.
//!
//! Each is the text that `calibrate fit` writes for a folder of `data/machines`; only the one
//! that is asked for is parsed. Left to others: names and files (`machine`).

/// A model as shipped.
#[derive(Debug, Clone, Copy)]
pub struct ShippedModel {
    /// Name of the machine and of its folder.
    pub name: &'static str,
    /// The model file.
    pub text: &'static str,
}

macro_rules! ship {
    ($($name:literal),* $(,)?) => {
        &[$(ShippedModel {
            name: $name,
            text: include_str!(concat!("../../data/machines/", $name, "/model.json")),
        }),*]
    };
}

/// Every shipped model, in name order. A machine is added by its folder and one line here.
pub const MODELS: &[ShippedModel] =
    ship!["a100-sxm", "h100-sxm", "h200-sxm", "host-x86-64", "l40s-pcie"];

/// Names of the shipped machines.
pub fn names() -> impl Iterator<Item = &'static str> {
    MODELS.iter().map(|model| model.name)
}
