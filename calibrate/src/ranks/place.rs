//! Which of how many processes this one is, from flags or from what a launcher sets.
//!
//! In this order: flags, torchrun, Open MPI, MPICH and Intel MPI, Slurm. Slurm's variables also
//! stand inside an allocation and inside other launchers' jobs, so they count only within a job
//! step and last. All of them are text that anything may have set: numbers are checked here, and
//! that each rank is there once is checked when all meet (`gathering`).

use super::error::RanksError;
use super::token;

/// A variable of the environment; one that is empty is absent.
pub type Lookup<'f> = &'f dyn Fn(&str) -> Option<String>;

/// torchrun's own store listens on MASTER_PORT, so rank 0 listens on the next one.
const BESIDE_TORCHRUN: u16 = 1;
/// Ports for processes of one node that name none: below those that systems hand out themselves
/// (ip(7): from 32768 on), and so many that two jobs seldom meet.
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 10_000;
/// More processes than any job has.
const MOST_RANKS: u32 = 100_000;

/// What the command line says of ranks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Flags<'a> {
    /// This process's.
    pub rank: Option<u32>,
    /// How many there are.
    pub ranks: Option<u32>,
    /// Where rank 0 listens, as `HOST:PORT`.
    pub master: Option<&'a str>,
}

/// One process of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its number.
    pub rank: u32,
    /// How many there are; at least two.
    pub ranks: u32,
    /// Its number among those of its node, and how many these are, where that is known.
    pub local: Option<(u32, u32)>,
    /// Where rank 0 listens: `HOST:PORT`.
    pub master: String,
    /// What all processes of the job know, and others do not.
    pub token: String,
}

/// A launcher's variables: rank, ranks, rank and ranks within the node.
struct Launcher {
    name: &'static str,
    rank: &'static str,
    ranks: &'static str,
    local_rank: &'static str,
    local_ranks: &'static str,
    /// What tells this job from others.
    job: &'static [&'static str],
}

const LAUNCHERS: [Launcher; 4] = [
    Launcher {
        name: "torchrun",
        rank: "RANK",
        ranks: "WORLD_SIZE",
        local_rank: "LOCAL_RANK",
        local_ranks: "LOCAL_WORLD_SIZE",
        job: &["TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"],
    },
    Launcher {
        name: "Open MPI",
        rank: "OMPI_COMM_WORLD_RANK",
        ranks: "OMPI_COMM_WORLD_SIZE",
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        local_ranks: "OMPI_COMM_WORLD_LOCAL_SIZE",
        job: &["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"],
    },
    Launcher {
        name: "MPICH",
        rank: "PMI_RANK",
        ranks: "PMI_SIZE",
        local_rank: "MPI_LOCALRANKID",
        local_ranks: "MPI_LOCALNRANKS",
        job: &["PMI_JOBID", "SLURM_JOB_ID"],
    },
    Launcher {
        name: "Slurm",
        rank: "SLURM_PROCID",
        ranks: "SLURM_STEP_NUM_TASKS",
        local_rank: "SLURM_LOCALID",
        // A list such as `8(x2)`: not a number, and read apart.
        local_ranks: "SLURM_STEP_TASKS_PER_NODE",
        job: &["SLURM_JOB_ID", "SLURM_STEP_ID"],
    },
];

/// The place of this process; none where there is no other.
///
/// # Errors
/// What is stated does not make sense, or not enough is stated.
pub fn detect(flags: Flags<'_>, get: Lookup<'_>) -> Result<Option<Place>, RanksError> {
    if let (Some(rank), Some(ranks)) = (flags.rank, flags.ranks) {
        return by_hand(rank, ranks, flags.master, get);
    }
    if let Some(master) = flags.master {
        check_address(master)?;
    }
    let Some(launcher) = LAUNCHERS.iter().find(|launcher| launcher.is_there(get)) else {
        return match flags.master {
            None => Ok(None),
            Some(_) => Err(RanksError::Stated {
                what: "--master is for runs of several processes, and no launcher says that this \
                       is one"
                    .to_owned(),
                hint:
                    "add `--rank` and `--ranks`, start it with torchrun, mpirun or srun, or leave \
                       `--master` out"
                        .to_owned(),
            }),
        };
    };
    let rank = number(launcher.rank, get)?;
    let ranks = number(launcher.ranks, get)?;
    check(rank, ranks, launcher.name)?;
    if ranks < 2 {
        return Ok(None);
    }
    let local = launcher.local(get)?;
    let job: Vec<String> = launcher.job.iter().filter_map(|name| get(name)).collect();
    let job = format!("{} {} {ranks}", launcher.name, job.join(" "));
    let master = match flags.master {
        Some(master) => master.to_owned(),
        None => derived_master(launcher, local, ranks, &job, get)?,
    };
    let token = get(token::VARIABLE).unwrap_or(job);
    Ok(Some(Place { rank, ranks, local, master, token }))
}

/// Ranks that a person started one by one.
fn by_hand(
    rank: u32,
    ranks: u32,
    master: Option<&str>,
    get: Lookup<'_>,
) -> Result<Option<Place>, RanksError> {
    check(rank, ranks, "--rank and --ranks")?;
    if ranks < 2 {
        return Ok(None);
    }
    let lacking = |what: &str, hint: &str| RanksError::Stated {
        what: what.to_owned(),
        hint: hint.to_owned(),
    };
    let master = master.ok_or_else(|| {
        lacking("--rank needs the address of rank 0", "add `--master HOST:PORT` on every rank")
    })?;
    let token = get(token::VARIABLE).ok_or_else(|| {
        lacking(
            "--rank needs a token that all ranks share",
            "set KERNELGAUGE_TOKEN to the same secret for every rank",
        )
    })?;
    check_address(master)?;
    Ok(Some(Place { rank, ranks, local: None, master: master.to_owned(), token }))
}

impl Launcher {
    fn is_there(&self, get: Lookup<'_>) -> bool {
        let own = get(self.rank).is_some() && get(self.ranks).is_some();
        match self.name {
            // RANK and WORLD_SIZE alone may be anybody's. Operators of clusters that start one
            // process on each node set MASTER_ADDR beside them and no number within the node.
            "torchrun" => own && (get(self.local_rank).is_some() || get("MASTER_ADDR").is_some()),
            "MPICH" => own && get(self.local_rank).is_some(),
            "Slurm" => own && get("SLURM_STEP_ID").is_some(),
            _ => own,
        }
    }

    fn local(&self, get: Lookup<'_>) -> Result<Option<(u32, u32)>, RanksError> {
        if get(self.local_rank).is_none() {
            return Ok(None);
        }
        let rank = number(self.local_rank, get)?;
        let ranks = match self.name {
            "Slurm" => get(self.local_ranks).and_then(|list| tasks_of_node(&list, get)),
            _ => Some(number(self.local_ranks, get)?),
        };
        let Some(ranks) = ranks else { return Ok(None) };
        check(rank, ranks, self.local_rank)?;
        Ok(Some((rank, ranks)))
    }
}

/// The tasks of this node in a list such as `4(x2),3`, by the number of the node.
fn tasks_of_node(list: &str, get: Lookup<'_>) -> Option<u32> {
    let node: u32 = get("SLURM_NODEID")?.trim().parse().ok()?;
    let mut before = 0_u32;
    for part in list.split(',') {
        let (tasks, times) = match part.split_once("(x") {
            Some((tasks, times)) => (tasks, times.strip_suffix(')')?.parse().ok()?),
            None => (part, 1_u32),
        };
        before = before.checked_add(times)?;
        if node < before {
            return tasks.trim().parse().ok();
        }
    }
    None
}

fn derived_master(
    launcher: &Launcher,
    local: Option<(u32, u32)>,
    ranks: u32,
    job: &str,
    get: Lookup<'_>,
) -> Result<String, RanksError> {
    if launcher.name == "torchrun"
        && let Some(host) = get("MASTER_ADDR")
    {
        let port = number("MASTER_PORT", get)?;
        let port = u16::try_from(port).ok().and_then(|port| port.checked_add(BESIDE_TORCHRUN));
        return port.map(|port| format!("{host}:{port}")).ok_or_else(|| RanksError::Stated {
            what: "MASTER_PORT has no port after it".to_owned(),
            hint: "add `--master HOST:PORT`".to_owned(),
        });
    }
    if local.is_some_and(|(_, of_node)| of_node == ranks) {
        let port = FIRST_PORT + token::number_of(job) % PORTS;
        return Ok(format!("127.0.0.1:{port}"));
    }
    Err(RanksError::Stated {
        what: format!("{} does not say where rank 0 is", launcher.name),
        hint: "add `--master HOST:PORT` with the first node of the job and a free port".to_owned(),
    })
}

fn number(name: &str, get: Lookup<'_>) -> Result<u32, RanksError> {
    let text = get(name).unwrap_or_default();
    text.trim().parse().map_err(|_| RanksError::Stated {
        what: match text.as_str() {
            "" => format!("{name} is not set"),
            text => {
                format!(
                    "{name} is `{}`, not a whole number",
                    kernelgauge_data::table::shorten(text)
                )
            }
        },
        hint: "the launcher sets it; `--rank`, `--ranks` and `--master` do without one".to_owned(),
    })
}

/// An address that others can reach: a host and a port that is not left to the system.
fn check_address(address: &str) -> Result<(), RanksError> {
    let parts = address.rsplit_once(':');
    let port = parts.and_then(|(_, port)| port.parse::<u16>().ok());
    if parts.is_some_and(|(host, _)| !host.is_empty()) && port.is_some_and(|port| port > 0) {
        return Ok(());
    }
    Err(RanksError::Stated {
        what: format!("--master `{}` is no HOST:PORT", kernelgauge_data::table::shorten(address)),
        hint: "a host and a port from 1 to 65535: `--master node0:29600`".to_owned(),
    })
}

fn check(rank: u32, ranks: u32, stated: &str) -> Result<(), RanksError> {
    if rank < ranks && ranks <= MOST_RANKS {
        return Ok(());
    }
    if ranks > MOST_RANKS {
        return Err(RanksError::Stated {
            what: format!("{stated}: {ranks} ranks are more than {MOST_RANKS}"),
            hint: "one process for each GPU or node".to_owned(),
        });
    }
    Err(RanksError::Stated {
        what: format!("{stated}: there is no rank {rank} of {ranks}"),
        hint: "ranks count from 0".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(flags: Flags<'_>, variables: &[(&str, &str)]) -> Result<Option<Place>, String> {
        let get = |name: &str| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        };
        detect(flags, &get).map_err(|error| error.to_string())
    }

    #[test]
    fn addresses_that_no_one_can_reach_are_refused_before_anything_is_waited_for() {
        let by_hand = |master| {
            let flags = Flags { rank: Some(1), ranks: Some(2), master: Some(master) };
            place(flags, &[("KERNELGAUGE_TOKEN", "x")])
        };
        assert!(by_hand("node0:29600").is_ok() && by_hand("[::1]:29600").is_ok());
        for master in ["nonsense", "host:99999", "", ":29600", "127.0.0.1:0", "host:"] {
            assert!(by_hand(master).unwrap_err().contains("is no HOST:PORT"), "{master}");
        }
        let alone = Flags { master: Some("node0:29600"), ..Flags::default() };
        assert!(place(alone, &[]).unwrap_err().starts_with("--master is for runs of several"));
        let many = Flags { rank: Some(0), ranks: Some(5_000_000), master: Some("a:1") };
        assert!(place(many, &[]).unwrap_err().contains("are more than 100000"));
    }

    #[test]
    fn one_process_on_each_node_needs_no_number_within_it() {
        let variables = [
            ("RANK", "1"),
            ("WORLD_SIZE", "2"),
            ("MASTER_ADDR", "job-master-0"),
            ("MASTER_PORT", "23456"),
        ];
        let found = place(Flags::default(), &variables).unwrap().unwrap();
        assert_eq!((found.rank, found.ranks, found.local), (1, 2, None));
        assert_eq!(found.master, "job-master-0:23457");
        assert_eq!(place(Flags::default(), &variables[..2]).unwrap(), None);
    }

    const TORCHRUN: [(&str, &str); 7] = [
        ("RANK", "3"),
        ("WORLD_SIZE", "16"),
        ("LOCAL_RANK", "3"),
        ("LOCAL_WORLD_SIZE", "8"),
        ("MASTER_ADDR", "10.0.0.1"),
        ("MASTER_PORT", "29500"),
        ("TORCHELASTIC_RUN_ID", "none"),
    ];
    const OMPI: [(&str, &str); 4] = [
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("OMPI_COMM_WORLD_SIZE", "4"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
    ];
    const SLURM: [(&str, &str); 6] = [
        ("SLURM_PROCID", "9"),
        ("SLURM_STEP_NUM_TASKS", "11"),
        ("SLURM_LOCALID", "1"),
        ("SLURM_STEP_TASKS_PER_NODE", "4(x2),3"),
        ("SLURM_NODEID", "2"),
        ("SLURM_JOB_ID", "77"),
    ];

    #[test]
    fn each_launcher_says_who_is_who() {
        let found = place(Flags::default(), &TORCHRUN).unwrap().unwrap();
        assert_eq!((found.rank, found.ranks, found.local), (3, 16, Some((3, 8))));
        assert_eq!(found.master, "10.0.0.1:29501");
        let found = place(Flags::default(), &OMPI).unwrap().unwrap();
        assert_eq!((found.rank, found.ranks, found.local), (1, 4, Some((1, 4))));
        assert!(found.master.starts_with("127.0.0.1:2"), "{}", found.master);
        let flags = Flags { master: Some("n0:3000"), ..Flags::default() };
        let mpich = [
            ("PMI_RANK", "0"),
            ("PMI_SIZE", "2"),
            ("MPI_LOCALRANKID", "0"),
            ("MPI_LOCALNRANKS", "1"),
        ];
        let found = place(flags, &mpich).unwrap().unwrap();
        assert_eq!((found.rank, found.local), (0, Some((0, 1))));
        let step = [SLURM.as_slice(), &[("SLURM_STEP_ID", "0")]].concat();
        let found = place(flags, &step).unwrap().unwrap();
        assert_eq!((found.rank, found.ranks, found.local), (9, 11, Some((1, 3))));
        assert_eq!(found.master, "n0:3000");
    }

    #[test]
    fn flags_come_first_and_an_allocation_alone_starts_nothing() {
        assert_eq!(place(Flags::default(), &SLURM), Ok(None));
        assert_eq!(place(Flags::default(), &[("RANK", "0"), ("WORLD_SIZE", "2")]), Ok(None));
        assert_eq!(place(Flags::default(), &[]), Ok(None));
        let both = [TORCHRUN.as_slice(), &SLURM, &[("SLURM_STEP_ID", "0")]].concat();
        assert_eq!(place(Flags::default(), &both).unwrap().unwrap().rank, 3);
        let flags = Flags { rank: Some(1), ranks: Some(2), master: Some("a:1") };
        let secret = [both.as_slice(), &[(token::VARIABLE, "s3cret")]].concat();
        let found = place(flags, &secret).unwrap().unwrap();
        assert_eq!((found.rank, found.ranks, found.token.as_str()), (1, 2, "s3cret"));
        let alone = Flags { rank: Some(0), ranks: Some(1), master: None };
        assert_eq!(place(alone, &[]), Ok(None));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let without = |flags| place(flags, &[]).unwrap_err();
        let flags = Flags { rank: Some(0), ranks: Some(2), master: None };
        assert!(without(flags).contains("address of rank 0"));
        assert!(without(Flags { master: Some("a:1"), ..flags }).contains("a token"));
        assert_eq!(
            without(Flags { rank: Some(2), ..flags }),
            "--rank and --ranks: there is no rank 2 of 2"
        );
        for (name, value, words) in [
            ("OMPI_COMM_WORLD_RANK", "4", "Open MPI: there is no rank 4 of 4"),
            ("OMPI_COMM_WORLD_RANK", "-1", "OMPI_COMM_WORLD_RANK is `-1`, not a whole number"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "2", "Open MPI does not say where rank 0 is"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "9", "there is no rank 9 of 4"),
        ] {
            let mut variables = OMPI;
            for variable in &mut variables {
                if variable.0 == name {
                    variable.1 = value;
                }
            }
            let error = place(Flags::default(), &variables).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
