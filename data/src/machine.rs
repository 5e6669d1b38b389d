//! What a data set and a model speak for: one machine.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::nearest::{self, UnknownName};

/// The links between the devices of a machine.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Links {
    /// The source does not say, or there is one device.
    #[default]
    Unstated,
    /// NVLink through NVSwitch.
    Nvswitch,
    /// NVLink, point to point.
    Nvlink,
    /// PCI Express.
    Pcie,
    /// AMD xGMI.
    Xgmi,
    /// Several nodes over a network.
    Network,
}

impl Links {
    const ALL: [Links; 6] =
        [Links::Unstated, Links::Nvswitch, Links::Nvlink, Links::Pcie, Links::Xgmi, Links::Network];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Links::Unstated => "unstated",
            Links::Nvswitch => "nvswitch",
            Links::Nvlink => "nvlink",
            Links::Pcie => "pcie",
            Links::Xgmi => "xgmi",
            Links::Network => "network",
        }
    }
}

impl fmt::Display for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Links {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        if text.is_empty() {
            return Ok(Links::Unstated);
        }
        Links::ALL
            .into_iter()
            .find(|links| links.name() == text)
            .ok_or_else(|| nearest::unknown("links", text, Links::ALL.map(Links::name)))
    }
}

/// Published figures of the device: starting values and bounds of the analytical terms, and
/// the ceiling of the quality gate. All optional: a figure nobody published stays unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hardware {
    /// Streaming multiprocessors, or processor cores in use.
    pub units: Option<u32>,
    /// Peak memory bandwidth in decimal GB/s.
    pub memory_gb_s: Option<f64>,
    /// Last-level cache in bytes.
    pub cache_bytes: Option<u64>,
    /// Device memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Peak link bandwidth of one device, one direction, in decimal GB/s.
    pub link_gb_s: Option<f64>,
    /// NVIDIA's compute capability, such as 8.9: which kernels libraries have for the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<f64>,
    /// Dense peak arithmetic in TFLOP/s (or TOP/s), by dtype name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub peak_tflop_s: BTreeMap<String, f64>,
    /// Where the figures were published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Hardware {
    /// The first figure that no device has, as its key and what is wrong with it.
    pub(crate) fn impossible(&self) -> Option<String> {
        /// No rate, capacity or count of a device comes near it.
        const MOST: f64 = 1e15;
        let whole = [
            ("units", self.units.map(f64::from)),
            ("cache_bytes", self.cache_bytes.map(|bytes| bytes as f64)),
            ("memory_bytes", self.memory_bytes.map(|bytes| bytes as f64)),
            ("memory_gb_s", self.memory_gb_s),
            ("link_gb_s", self.link_gb_s),
            ("compute_capability", self.compute_capability),
        ];
        let peaks = self.peak_tflop_s.iter().map(|(dtype, peak)| (dtype.as_str(), Some(*peak)));
        let mut stated = whole.into_iter().chain(peaks);
        let possible = |figure: f64| figure > 0.0 && figure < MOST;
        let (key, figure) = stated.find(|(_, figure)| figure.is_some_and(|f| !possible(f)))?;
        let figure = figure.unwrap_or_default();
        Some(format!("{key} of the hardware is {figure}; leave out what is not known"))
    }
}

/// Where the measurements of a data set come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Measured by this tool.
    Measured,
    /// Measured by others and imported with attribution.
    Imported,
    /// Made up by a test; no model fitted on it may be shipped.
    Synthetic,
}

/// A machine: the device model, how many, how linked, which software.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Short name: `h200-sxm`, `host-x86-64`.
    pub name: String,
    /// The device's own name: `NVIDIA H200`.
    pub device: String,
    /// Devices in one node.
    pub count: u32,
    /// How the devices are linked.
    #[serde(default)]
    pub links: Links,
    /// Software versions by name: `vllm = "0.24.0"`, `nccl = "2.27.3"`.
    #[serde(default)]
    pub software: BTreeMap<String, String>,
    /// Published figures of the device.
    #[serde(default)]
    pub hardware: Hardware,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_no_device_has_is_named() {
        let figures = |change: fn(&mut Hardware)| {
            let mut hardware = Hardware::default();
            change(&mut hardware);
            hardware.impossible().unwrap_or_default()
        };
        assert_eq!(figures(|_| ()), "");
        assert_eq!(figures(|hardware| hardware.memory_gb_s = Some(3350.0)), "");
        assert!(figures(|hardware| hardware.units = Some(0)).starts_with("units "));
        assert!(figures(|hardware| hardware.memory_gb_s = Some(f64::NAN)).contains("memory_gb_s"));
        assert!(figures(|hardware| hardware.link_gb_s = Some(f64::INFINITY)).contains("link_gb_s"));
        let peak = figures(|hardware| {
            hardware.peak_tflop_s.insert("bf16".to_owned(), -1.0);
        });
        assert!(peak.starts_with("bf16 of the hardware is -1"), "{peak}");
    }
}
