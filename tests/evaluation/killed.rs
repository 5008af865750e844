//! `kill -9` at every record: the evaluation is continued, and no call is paid for twice.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::{draw, run_cases, verdicts, world};
use crate::support::{World, processes_left_in, wait_until};

/// Returns the record of the only evaluation.
fn record(world: &World) -> PathBuf {
    let evals = fs::read_dir(world.state().join("evals")).unwrap();
    evals.map(|entry| entry.unwrap().path()).next().unwrap().join("records.jsonl")
}

fn lines(world: &World) -> usize {
    fs::read_to_string(record(world)).unwrap_or_default().lines().count()
}

#[test]
fn killed_at_every_record_it_goes_on_and_pays_nothing_twice() {
    let unhurt = world();
    draw(&unhurt);
    let drawn = lines(&unhurt);
    run_cases(&unhurt, &[]);
    let (all, calls) = (lines(&unhurt), unhurt.provider.requests().len());
    assert!(all > drawn + 6, "{all} {drawn}");
    for at in drawn + 1..all {
        let world = world();
        draw(&world);
        let mut running = world.deepseek(["eval", "run"]).start();
        running.until(|| lines(&world) >= at);
        running.kill();
        let is_over = || processes_left_in(&world.state()).is_empty().then_some(());
        assert!(wait_until(Duration::from_secs(20), is_over).is_some(), "record {at}");
        wait_until(Duration::from_secs(20), || world.provider.is_idle().then_some(()));
        let report = run_cases(&world, &[]);
        assert_eq!(verdicts(&report, 0), ["passed", "passed", "passed"], "record {at}");
        // The call that was under way may have been answered and lost.
        let made = world.provider.requests().len();
        assert!(made == calls || made == calls + 1, "record {at}: {made} calls, {calls} without");
        assert_eq!(lines(&world), all, "record {at}");
    }
}

#[test]
fn cases_whose_drawing_was_killed_are_not_passed_over() {
    let world = world();
    draw(&world);
    let text = fs::read_to_string(record(&world)).unwrap();
    fs::write(record(&world), text.lines().next().unwrap().to_owned() + "\n").unwrap();
    let run = world.deepseek(["eval", "run"]).run();
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("drawing these cases was interrupted"), "{}", run.stderr);
    assert!(run.stderr.contains("`deepseek eval draw` draws cases"), "{}", run.stderr);
}

#[test]
fn two_processes_do_not_work_on_one_evaluation() {
    let world = world();
    draw(&world);
    let lock = fs::File::create(record(&world).with_file_name("lock")).unwrap();
    lock.lock().unwrap();
    let run = world.deepseek(["eval", "run"]).run();
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("another process is working on this evaluation"), "{}", run.stderr);
    assert!(run.stderr.contains("wait until it has ended, or end it"), "{}", run.stderr);
}
