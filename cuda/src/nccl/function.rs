//! The functions that are used of NCCL, and since when it has them.

use std::fmt;

use super::bindings::NcclFunctions;
use super::version::Version;

/// Declares [`Function`] from one line for each function: its name here, its name in the
/// library, and the first version that has it.
macro_rules! functions {
    ($($variant:ident $name:ident $major:literal . $minor:literal . $patch:literal,)*) => {
        /// A function of NCCL.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Function {
            $(#[doc = concat!("`", stringify!($name), "`")] $variant,)*
        }

        impl Function {
            /// Every function that is used.
            pub const ALL: &[Function] = &[$(Function::$variant,)*];

            /// Its name in the library.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Function::$variant => stringify!($name),)*
                }
            }

            /// The first version of NCCL that has it.
            pub const fn since(self) -> Version {
                match self {
                    $(Function::$variant => Version::new($major, $minor, $patch),)*
                }
            }

            /// Whether the loaded library has it.
            pub(super) fn is_in(self, functions: &NcclFunctions) -> bool {
                match self {
                    $(Function::$variant => functions.$name.is_ok(),)*
                }
            }
        }
    };
}

// Versions: the release notes and tags of NCCL. 2.4 stands for "2.4 or before".
functions! {
    GetVersion ncclGetVersion 2 . 4 . 0,
    GetErrorString ncclGetErrorString 2 . 4 . 0,
    GetLastError ncclGetLastError 2 . 13 . 0,
    GetUniqueId ncclGetUniqueId 2 . 4 . 0,
    InitRankConfig ncclCommInitRankConfig 2 . 14 . 0,
    GetAsyncError ncclCommGetAsyncError 2 . 4 . 0,
    Count ncclCommCount 2 . 4 . 0,
    UserRank ncclCommUserRank 2 . 4 . 0,
    CuDevice ncclCommCuDevice 2 . 4 . 0,
    Finalize ncclCommFinalize 2 . 14 . 0,
    Destroy ncclCommDestroy 2 . 4 . 0,
    Abort ncclCommAbort 2 . 4 . 0,
    GroupStart ncclGroupStart 2 . 4 . 0,
    GroupEnd ncclGroupEnd 2 . 4 . 0,
    AllReduce ncclAllReduce 2 . 4 . 0,
    Reduce ncclReduce 2 . 4 . 0,
    ReduceScatter ncclReduceScatter 2 . 4 . 0,
    Broadcast ncclBroadcast 2 . 4 . 0,
    AllGather ncclAllGather 2 . 4 . 0,
    AllToAll ncclAlltoAll 2 . 28 . 0,
    Gather ncclGather 2 . 28 . 0,
    Scatter ncclScatter 2 . 28 . 0,
    Send ncclSend 2 . 7 . 0,
    Receive ncclRecv 2 . 7 . 0,
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
