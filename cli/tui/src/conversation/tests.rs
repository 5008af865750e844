//! Tests of what keys do in a conversation.

use facts::scope::Scope;
use facts::signal::{Holds, Proposal};
use front::run_view::Commits;
use orchestrator::request::intent::RequestIntent;

use super::*;

fn conversation() -> Conversation {
    let facts = Facts {
        mode: "agent".to_owned(),
        approval: "suggest".to_owned(),
        model: "m".to_owned(),
        budget_usd: 0.0,
        workspace: "/w".to_owned(),
        session: "s".to_owned(),
        intent: None,
        commits: Commits::Offered,
        alternate_screen: AlternateScreen::Allowed,
        calls: UserCall::ByBell,
        models: Vec::new(),
        keys: Vec::new(),
    };
    Conversation::new(facts, Paint::Plain, vec!["before".to_owned()])
}

#[test]
fn tab_cycles_through_the_modes_unless_a_menu_is_open() {
    let mut it = conversation();
    let mode = |mode: &str| vec![ConversationAct::Set(ConversationSetting::Mode, mode.to_owned())];
    assert_eq!(it.key(Key::Tab, after(0)), mode("yolo"));
    assert_eq!(it.key(Key::BackTab, after(0)), mode("plan"));
    it.facts.mode = "yolo".to_owned();
    assert_eq!(it.key(Key::Tab, after(0)), mode("hetun"));
    it.facts.mode = "hetun".to_owned();
    assert_eq!(it.key(Key::Tab, after(0)), mode("plan"), "hetun is the last mode");
    types(&mut it, "/he", 0);
    assert_eq!(it.key(Key::Tab, after(0)), []);
    assert_eq!(it.composer.text(), "/help ");
}

#[test]
fn tab_in_a_word_to_complete_never_changes_the_mode() {
    for text in
        ["see @zzqq", "/resume 0", "/model nothing-like-it", "/mode ", "look at shop/ca", "x "]
    {
        for key in [Key::Tab, Key::BackTab] {
            let mut it = conversation();
            types(&mut it, text, 0);
            let acts = it.key(key.clone(), after(1));
            assert!(
                !acts.iter().any(|act| matches!(act, ConversationAct::Set(..))),
                "{text}, {key:?}: {acts:?}"
            );
        }
    }
}

#[test]
fn tab_completes_the_path_at_the_cursor() {
    let completed = |text: &str, files: &[&str]| {
        let mut it = conversation();
        types(&mut it, text, 0);
        assert_eq!(it.key(Key::Tab, after(1)), [ConversationAct::FindFiles]);
        it.know_files(files.iter().map(|&path| path.to_owned()).collect(), after(2));
        (it.composer.text(), it.menu.is_some(), it.hint(after(3)).is_some())
    };
    let files = ["shop/cart.py", "shop/cash.py", "lib/x.py"];
    assert_eq!(completed("look at shop/ca", &files), ("look at shop/ca".to_owned(), true, false));
    assert_eq!(completed("look at x.p", &files), ("look at lib/x.py ".to_owned(), false, false));
    assert_eq!(completed("nothing", &files), ("nothing".to_owned(), false, true));
}

#[test]
fn the_user_is_called_by_bell_or_notification() {
    assert_eq!(UserCall::ByBell.bytes("it waits"), "\u{7}");
    assert_eq!(UserCall::ByNotification.bytes("it waits"), "\u{1b}]9;deepseek: it waits\u{7}");
}

fn after(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn types(it: &mut Conversation, text: &str, ms: u64) -> Vec<ConversationAct> {
    let key = |c| if c == '\n' { Key::Enter } else { Key::Char(c) };
    text.chars().flat_map(|c| it.key(key(c), after(ms))).collect()
}

fn request(text: &str) -> Request {
    Request::new(text.to_owned(), None)
}

/// Creates a conversation with a running request that asks for approval of a command at 1 s.
fn asked() -> (Conversation, oneshot::Receiver<ApprovalAnswer>) {
    let mut it = conversation();
    it.begun("do it", after(0));
    let (answer, answered) = oneshot::channel();
    let what = Proposal::Command("make".to_owned(), Holds::Always);
    let (scope, why) = (Scope::SESSION, "`make` is not listed".to_owned());
    it.ask(ApprovalQuestion { scope, what, why, answer }, after(1_000));
    (it, answered)
}

#[test]
fn text_being_typed_when_a_question_appears_is_not_its_answer() {
    let (mut it, mut answered) = asked();
    types(&mut it, "y", 1_100);
    // It continues as a draft, however long it takes.
    types(&mut it, "es, but", 2_000);
    assert!(answered.try_recv().is_err());
    assert_eq!(it.composer.text(), "yes, but");
    it.key(Key::Alt('y'), after(2_100));
    assert_eq!(answered.try_recv(), Ok(ApprovalAnswer::Yes));
    assert_eq!(it.composer.text(), "yes, but");
}

#[test]
fn a_question_is_answered_by_a_word_and_enter_or_with_a_reason() {
    for (keys, answer) in [
        ("y\n", ApprovalAnswer::Yes),
        ("always\n", ApprovalAnswer::Always),
        ("n\n\n", ApprovalAnswer::No),
        ("n\nuse just\n", ApprovalAnswer::Because("use just".to_owned())),
        ("no: use just\n", ApprovalAnswer::Because("use just".to_owned())),
    ] {
        let (mut it, mut answered) = asked();
        assert_eq!(types(&mut it, keys, 1_400), []);
        assert_eq!(answered.try_recv(), Ok(answer), "{keys:?}");
    }
    let (mut it, mut answered) = asked();
    types(&mut it, "n\nwhy", 1_400);
    it.key(Key::Esc, after(1_500));
    types(&mut it, "\n", 1_600);
    assert!(answered.try_recv().is_err() && it.hint(after(1_700)).is_some());
}

#[test]
fn no_letter_of_a_message_answers_a_question() {
    for message in ["also check the docs", "you should say hi", "not this one", "shall we?"] {
        let (mut it, mut answered) = asked();
        types(&mut it, message, 1_400);
        assert!(answered.try_recv().is_err(), "{message}");
        assert_eq!(it.composer.text(), message);
        types(&mut it, "\n", 1_500);
        assert!(answered.try_recv().is_err() && it.queue.len() == 1, "{message}");
    }
}

#[test]
fn what_always_stores_is_shown_before_it_is_given() {
    let keys = |it: &Conversation| {
        let size = ScreenSize { columns: 200, rows: 24 };
        crate::paint::frame(it, size, after(1_500)).rows.join("\n")
    };
    let (mut it, mut answered) = asked();
    assert!(keys(&it).contains("a always"), "{}", keys(&it));
    it.key(Key::Alt('a'), after(1_400));
    assert!(answered.try_recv().is_err());
    let shown = keys(&it);
    assert!(shown.contains("Enter: `make` runs without a question in this directory"), "{shown}");
    assert!(shown.contains("deepseek policy forget 'make'"), "{shown}");
    types(&mut it, "\n", 1_500);
    assert_eq!(answered.try_recv(), Ok(ApprovalAnswer::Always));
}

#[test]
fn a_reason_that_is_not_sent_can_be_recalled() {
    let recalled = |it: &mut Conversation| {
        assert_eq!(it.composer.text(), "");
        it.key(Key::Up, after(3_000));
        it.composer.text()
    };
    let (mut it, _answered) = asked();
    types(&mut it, "n\nuse just", 1_400);
    it.key(Key::Esc, after(1_500));
    assert_eq!(recalled(&mut it), "use just");
    let (mut it, answered) = asked();
    types(&mut it, "n\nuse just", 1_400);
    drop(answered);
    it.drop_withdrawn(after(1_500));
    assert_eq!(recalled(&mut it), "use just");
    let (mut it, _answered) = asked();
    types(&mut it, "n\nuse just", 1_400);
    it.ended();
    assert_eq!(recalled(&mut it), "use just");
}

#[test]
fn a_model_is_answered_in_words_and_a_draft_keeps_the_keys() {
    let open = || {
        let (answer, answered) = oneshot::channel();
        let (scope, text) = (Scope::SESSION, "Which port?".to_owned());
        let if_empty = "80 is taken".to_owned();
        (OpenQuestion { scope, text, if_empty, answer }, answered)
    };
    let mut it = conversation();
    it.begun("do it", after(0));
    let (question, mut answered) = open();
    it.ask_for_words(question, after(1_000));
    types(&mut it, "8080\n", 1_100);
    assert_eq!(answered.try_recv(), Ok("8080".to_owned()));
    types(&mut it, "draft", 1_200);
    let (question, mut answered) = open();
    it.ask_for_words(question, after(2_000));
    types(&mut it, "ed", 3_000);
    assert!(answered.try_recv().is_err());
    it.key(Key::Alt('a'), after(4_000));
    types(&mut it, "any\n", 4_100);
    assert_eq!(answered.try_recv(), Ok("any".to_owned()));
    let (question, mut answered) = open();
    it.ask_for_words(question, after(5_000));
    it.key(Key::Alt('n'), after(6_000));
    assert_eq!(answered.try_recv(), Ok(String::new()));
    assert_eq!(it.composer.text(), "drafted");
}

#[test]
fn messages_are_queued_during_a_request_and_survive_an_interrupt() {
    let mut it = conversation();
    it.begun("first", after(0));
    assert_eq!(types(&mut it, "second\n", 0), [ConversationAct::Keep("second".to_owned())]);
    types(&mut it, "third\ndraft", 0);
    assert_eq!(it.next(), None);
    assert_eq!(it.key(Key::Ctrl('c'), after(1)), [ConversationAct::Cancel]);
    it.ended();
    assert_eq!((it.next(), it.queue.len()), (None, 2));
    assert_eq!(it.composer.text(), "draft");
    // An empty line continues the queue.
    it.key(Key::Ctrl('u'), after(2));
    types(&mut it, "\n", 3);
    assert_eq!(it.next(), Some(request("second")));
    it.begun("second", after(0));
    // The last queued request is recalled for editing.
    it.key(Key::Up, after(4));
    assert_eq!((it.composer.text(), it.queue.len()), ("third".to_owned(), 0));
}

#[test]
fn escape_takes_away_one_thing_at_a_time_and_loses_nothing() {
    let mut it = conversation();
    it.begun("first", after(0));
    types(&mut it, "second\n", 0);
    types(&mut it, "/d", 0);
    assert!(it.menu.is_some());
    assert_eq!(it.key(Key::Esc, after(1)), []);
    assert!(it.menu.is_none() && it.work == CurrentWork::Busy);
    assert_eq!(it.key(Key::Esc, after(2)), [ConversationAct::Cancel]);
    assert_eq!(it.composer.text(), "/d");
    assert_eq!(it.key(Key::Esc, after(3)), []);
    assert_eq!((it.composer.text(), it.queue.len()), (String::new(), 1));
    assert_eq!(it.key(Key::Esc, after(4)), []);
    assert!(it.queue.is_empty());
    assert_eq!(it.key(Key::Esc, after(5)), []);
    for recalled in ["second", "/d"] {
        it.key(Key::Up, after(6));
        assert_eq!(it.composer.text(), recalled);
    }
    assert_eq!(it.key(Key::Ctrl('c'), after(7)), [ConversationAct::StopAtOnce]);
}

#[test]
fn leaving_takes_two_presses_and_typed_text_is_not_lost() {
    let mut it = conversation();
    types(&mut it, "a draft", 0);
    assert_eq!(it.key(Key::Ctrl('c'), after(1)), []);
    assert!(it.composer.is_empty());
    it.key(Key::Up, after(2));
    assert_eq!(it.composer.text(), "a draft");
    it.key(Key::Up, after(3));
    assert_eq!(it.composer.text(), "before");
    it.key(Key::Down, after(4));
    it.key(Key::Down, after(5));
    assert_eq!(it.composer.text(), "");
    assert_eq!(it.key(Key::Ctrl('c'), after(6)), []);
    assert_eq!(it.key(Key::Ctrl('c'), after(7)), [ConversationAct::Leave]);
    assert_eq!(it.key(Key::Ctrl('d'), after(8)), [ConversationAct::Leave]);
}

#[test]
fn lines_are_requests_commands_or_mistakes_that_can_be_corrected() {
    let mut it = conversation();
    assert_eq!(types(&mut it, "fix it\n", 0)[1..], [ConversationAct::Begin(request("fix it"))]);
    assert_eq!(
        types(&mut it, "/src/x.rs fails\n", 0)[1..],
        [ConversationAct::Begin(request("/src/x.rs fails"))]
    );
    let asked = Request::new("why".to_owned(), Some(RequestIntent::Answer));
    assert_eq!(types(&mut it, "/ask why\n", 0)[1..], [ConversationAct::Begin(asked)]);
    assert_eq!(types(&mut it, "!ls -l\n", 0)[1..], [ConversationAct::Shell("ls -l".to_owned())]);
    assert_eq!(types(&mut it, "exit\n", 0)[1..], [ConversationAct::Leave]);
    assert_eq!(it.key(Key::Ctrl('c'), after(1)), [ConversationAct::Kill]);
    assert_eq!(types(&mut it, "/dif\n", 0), [], "the command is completed, not run");
    it.key(Key::Ctrl('u'), after(1));
    assert_eq!(types(&mut it, "/nothing\n", 2)[1..], []);
    assert!(it.hint(after(3)).is_some_and(|hint| hint.contains("/help")));
    // The input is empty again, and the line can be recalled.
    assert_eq!(it.composer.text(), "");
    it.key(Key::Up, after(4));
    assert_eq!(it.composer.text(), "/nothing");
    it.key(Key::Ctrl('u'), after(4));
    assert_eq!(
        types(&mut it, "two\\\nlines\n", 5)[1..],
        [ConversationAct::Begin(request("two\nlines"))]
    );
}

#[test]
fn ctrl_r_searches_earlier_messages() {
    let mut it = conversation();
    for line in ["fix a\n", "ask b\n", "fix c\n"] {
        types(&mut it, line, 0);
    }
    it.ended();
    it.key(Key::Ctrl('r'), after(1));
    types(&mut it, "fix a", 2);
    let offers = |it: &Conversation| it.menu.as_ref().map(|menu| menu.offers.len());
    assert_eq!(offers(&it), Some(1));
    assert_eq!(types(&mut it, "\n", 3), [], "the message is inserted, not sent");
    assert_eq!((it.composer.text(), offers(&it)), ("fix a".to_owned(), None));
}

#[test]
fn escape_ends_a_search_and_restores_the_draft() {
    let mut it = conversation();
    for end in [Key::Esc, Key::Ctrl('c')] {
        it.composer.set("a draft");
        it.key(Key::Ctrl('r'), after(1));
        types(&mut it, "bef", 2);
        assert_eq!(it.menu.as_ref().map(Menu::choice), Some("before"));
        it.key(end.clone(), after(3));
        assert_eq!((it.composer.text(), it.menu.is_none()), ("a draft".to_owned(), true));
        // The same if nothing matches; Enter then sends nothing.
        it.key(Key::Ctrl('r'), after(4));
        types(&mut it, "nowhere\n", 5);
        assert!(it.menu.is_none() && it.hint(after(6)).is_some());
        it.key(end, after(7));
        assert_eq!(it.composer.text(), "a draft");
    }
    // A draft that an earlier message replaced can be recalled.
    it.key(Key::Ctrl('r'), after(8));
    types(&mut it, "bef\n", 9);
    assert_eq!(it.composer.text(), "before");
    it.key(Key::Up, after(10));
    assert_eq!(it.composer.text(), "a draft");
}

#[test]
fn a_setting_without_a_value_offers_the_known_values() {
    let mut it = conversation();
    it.facts.models = vec!["small".to_owned(), "large".to_owned()];
    types(&mut it, "/model\n", 0);
    let offers: Vec<String> =
        it.menu.iter().flat_map(|menu| &menu.offers).map(|(offer, _)| offer.clone()).collect();
    assert_eq!((it.composer.text(), offers), ("/model ".to_owned(), it.facts.models.clone()));
}

#[test]
fn the_input_and_the_question_fit_a_terminal_of_any_size() {
    let (mut it, _answered) = asked();
    for n in 0..30 {
        types(&mut it, &format!("queued {n}\n"), 1_100);
    }
    types(&mut it, "你好 draft", 1_100);
    for rows in 3..40 {
        for columns in [12, 40, 80] {
            let size = ScreenSize { columns, rows };
            let frame = crate::paint::frame(&it, size, after(1_200));
            assert!(frame.rows.len() < usize::from(rows), "{size:?}");
            let text = frame.rows.join("\n");
            assert!(rows < 9 || text.contains("你好"), "{size:?}: {text}");
            assert!(rows < 6 || text.contains("Run it?"), "{size:?}: {text}");
            assert!(frame.cursor.0 < columns && usize::from(frame.cursor.1) < frame.rows.len());
        }
    }
}

#[test]
fn a_setting_that_is_stored_also_holds_now() {
    let mut it = conversation();
    let words = |words: &[&str]| words.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    let acts = types(&mut it, "/config set policy.approval auto\n", 0);
    let stored = ConversationAct::Program(words(&["config", "set", "policy.approval", "auto"]));
    assert_eq!(
        acts[1..],
        [stored, ConversationAct::Set(ConversationSetting::Approval, "auto".to_owned())]
    );
    let acts = types(&mut it, "/config set budget.usd 1\n", 1);
    assert!(!acts.iter().any(|act| matches!(act, ConversationAct::Set(..))), "{acts:?}");
}
