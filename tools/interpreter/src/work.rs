//! Runs one step of a program. Does not wait, and reaches nothing outside the process.

use std::borrow::Cow;
use std::time::Duration;

use monty::{Dump, FunctionCall, MontyRun, NameLookup, RunProgress, Session, SessionRef, dump};
use monty_types::{
    CompileOptions, ExcType, ExtFunctionResult, MontyException, MontyObject, NameLookupResult,
    PrintWriter, PrintWriterCallback, ResourceLimits, ResourceTracker,
};
use serde::{Deserialize, Serialize};
use tools::count::counted;

use crate::helpers::{Called, Helpers, parameters};
use crate::pieces::Files;
use crate::task::{Begin, Cite, ProgramEnding, ProgramLimits, ProgramOutcome, ProgramStep, Task};

/// The file name of a program in tracebacks.
const NAME: &str = "program.py";
/// Maximum depth of function calls.
const MAX_RECURSION: usize = 200;
/// Maximum size of the text of an exception, in bytes.
const MAX_TOLD: usize = 4096;
/// Maximum size of what a program prints, and of its result, in bytes.
const MAX_PRINTED: usize = 32 * 1024;

/// The saved state of a program that asks.
#[derive(Serialize, Deserialize)]
struct State {
    /// The state of the interpreter.
    paused: Vec<u8>,
    /// True if the program waits for a list.
    is_list: bool,
    printed: Printed,
    notes: Vec<String>,
    cites: Vec<Cite>,
    batches: u32,
    questions: u32,
    unanswered: u32,
}

/// The output of a program, cut at its limit.
#[derive(Default, Serialize, Deserialize)]
struct Printed {
    text: String,
    left_out: usize,
}

impl Printed {
    fn push(&mut self, text: &str) {
        let room = MAX_PRINTED.saturating_sub(self.text.len());
        let kept = text.get(..text.floor_char_boundary(room)).unwrap_or(text);
        self.text.push_str(kept);
        self.left_out += text.len() - kept.len();
    }
}

impl PrintWriterCallback for Printed {
    fn stdout_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        self.push(&output);
        Ok(())
    }

    fn stdout_push(&mut self, end: char) -> Result<(), MontyException> {
        self.push(end.encode_utf8(&mut [0; 4]));
        Ok(())
    }
}

/// Runs one step of a program.
pub fn work(Task { limits, files, begin }: Task) -> ProgramStep {
    let mut program = Program {
        limits,
        helpers: Helpers::new(Files::new(files)),
        printed: Printed::default(),
        batches: 0,
        questions: 0,
        unanswered: 0,
    };
    match begin {
        Begin::Program(text) => match program.start(text) {
            Ok(progress) => program.go(progress),
            Err(error) => program.raised(&error),
        },
        Begin::Answered { state, answers, notes } => match program.restore(&state) {
            Some((call, is_list)) => {
                for note in notes {
                    program.helpers.note(note);
                }
                let given = program.answered(answers, is_list);
                let writer = PrintWriter::Callback(&mut program.printed);
                match call.resume(given, writer) {
                    Ok(progress) => program.go(progress),
                    Err(error) => program.raised(&error),
                }
            }
            None => program.ended(ProgramEnding::Unreadable),
        },
    }
}

/// A running program.
struct Program {
    limits: ProgramLimits,
    helpers: Helpers,
    printed: Printed,
    batches: u32,
    questions: u32,
    unanswered: u32,
}

/// What to do next.
enum Next {
    Go(Box<RunProgress>),
    Stop(ProgramStep),
}

fn go_on(progress: RunProgress) -> Next {
    Next::Go(Box::new(progress))
}

impl Program {
    fn start(&mut self, text: String) -> Result<RunProgress, MontyException> {
        let program = MontyRun::new(text, NAME, Vec::new(), CompileOptions::default())?;
        let limits = ResourceLimits {
            max_duration: Some(Duration::from_secs(self.limits.seconds)),
            max_recursion_depth: MAX_RECURSION,
            ..ResourceLimits::default()
        };
        let writer = PrintWriter::Callback(&mut self.printed);
        program.start(Vec::new(), ResourceTracker::new(limits), writer)
    }

    fn go(mut self, mut progress: RunProgress) -> ProgramStep {
        loop {
            let next = match progress {
                RunProgress::Complete(value) => {
                    let end = ProgramEnding::Result(shown(&value));
                    return self.ended(end);
                }
                RunProgress::FunctionCall(call) => self.called(call),
                RunProgress::NameLookup(lookup) => self.named(lookup).map(go_on),
                RunProgress::OsCall(call) => {
                    let text = "a program has no files, clock or network; files() lists the files it can read";
                    let error =
                        MontyException::new(ExcType::PermissionError, Some(text.to_owned()));
                    let writer = PrintWriter::Callback(&mut self.printed);
                    call.resume(error, writer).map(go_on)
                }
                RunProgress::ResolveFutures(_) => {
                    let text = "there is nothing to await; use llm_query_batched to ask several questions at once";
                    return self.ended(ProgramEnding::Raised(text.to_owned()));
                }
            };
            progress = match next {
                Ok(Next::Go(progress)) => *progress,
                Ok(Next::Stop(step)) => return step,
                Err(error) => return self.raised(&error),
            };
        }
    }

    /// Resolves a name that the program did not define: a helper, or undefined.
    fn named(&mut self, lookup: NameLookup) -> Result<RunProgress, MontyException> {
        let name = lookup.name.clone();
        let found = match parameters(&name) {
            Some(_) => NameLookupResult::Value(MontyObject::Function { name, docstring: None }),
            None => NameLookupResult::Undefined,
        };
        lookup.resume(found, PrintWriter::Callback(&mut self.printed))
    }

    fn called(&mut self, mut call: FunctionCall) -> Result<Next, MontyException> {
        let done = self.helpers.call(&mut call);
        let name = call.function_name.clone();
        let writer = PrintWriter::Callback(&mut self.printed);
        let (batch, is_list) = match done {
            Ok(Called::Value(value)) => return call.resume(value, writer).map(go_on),
            Err(wrong) => return call.resume(wrong.exception(&name), writer).map(go_on),
            Ok(Called::Final(value)) => {
                let end = ProgramEnding::Result(shown(&value));
                return Ok(Next::Stop(self.take_end(end)));
            }
            Ok(Called::Asks(batch, is_list)) => (batch, is_list),
        };
        let more = u32::try_from(batch.questions.len()).unwrap_or(u32::MAX);
        self.batches += 1;
        self.questions = self.questions.saturating_add(more);
        let ProgramLimits { batches, questions, .. } = self.limits;
        if self.batches > batches || self.questions > questions {
            let text = format!(
                "a program may ask at most {}, and {} in total",
                counted(batches, "time"),
                counted(questions, "question")
            );
            let error = MontyException::new(ExcType::RuntimeError, Some(text));
            return call.abort(error, writer).map(go_on);
        }
        let progress = RunProgress::FunctionCall(call);
        let Ok(paused) = dump(NAME, None, SessionRef::Running(&progress)) else {
            return Ok(Next::Stop(self.take_end(ProgramEnding::Died)));
        };
        let state = State {
            paused,
            is_list,
            printed: std::mem::take(&mut self.printed),
            notes: std::mem::take(&mut self.helpers.notes),
            cites: std::mem::take(&mut self.helpers.cites),
            batches: self.batches,
            questions: self.questions,
            unanswered: self.unanswered,
        };
        Ok(Next::Stop(match postcard::to_allocvec(&state) {
            Ok(state) => ProgramStep::Paused { state, batch },
            Err(_) => self.take_end(ProgramEnding::Died),
        }))
    }

    /// Restores a program from its state. Returns the call that is waiting, and whether it expects a list.
    fn restore(&mut self, state: &[u8]) -> Option<(FunctionCall, bool)> {
        let state: State = postcard::from_bytes(state).ok()?;
        let Session::Running(progress) = Dump::load(&state.paused).ok()?.state else { return None };
        let RunProgress::FunctionCall(call) = *progress else { return None };
        self.printed = state.printed;
        self.helpers.notes = state.notes;
        self.helpers.cites = state.cites;
        (self.batches, self.questions) = (state.batches, state.questions);
        self.unanswered = state.unanswered;
        Some((call, state.is_list))
    }

    /// Converts answers to the result of the call. A single question without an answer raises an exception.
    fn answered(
        &mut self,
        answers: Vec<Result<String, String>>,
        is_list: bool,
    ) -> ExtFunctionResult {
        let mut slots = Vec::new();
        let failed = answers.iter().filter(|answer| answer.is_err()).count();
        self.unanswered += u32::try_from(failed).unwrap_or(u32::MAX);
        for (number, answer) in (1..).zip(answers) {
            slots.push(match answer {
                Ok(text) => MontyObject::String(text),
                Err(why) if is_list => {
                    self.helpers.note(format!("question {number} has no answer: {why}"));
                    MontyObject::None
                }
                Err(why) => {
                    let text = format!("the question has no answer: {why}");
                    let error = MontyException::new(ExcType::RuntimeError, Some(text));
                    return ExtFunctionResult::Error(error);
                }
            });
        }
        let one = if is_list { None } else { slots.pop() };
        ExtFunctionResult::Return(one.unwrap_or(MontyObject::List(slots)))
    }

    fn raised(mut self, error: &MontyException) -> ProgramStep {
        let end = match error.exc_type() {
            ExcType::TimeoutError => ProgramEnding::TimedOut,
            ExcType::MemoryError => ProgramEnding::Died,
            _ => ProgramEnding::Raised(without_middle(&error.to_string())),
        };
        self.take_end(end)
    }

    fn ended(mut self, end: ProgramEnding) -> ProgramStep {
        self.take_end(end)
    }

    fn take_end(&mut self, end: ProgramEnding) -> ProgramStep {
        let Printed { text: printed, left_out } = std::mem::take(&mut self.printed);
        if left_out > 0 {
            self.helpers.note(format!("left out {} of its output", counted(left_out, "byte")));
        }
        let (cites, notes) =
            (std::mem::take(&mut self.helpers.cites), std::mem::take(&mut self.helpers.notes));
        let (asked, unanswered) = (self.questions, self.unanswered);
        ProgramStep::Ended(ProgramOutcome { end, printed, cites, notes, asked, unanswered })
    }
}

/// Formats a value for a model.
fn shown(value: &MontyObject) -> String {
    match value {
        MontyObject::None => String::new(),
        MontyObject::String(text) => cut(text),
        other => cut(&other.py_repr()),
    }
}

/// Shortens the text of an exception. The beginning says where it was raised, and the end what it is.
fn without_middle(text: &str) -> String {
    if text.len() <= MAX_TOLD {
        return text.to_owned();
    }
    let head = text.get(..text.floor_char_boundary(MAX_TOLD / 2)).unwrap_or_default();
    let tail = text.get(text.ceil_char_boundary(text.len() - MAX_TOLD / 2)..).unwrap_or_default();
    format!(
        "{head}\n… {} left out …\n{tail}",
        counted(text.len() - head.len() - tail.len(), "byte")
    )
}

fn cut(text: &str) -> String {
    if text.len() <= MAX_PRINTED {
        return text.to_owned();
    }
    let kept = text.get(..text.floor_char_boundary(MAX_PRINTED)).unwrap_or_default();
    format!("{kept}\n… {} left out …", counted(text.len() - kept.len(), "byte"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helpers::signatures;
    use crate::pieces::File;
    use crate::task::{Batch, ProgramQuestion};

    const LIMITS: ProgramLimits =
        ProgramLimits { seconds: 2, memory_bytes: 1 << 28, batches: 3, questions: 10 };

    fn files() -> Vec<File> {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        vec![
            file("src/a.rs", "fn one() {\n    two();\n}\n\nfn two() {\n    panic!(\"no\");\n}\n"),
            file("notes.md", "# Notes\nsee https://example.org/x and src/a.rs, of 2026-01-02\n"),
            file("empty", ""),
        ]
    }

    fn begin(program: &str) -> ProgramStep {
        let begin = Begin::Program(program.to_owned());
        work(Task { limits: LIMITS, files: files(), begin })
    }

    fn answered(state: Vec<u8>, answers: &[Result<&str, &str>]) -> ProgramStep {
        let own = |it: &Result<&str, &str>| it.map(str::to_owned).map_err(str::to_owned);
        let answers = answers.iter().map(own).collect();
        let begin = Begin::Answered { state, answers, notes: Vec::new() };
        work(Task { limits: LIMITS, files: files(), begin })
    }

    fn ended(step: ProgramStep) -> ProgramOutcome {
        match step {
            ProgramStep::Ended(outcome) => outcome,
            ProgramStep::Paused { batch, .. } => panic!("it asks {batch:?}"),
        }
    }

    fn paused(step: ProgramStep) -> (Vec<u8>, Batch) {
        match step {
            ProgramStep::Paused { state, batch } => (state, batch),
            ProgramStep::Ended(outcome) => panic!("it ended: {outcome:?}"),
        }
    }

    fn result(program: &str) -> String {
        match ended(begin(program)).end {
            ProgramEnding::Result(result) => result,
            other => panic!("{program}: {other:?}"),
        }
    }

    fn raised(program: &str) -> String {
        match ended(begin(program)).end {
            ProgramEnding::Raised(text) => text,
            other => panic!("{program}: {other:?}"),
        }
    }

    #[test]
    fn every_helper_gives_the_documented_result() {
        for (program, expected) in [
            ("[s.path for s in files()]", "['src/a.rs', 'notes.md']"),
            ("files('*.md')[0].last", "2"),
            ("[s.path for s in files('src/')]", "['src/a.rs']"),
            ("frequency(['x/y.rs', 'x/y.rs'])", "[('x/y.rs', 2)]"),
            ("[f.text for f in extract_paths('x/y.rs')]", "['x/y.rs']"),
            ("peek('src/a.rs', 8)", "fn one()"),
            ("lines('src/a.rs', 2, 3)", "Span(path='src/a.rs', first=2, last=3)"),
            ("peek(lines(lines('src/a.rs', 5, 7), 6, 6))", "    panic!(\"no\");"),
            ("lines('x\\ny\\nz', 2, 2)", "y"),
            ("str(lines('src/a.rs', 70, 80))", "None"),
            ("head('src/a.rs', 1)", "Span(path='src/a.rs', first=1, last=1)"),
            ("tail('a\\nb\\nc', 2)", "b\nc"),
            ("[s.first for s in chunk('src/a.rs', 3)]", "[1, 4, 7]"),
            ("[(s.first, s.last) for s in between('src/a.rs', '^fn', '^}')]", "[(1, 3), (5, 7)]"),
            ("before('src/a.rs', 'fn two').last", "4"),
            ("str(after('src/a.rs', 'nowhere'))", "None"),
            ("peek(after('a\\nb\\nc', 'a'))", "b\nc"),
            ("[s.first for s in grep('fn', files())]", "[1, 5]"),
            ("[(s.first, s.last) for s in grep('two', 'src/a.rs', context=1)]", "[(1, 6)]"),
            ("grep_v('b', 'a\\nb\\nc')", "['a', 'c']"),
            ("count_matches('[(]', files())", "4"),
            ("[f.text for f in find_all('fn (\\\\w+)', files())]", "['one', 'two']"),
            ("find_all('two', 'src/a.rs')[1].span.first", "5"),
            ("[f.text for f in extract_urls(files())]", "['https://example.org/x']"),
            ("[f.text for f in extract_paths('notes.md')]", "['example.org/x', 'src/a.rs']"),
            ("[f.text for f in extract_dates('notes.md')]", "['2026-01-02']"),
            (
                "extract_json_objects('x {\"a\": [1, null]} {b} {\"c\": 2}')",
                "[{'a': [1, None]}, {'c': 2}]",
            ),
            ("replace_all('b+', '-', 'abbbc')", "a-c"),
            ("[s.first for s in split_by('src/a.rs', '^fn')]", "[1, 5]"),
            ("diff('a\\nb', 'a\\nc')", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
            ("similarity('a b', 'b c') == 1 / 3", "True"),
            ("rank(['x y', 'panic here', 'z'], 'the panic')[0]", "panic here"),
            ("dedupe(['a', 'b', ' a'])", "['a', 'b']"),
            ("frequency(['a', 'b', 'b'])", "[('b', 2), ('a', 1)]"),
            ("group_by(['a1', 'b1', 'a2'], '[a-z]')", "{'a': ['a1', 'a2'], 'b': ['b1']}"),
            ("partition(['a', 'b'], 'a')", "(['a'], ['b'])"),
            ("FINAL([1, 'x'])\nprint('never')", "[1, 'x']"),
            ("x = 1", ""),
        ] {
            assert_eq!(result(program), expected, "{program}");
        }
    }

    #[test]
    fn errors_in_calls_are_raised_as_exceptions() {
        for (program, expected) in [
            ("grep('(', 'x')", "ValueError: grep: `pattern` is not a valid regular expression"),
            ("grep('a')", "TypeError: grep: `x` is missing"),
            ("grep('a', 'src/b.rs')", "ValueError: grep: there is no file src/b.rs; files() lists"),
            ("files('lib/*.rs')", "ValueError: files: none of the 2 files that can be read"),
            ("grep('a', 'b', 1, 2)", "grep: too many arguments; it takes pattern, x, context=0"),
            (
                "grep('a', 'b', around=2)",
                "grep: unexpected or repeated argument `around`; it takes pattern, x, context=0",
            ),
            ("head('a', -1)", "TypeError: head: `n` must be a non-negative int"),
            ("peek(7)", "TypeError: peek: `x` must be a text or lines of a file, not int"),
            ("peek(lines('src/a.rs', 1, 2)._replace(last=99))", "Error"),
            ("cite('a text', 'a claim')", "ValueError: cite: only lines of a file can be cited"),
            ("open('/etc/passwd')", "PermissionError"),
            ("import os\nos.environ['HOME']", "Error"),
            ("from datetime import datetime\ndatetime.now()", "PermissionError"),
            ("import socket", "ModuleNotFoundError"),
            ("exec('1')", "NameError: name 'exec' is not defined"),
            ("def f(): return f()\nf()", "RecursionError"),
            ("1 +", "SyntaxError"),
        ] {
            let told = raised(program);
            assert!(told.contains(expected), "{program}: {told}");
        }
    }

    #[test]
    fn the_description_of_the_language_is_correct() {
        for program in [
            "class A:\n  def __init__(self): self.x = 1\nA().x",
            "from collections import Counter, defaultdict\nCounter('a')['a']",
            "import itertools\nlist(itertools.chain([1]))[0]",
            "import functools\nfunctools.reduce(lambda a, b: a * b, [1, 1])",
            "from dataclasses import dataclass\n@dataclass\nclass P:\n  a: int\nP(1).a",
            "import re, json, math\nlen(re.findall('a', 'a')) * json.loads('1') * math.ceil(0.5)",
        ] {
            assert_eq!(result(program), "1", "{program}");
        }
        for program in [
            "'%d' % 1",
            "def f(): yield 1",
            "match 1:\n  case _: pass",
            "x = [1]\ndel x[0]",
            "import os\nos.path.join('a', 'b')",
            "from itertools import groupby",
            "import re\nre.sub('a', lambda found: 'b', 'a')",
            "list(map(lambda question: llm_query(question), ['why?']))",
        ] {
            raised(program);
        }
    }

    #[test]
    fn a_program_continues_where_it_asked() {
        let program = "
asked = []
for part in chunk('src/a.rs', 4):
    cite(part, 'a part', weight=9)
    print('asking', part.first)
    asked.append(llm_query_batched(['what?', ('and here?', 'notes.md')], part))
FINAL(asked)";
        let (state, batch) = paused(begin(program));
        assert_eq!(batch.about.len(), 1);
        let (place, of) = batch.about[0].place.clone().unwrap();
        assert_eq!((place.to_string().as_str(), of), ("src/a.rs:1-4", 7));
        let ProgramQuestion { text, about } = &batch.questions[1];
        assert_eq!((text.as_str(), about[0].text.lines().next()), ("and here?", Some("# Notes")));
        assert!(!batch.is_recursive);
        // The same state can be continued more than once, with the same result.
        let (again, _) = paused(answered(state.clone(), &[Ok("A"), Err("it could not be paid")]));
        let (state, batch) = paused(answered(state, &[Ok("A"), Err("it could not be paid")]));
        assert_eq!(batch.about[0].place.as_ref().unwrap().0.first, 5);
        let outcome = ended(answered(state, &[Ok("C"), Ok("D")]));
        let again = ended(answered(again, &[Ok("C"), Ok("D")]));
        assert_eq!(outcome.end, ProgramEnding::Result("[['A', None], ['C', 'D']]".to_owned()));
        assert_eq!((again.end, &again.printed), (outcome.end.clone(), &outcome.printed));
        assert_eq!(outcome.printed, "asking 1\nasking 5\n");
        assert_eq!(outcome.notes, ["question 2 has no answer: it could not be paid"]);
        assert_eq!((outcome.asked, outcome.unanswered), (4, 1));
        let lines: Vec<String> = outcome.cites.iter().map(|it| it.span.to_string()).collect();
        assert_eq!(lines, ["src/a.rs:1-4", "src/a.rs:5-7"]);
        assert_eq!((outcome.cites[0].novelty, outcome.cites[0].weight), (5, 9));
    }

    #[test]
    fn a_single_question_returns_its_answer_or_raises() {
        let (state, batch) = paused(begin("'<' + rlm_query('why?') + '>'"));
        assert!(batch.is_recursive && batch.about.is_empty());
        let outcome = ended(answered(state.clone(), &[Ok("so")]));
        assert_eq!(outcome.end, ProgramEnding::Result("<so>".to_owned()));
        let outcome = ended(answered(state, &[Err("the model gave none")]));
        let ProgramEnding::Raised(text) = outcome.end else { panic!("{:?}", outcome.end) };
        assert!(
            text.contains("RuntimeError: the question has no answer: the model gave none"),
            "{text}"
        );
        assert_eq!(result("llm_query_batched([])"), "[]");
    }

    #[test]
    fn everything_is_bounded() {
        assert_eq!(ended(begin("while True: pass")).end, ProgramEnding::TimedOut);
        let outcome = ended(begin("for i in range(40000): print('xxxx')"));
        assert_eq!(
            (outcome.end, outcome.printed.len()),
            (ProgramEnding::Result(String::new()), MAX_PRINTED)
        );
        assert_eq!(outcome.notes, ["left out 167232 bytes of its output"]);
        let outcome = ended(begin("len(find_all('a', 'a' * 5000))"));
        assert_eq!(outcome.end, ProgramEnding::Result("1000".to_owned()));
        assert_eq!(outcome.notes, ["find_all returned the first 1000 of 5000"]);
        let outcome = ended(begin("len(replace_all('a', 'bb', 'a' * 200000))"));
        assert_eq!(outcome.notes, ["replace_all returned the first 200000 of 400000 bytes"]);
        assert!(raised("llm_query('x', 'a' * 2000000)").contains("at most 1000000 bytes"));
        assert!(
            raised("try:\n  llm_query_batched(['q'] * 11)\nexcept Exception: pass")
                .contains("10 questions in total")
        );
        let mut step = begin("while True: llm_query('again')");
        for _ in 0..3 {
            step = answered(paused(step).0, &[Ok("yes")]);
        }
        let ProgramEnding::Raised(text) = ended(step).end else { panic!("it ended well") };
        assert!(text.contains("at most 3 times"), "{text}");
    }

    #[test]
    fn an_invalid_state_is_reported_as_unreadable() {
        let (mut state, _) = paused(begin("llm_query('why?')"));
        assert_eq!(ended(answered(b"no state".to_vec(), &[])).end, ProgramEnding::Unreadable);
        state.truncate(state.len() / 2);
        assert_eq!(ended(answered(state, &[Ok("x")])).end, ProgramEnding::Unreadable);
    }

    #[test]
    fn helpers_take_linear_time() {
        // With quadratic time, each of these would exceed the limit by far.
        for program in [
            "len(extract_json_objects('{\"a\":[' * 60000))",
            "count_matches('(a*)*b', 'a' * 400000)",
            "len(find_all('a', 'a' * 400000))",
            "len(grep('a', 'a\\n' * 200000, context=50))",
            "len(dedupe(chunk('a\\nb\\n' * 100000, 1)))",
            "len(between('a\\n' * 300000, 'a', 'b'))",
        ] {
            result(program);
        }
    }

    #[test]
    fn helpers_txt_contains_all_signatures() {
        assert!(crate::HELPERS.contains(&signatures()), "helpers.txt lacks:\n{}", signatures());
    }
}
