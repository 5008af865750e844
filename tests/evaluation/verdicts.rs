//! How results are judged, summed up and compared.

use mock::{ReceivedRequest, Replies, ScriptedReply};

use super::{document, draw, project, right_for, run_cases, verdicts};
use crate::support::{Provider, World};

/// Returns the answers of a model that is perfect, half right or wrong, by its name and whether it thinks.
fn three_models() -> Replies {
    let (perfect, half, wrong) = (right_for(&[0, 1, 2]), right_for(&[1]), right_for(&[]));
    Replies::driven(move |request: &ReceivedRequest| -> ScriptedReply {
        match request.json["model"].as_str() {
            Some("deepseek-v4-pro") => perfect(request),
            Some(_) if request.json["thinking"]["type"] == "enabled" => half(request),
            _ => wrong(request),
        }
    })
}

const VARIANTS: [&str; 6] = [
    "--with",
    "--model deepseek-v4-pro",
    "--with",
    "--model deepseek-flash --thinking on",
    "--with",
    "--model deepseek-flash --thinking off",
];

#[test]
fn a_perfect_a_half_right_and_a_wrong_model_are_told_apart() {
    let world = World::of(project(), Provider::new(three_models()));
    draw(&world);
    let report = run_cases(&world, &VARIANTS);
    assert_eq!(verdicts(&report, 0), ["passed", "passed", "passed"]);
    assert_eq!(verdicts(&report, 1), ["failed", "failed", "passed"]);
    assert_eq!(verdicts(&report, 2), ["failed", "failed", "failed"]);
    // The tests that the variants can see pass with any change: they are wrong about their own work.
    assert_eq!(report["variants"][2]["sums"]["wrongly_verified"], 3);
    let pairs = report["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 3);
    let difference = |pair: usize| pairs[pair]["difference"]["value"].as_f64().unwrap();
    assert!((difference(0) + 2.0 / 3.0).abs() < 1e-9 && (difference(1) + 1.0).abs() < 1e-9);
    assert_eq!(pairs[0]["only_first"].as_array().unwrap().len(), 2);
    assert_eq!(pairs[0]["only_second"].as_array().unwrap().len(), 0);
    assert_eq!(world.project.changed(), Vec::<String>::new());

    let text = world.deepseek(["eval", "show"]).run().stdout;
    for line in [
        "hidden tests: 3 passed, 0 failed, 0 cannot run · 100 % (95 %: 29 to 100)",
        "hidden tests: 1 passed, 2 failed, 0 cannot run · 33 % (95 %: 1 to 91)",
        "3 verified although the hidden tests fail",
        "--model deepseek-flash --thinking off against --model deepseek-v4-pro, on 3 cases",
        "difference -100 points",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let asked = world.provider.requests().len();
    let again = run_cases(&world, &[]);
    assert_eq!(again["variants"].as_array().unwrap().len(), 3);
    assert_eq!(world.provider.requests().len(), asked);
    let listed = world.deepseek(["eval", "list"]).run().stdout;
    assert!(listed.contains("3 cases") && listed.contains("deepseek-v4-pro"), "{listed}");
    let page = world.deepseek(["eval", "show", "--html"]).run().stdout;
    for text in [
        "<!doctype html>",
        "Pass rate (95 % interval)",
        "Say the number two right",
        "falsch",
        "it is falsch",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let id = document(&world.deepseek(["eval", "show", "--output", "json"]).run())["id"].clone();
    let removed = world.deepseek(["eval", "remove", id.as_str().unwrap()]).run();
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    assert_eq!(world.deepseek(["eval", "show"]).run().code, Some(2));
}

#[test]
fn no_attempt_begins_without_budget_and_a_larger_one_continues() {
    let world = super::world();
    draw(&world);
    let words = ["eval", "run", "--budget-usd", "0.0001"];
    let run = world.deepseek(words).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("of the budget is spent"), "{}", run.stderr);
    assert!(world.provider.requests().is_empty());
    let report = run_cases(&world, &["--budget-usd", "5", "--parallel", "2"]);
    assert_eq!(verdicts(&report, 0), ["passed", "passed", "passed"]);
}

#[test]
fn two_builds_are_two_variants() {
    let world = super::world();
    draw(&world);
    let other = world.home().join("other-build");
    let own = env!("CARGO_BIN_EXE_deepseek");
    std::fs::copy(own, &other).unwrap();
    // Another build of the same version has other bytes.
    let mut bytes = std::fs::read(&other).unwrap();
    bytes.push(0);
    std::fs::write(&other, bytes).unwrap();
    let report = run_cases(&world, &["--program", own, "--program", other.to_str().unwrap()]);
    assert_eq!(report["variants"].as_array().unwrap().len(), 2);
    assert_ne!(report["variants"][0]["build"], report["variants"][1]["build"]);
    assert_eq!(report["pairs"][0]["both_passed"], 3);
}
