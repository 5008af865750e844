//! Research asks many child questions: what they cost, what an unanswered one changes, and that they end in time for the card.

use mock::{Behaviour, Options, ScriptedReply};

use super::mission::{mission, world};
use crate::sessions::resume::journal;
use crate::support::{Project, Provider, World};

/// Returns a small model's answer without findings, after a delay.
fn finds_nothing(delay_ms: u64) -> ScriptedReply {
    ScriptedReply { delay_ms, ..ScriptedReply::text("FINDINGS_V1\nNONE|nothing\nFINDINGS_END") }
}

/// Creates a project with one file that is split into `count` passages, and the small models' answer about each.
fn wide(count: usize, says: ScriptedReply, options: Options) -> World {
    let what = "what is kept under this number, and who may have it when it is asked for";
    let lines: Vec<String> = (0..count * 160).map(|at| format!("entry {at}: {what}")).collect();
    let project = Project::new(&[("register.txt", &lines.join("\n"))]);
    let nothing = "HYPOTHESES_V1\nNONE|nothing\nHYPOTHESES_END";
    let no_program = "PROGRAM_V1\nNONE|nothing\nPROGRAM_END";
    let plan =
        "MISSION_PLAN_V1\nTASK|01|read|x|What is it?\nREADS|01|register.txt\nMISSION_PLAN_END";
    let replies = vec![
        says.to("child").forever(),
        ScriptedReply::text(no_program).to("researcher").when_asked("PROGRAM_V1").forever(),
        ScriptedReply::text(nothing).to("researcher").when_asked("HYPOTHESES_V1").forever(),
        ScriptedReply::text(plan).to("researcher").forever(),
    ];
    World::of(project, Provider::with(replies, options))
}

/// Returns the prompt tokens of all child questions, and how many of them were cache hits.
fn prompts_of_children(world: &World) -> (u64, u64) {
    let replies = journal(world).into_iter().filter(|event| {
        event["kind"] == "ModelReply@v1"
            && event["data"]["role"] == "child"
            && event["data"]["outcome"] == "ok"
    });
    replies.fold((0, 0), |(prompt, hit), event| {
        let usage = &event["data"]["usage"];
        (prompt + usage["prompt"].as_u64().unwrap(), hit + usage["hit"].as_u64().unwrap())
    })
}

#[test]
fn the_common_prefix_of_questions_is_paid_for_once() {
    let share = |prime: bool| {
        let world = wide(16, finds_nothing(30), Options::default());
        let world = world.configure(&format!("[missions]\nprime = {prime}\n"));
        let run = mission(&world, &[]);
        assert_eq!(run.code, Some(3), "{}", run.stderr);
        let (prompt, hit) = prompts_of_children(&world);
        assert!(prompt > 16 * 50_000, "{prompt}");
        hit * 100 / prompt
    };
    let (primed, not) = (share(true), share(false));
    assert!(primed >= 90 && not <= 10, "{primed} % hits with priming, {not} % without");
}

#[test]
fn an_unanswered_question_does_not_affect_the_others() {
    let lines: Vec<String> =
        (0..16 * 160).map(|at| format!("entry {at} of the register")).collect();
    let project = Project::new(&[("register.txt", &lines.join("\n"))]);
    let found = "FINDINGS_V1\nFINDING|1-1|1|1|it is a register\nFINDINGS_END";
    let replies = vec![
        ScriptedReply::of(Behaviour::Http400)
            .to("child")
            .when_asked("register.txt:161-320")
            .forever(),
        ScriptedReply::text("no block").to("child").when_asked("register.txt:321-480").forever(),
        ScriptedReply::text("VERDICTS_V1\nVERDICTS_END")
            .to("child")
            .when_asked("Does this claim")
            .forever(),
        ScriptedReply::text(found).to("child").forever(),
        ScriptedReply::text("HYPOTHESES_V1\nNONE|x\nHYPOTHESES_END")
            .to("researcher")
            .when_asked("HYPOTHESES_V1")
            .forever(),
        ScriptedReply::text("VERDICTS_V1\nVERDICTS_END")
            .to("researcher")
            .when_asked("VERDICTS_V1")
            .forever(),
        ScriptedReply::text(
            "MISSION_PLAN_V1\nTASK|01|read|x|What is it?\nREADS|01|register.txt\nMISSION_PLAN_END",
        )
        .to("researcher")
        .forever(),
    ];
    let world = World::of(project, Provider::new(replies));
    let world = world.configure("[missions]\nquestion_retries = 0\n");
    let run = mission(&world, &[]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let events = journal(&world);
    let step = events.iter().find(|event| event["kind"] == "ResearchStep@v1").unwrap();
    assert_eq!((&step["data"]["asked"], &step["data"]["answered"]), (&16.into(), &14.into()));
    let ends = |end: &str| {
        events.iter().filter(|event| event["data"]["end"].to_string().contains(end)).count()
    };
    assert_eq!((ends("invalid_request"), ends("unreadable")), (1, 1), "{}", run.stderr);
    assert_eq!(world.deepseek(["replay", "latest"]).run().code, Some(0));
}

#[test]
fn a_mission_stays_within_its_budget_and_returns_its_findings() {
    // Every answer has a finding for each passage; those about other passages are dropped. Which questions are paid is random.
    let found = [1, 161, 321, 481].map(|at| format!("FINDING|{at}-{at}|7|8|it is a register"));
    let found = format!("FINDINGS_V1\n{}\nFINDINGS_END", found.join("\n"));
    // One budget runs out before any answer, the other in the middle of a batch.
    for (tokens, has_answers) in [(30_000, false), (200_000, true)] {
        let world = wide(4, ScriptedReply::text(&found), Options::default());
        let tokens_flag = tokens.to_string();
        let run = mission(&world, &["--budget-tokens", &tokens_flag]);
        assert!(matches!(run.code, Some(3 | 4)), "{:?} {}", run.code, run.stderr);
        let used: u64 = world
            .provider
            .requests()
            .iter()
            .map(|seen| seen.usage.map_or(0, |usage| usage.total()))
            .sum();
        assert!(used <= tokens, "{used} of {tokens}");
        let events = journal(&world);
        let ended = events.iter().find(|event| event["kind"] == "RunFinished@v3").unwrap();
        assert!(ended["data"]["spent"]["tokens"].as_u64().unwrap() <= tokens);
        let answered = events
            .iter()
            .find(|event| event["kind"] == "ResearchStep@v1")
            .map_or(0, |step| step["data"]["answered"].as_u64().unwrap());
        assert_eq!((answered > 0, answered < 4), (has_answers, true), "{answered} of {tokens}");
        let reported = run.stdout.matches("it is a register").count() as u64;
        assert_eq!(reported, answered, "{}\n{}", run.stdout, run.stderr);
    }
}

#[test]
fn research_ends_in_time_for_the_card() {
    let plan = "MISSION_PLAN_V1\nTASK|01|read|x|What is it?\nREADS|01|greet.txt\nMISSION_PLAN_END";
    let world = world(vec![ScriptedReply::text(plan).to("researcher").forever()])
        .configure("[budget]\nwall_seconds = 600\n[missions]\nkept_time = 1.0\n");
    let run = mission(&world, &[]);
    assert_eq!(run.code, Some(3), "{}\n{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("Mission card, version 1"), "{}", run.stdout);
    let cut = journal(&world).iter().filter(|it| it["kind"] == "ResearchCut@v1").count();
    assert!(cut > 0 && world.provider.of("child").is_empty(), "{cut}");
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn pending_questions_are_dropped_in_time_for_the_card() {
    let world = wide(24, finds_nothing(600_000), Options::default())
        .configure("[budget]\nwall_seconds = 8\n[missions]\nkept_time = 0.5\nprime = false\n");
    let run = mission(&world, &[]);
    assert_eq!(run.code, Some(3), "{}\n{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("Mission card, version 1"), "{}", run.stdout);
    let events = journal(&world);
    let of = |kind: &str| events.iter().filter(|it| it["kind"] == kind).collect::<Vec<_>>();
    let sent = of("ModelRequest@v1").iter().filter(|it| it["data"]["role"] == "child").count();
    assert_eq!((sent, of("CallDropped@v1").len()), (10, 10), "each call is settled");
    let ends = of("ChildEnded@v1");
    let late = ends.iter().filter(|it| it["data"]["end"].to_string().contains("wall_time"));
    assert_eq!((ends.len(), late.count()), (24, 24), "each question ends once");
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}{}", replay.stdout, replay.stderr);
}

#[test]
fn throttling_by_the_provider_leaves_no_question_unanswered() {
    let options = Options { concurrency_429: 2, ..Options::default() };
    let world = wide(24, finds_nothing(5), options);
    let world = world.configure("[llm]\nmax_retries = 8\n");
    let run = mission(&world, &["--max-subagents", "20"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let events = journal(&world);
    let step = events.iter().find(|event| event["kind"] == "ResearchStep@v1").unwrap();
    assert_eq!((&step["data"]["asked"], &step["data"]["answered"]), (&24.into(), &24.into()));
}
