//! Ranks in several processes, beside the stand-in driver: data passes between them, and one that
//! is killed is noticed by the others.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::fake::{Fake, example};

/// Starts a rank with the GPU of its number.
fn start(fake: &Fake, rank: u32, ranks: u32) -> Child {
    let shared = fake.folder.join("shared");
    Command::new(example("nccl_checks"))
        .args([rank.to_string(), ranks.to_string()])
        .arg(fake.folder.join("id"))
        .env("LD_LIBRARY_PATH", &fake.folder)
        .env("TMPDIR", &fake.folder)
        .env("KERNELGAUGE_FAKE_NCCL_FOLDER", shared)
        .env("KERNELGAUGE_COLLECTIVE_TIMEOUT", "5")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn folder_with_driver(fake: &Fake) {
    let driver = std::env::current_exe().unwrap().with_file_name("libkernelgauge_fake_driver.so");
    for name in ["libcuda.so.1", "libnvidia-ml.so.1"] {
        fs::copy(&driver, fake.folder.join(name)).unwrap();
    }
    fs::create_dir_all(fake.folder.join("shared")).unwrap();
}

#[test]
fn every_collective_is_right_over_three_processes() {
    let fake = Fake::new(&[]);
    folder_with_driver(&fake);
    let ranks: Vec<Child> = (0..3).map(|rank| start(&fake, rank, 3)).collect();
    for rank in ranks {
        let output = rank.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(text.matches(" µs\n").count(), 20, "{text}");
    }
}

#[test]
fn a_rank_that_is_killed_ends_the_others() {
    let fake = Fake::new(&[]);
    folder_with_driver(&fake);
    let began = Instant::now();
    let mut ranks: Vec<Child> = (0..2).map(|rank| start(&fake, rank, 3)).collect();
    // The third joins and goes: it is killed once it is one of them.
    let mut third = start(&fake, 2, 3);
    let joined = || {
        let names = fs::read_dir(fake.folder.join("shared")).unwrap();
        names.filter(|name| name.as_ref().unwrap().path().to_string_lossy().contains("-join-2"))
    };
    while joined().count() == 0 {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    third.kill().unwrap();
    third.wait().unwrap();
    for rank in ranks.drain(..) {
        let output = rank.wait_with_output().unwrap();
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(said.contains("another rank or the network to it failed"), "{said}");
    }
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn two_ranks_on_one_gpu_are_checked_where_the_library_lets_them() {
    let fake = Fake::new(&[]);
    folder_with_driver(&fake);
    let check = |version: &str| {
        let output = Command::new(example("nccl_checks"))
            .env("LD_LIBRARY_PATH", &fake.folder)
            .env("TMPDIR", &fake.folder)
            .env("NCCL_MULTI_RANK_GPU_ENABLE", "1")
            .env("KERNELGAUGE_FAKE_NCCL_VERSION", version)
            .env("KERNELGAUGE_COLLECTIVE_TIMEOUT", "0.2")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(check("22902").starts_with("skipped: NCCL 2.29.2 lets no two ranks share a GPU"));
    let text = check("23007");
    assert_eq!(text.matches(" µs\n").count(), 20, "{text}");
    assert!(text.contains("given up after "), "{text}");
}
