//! The device list of the command line: `cpu`, `all`, `3`, `0..7`, `0-7`, `0,2,5`.
//!
//! Both ends of a range are included. Left to others: whether such devices exist (`open`).

use std::str::FromStr;

use kernelgauge_data::Diagnostic;
use thiserror::Error;

/// More devices than any node has; a longer range is a slip of the finger.
const MOST_DEVICES: usize = 64;

/// What `--device` asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceList {
    /// The processor.
    Cpu,
    /// The simulated device of the tests.
    Simulated,
    /// Every GPU.
    AllGpus,
    /// GPUs by index, ascending, each once.
    Gpus(Vec<u32>),
}

/// Why a device list is not one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeviceListError {
    /// Not a list at all.
    #[error("`{0}` is not a device list")]
    NotAList(String),
    /// A range whose end is before its start.
    #[error("`{text}` counts down")]
    Descending {
        /// The range as given.
        text: String,
        /// Its ends in order.
        swapped: String,
    },
    /// More than any node has.
    #[error("`{0}` names more than 64 devices")]
    TooMany(String),
}

impl Diagnostic for DeviceListError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            DeviceListError::NotAList(_) => {
                "use `cpu`, `all`, one index as `3`, a range as `0..7` (both ends included) or \
                 `0-7`, or a list as `0,2,5`"
                    .to_owned()
            }
            DeviceListError::Descending { swapped, .. } => format!("write it as `{swapped}`"),
            DeviceListError::TooMany(_) => "a node has at most 64 devices".to_owned(),
        })
    }
}

impl FromStr for DeviceList {
    type Err = DeviceListError;

    fn from_str(text: &str) -> Result<Self, DeviceListError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "cpu" => return Ok(DeviceList::Cpu),
            "simulated" => return Ok(DeviceList::Simulated),
            "all" => return Ok(DeviceList::AllGpus),
            _ => {}
        }
        let mut gpus = Vec::new();
        for part in text.split(',') {
            gpus.extend(range(text, part.trim())?);
            if gpus.len() > MOST_DEVICES {
                return Err(DeviceListError::TooMany(text.to_owned()));
            }
        }
        gpus.sort_unstable();
        gpus.dedup();
        Ok(DeviceList::Gpus(gpus))
    }
}

/// The indices of one part of the list.
fn range(text: &str, part: &str) -> Result<Vec<u32>, DeviceListError> {
    let index = |digits: &str| -> Result<u32, DeviceListError> {
        let only_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = if only_digits { digits.parse().ok() } else { None };
        number.ok_or_else(|| DeviceListError::NotAList(text.to_owned()))
    };
    let ends = part.split_once("..").or_else(|| part.split_once('-'));
    let Some((first, last)) = ends else { return Ok(vec![index(part)?]) };
    let (first, last) = (index(first)?, index(last)?);
    if last < first {
        let separator = if part.contains("..") { ".." } else { "-" };
        return Err(DeviceListError::Descending {
            text: part.to_owned(),
            swapped: format!("{last}{separator}{first}"),
        });
    }
    if (last - first) as usize >= MOST_DEVICES {
        return Err(DeviceListError::TooMany(text.to_owned()));
    }
    Ok((first..=last).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_with_both_ends_included() {
        let gpus = |list: &[u32]| Ok(DeviceList::Gpus(list.to_vec()));
        assert_eq!("cpu".parse(), Ok(DeviceList::Cpu));
        assert_eq!("ALL".parse(), Ok(DeviceList::AllGpus));
        assert_eq!("3".parse(), gpus(&[3]));
        assert_eq!("0..3".parse(), gpus(&[0, 1, 2, 3]));
        assert_eq!("0-1".parse(), gpus(&[0, 1]));
        assert_eq!("5,0,2,2".parse(), gpus(&[0, 2, 5]));
        assert_eq!("0..1, 4-5".parse(), gpus(&[0, 1, 4, 5]));
        assert_eq!("2..2".parse(), gpus(&[2]));
    }

    #[test]
    fn everything_else_is_refused_with_a_remedy() {
        for bad in ["", "gpu", "0..", "..7", "-1", "1,,2", "0..=7", "0x1", "4294967296", "+1"] {
            let error = bad.parse::<DeviceList>().unwrap_err();
            assert_eq!(error, DeviceListError::NotAList(bad.to_owned()));
        }
        let error = "7..0".parse::<DeviceList>().unwrap_err();
        assert_eq!(error.to_string(), "`7..0` counts down");
        assert_eq!(error.hint().as_deref(), Some("write it as `0..7`"));
        assert!(matches!(
            "0..4000000000".parse(),
            Err::<DeviceList, _>(DeviceListError::TooMany(_))
        ));
    }
}
