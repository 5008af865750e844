-- The tables of a projection. Rows, format 2: raise it when the same events are worth other rows.
--
-- An event is worth a row in `events` and, by its kind, in one or two others; no row is ever changed. What belongs together
-- is put together by the views.

-- How far each journal was read. `stamp` is null where it has to be looked at again in any case.
CREATE TABLE journals (session TEXT PRIMARY KEY, stamp TEXT, seq INTEGER NOT NULL, bytes INTEGER NOT NULL,
    sum TEXT NOT NULL, hash TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE events (session TEXT, seq INTEGER, at TEXT NOT NULL, kind TEXT NOT NULL, run TEXT, lane TEXT,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

CREATE TABLE starts (session TEXT, seq INTEGER, workspace TEXT NOT NULL, version TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

CREATE TABLE states (session TEXT, seq INTEGER, state TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

CREATE TABLE turns (session TEXT, seq INTEGER, speaker TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

CREATE TABLE decisions (session TEXT, seq INTEGER, intent TEXT NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

CREATE TABLE runs (session TEXT, seq INTEGER, intent TEXT NOT NULL, request TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

-- `delivery` is JSON, as in the journal.
CREATE TABLE deliveries (session TEXT, seq INTEGER, state TEXT NOT NULL, delivery TEXT NOT NULL,
    nano_usd INTEGER NOT NULL, tokens INTEGER NOT NULL, calls INTEGER NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

-- A role was asked, or what it made is applied or verified; the event's kind tells which.
CREATE TABLE stages (session TEXT, seq INTEGER, iteration INTEGER NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

-- `plan` is JSON, as in the journal.
CREATE TABLE plans (session TEXT, seq INTEGER, version INTEGER NOT NULL, plan TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

CREATE TABLE steps (session TEXT, seq INTEGER, number INTEGER, step TEXT NOT NULL,
    PRIMARY KEY (session, seq, number)) STRICT, WITHOUT ROWID;

-- What became of a step of the plan with this version: done or failed.
CREATE TABLE marks (session TEXT, seq INTEGER, plan INTEGER NOT NULL, step INTEGER NOT NULL, mark TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

-- Answers and diffs that were not taken: `what` is plan, draft or patch.
CREATE TABLE refusals (session TEXT, seq INTEGER, what TEXT NOT NULL, why TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

-- `files` is JSON, as in the journal.
CREATE TABLE patches (session TEXT, seq INTEGER, patch TEXT NOT NULL, purpose TEXT NOT NULL, title TEXT NOT NULL, files TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

-- What became of patch sets: `outcome` is applied, completed, taken_back or stuck.
CREATE TABLE commits (session TEXT, seq INTEGER, patch TEXT NOT NULL, outcome TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

CREATE INDEX commits_by_patch ON commits (patch);

CREATE TABLE checkpoints (session TEXT, seq INTEGER, checkpoint INTEGER NOT NULL, patch TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

CREATE TABLE proposals (session TEXT, seq INTEGER, ask TEXT NOT NULL, what TEXT NOT NULL, why TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

-- `answer` is approved or denied; a denial that nobody was asked for has an empty `ask`.
CREATE TABLE answers (session TEXT, seq INTEGER, ask TEXT NOT NULL, answer TEXT NOT NULL, what TEXT, why TEXT,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

-- One command of a verification, as it was run.
CREATE TABLE commands (session TEXT, seq INTEGER, command TEXT NOT NULL, baseline INTEGER NOT NULL,
    outcome TEXT NOT NULL, exit TEXT NOT NULL, elapsed_ms INTEGER NOT NULL, output TEXT NOT NULL,
    output_bytes INTEGER NOT NULL, PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

CREATE TABLE verifications (session TEXT, seq INTEGER, iteration INTEGER NOT NULL, outcome TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

CREATE TABLE failures (session TEXT, seq INTEGER, class TEXT NOT NULL, errors INTEGER NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

-- How attempts of lanes began and ended: `state` is begun, completed or failed. `files` is JSON, as in the journal, and null
-- where it began.
CREATE TABLE attempts (session TEXT, seq INTEGER, run TEXT NOT NULL, lane TEXT NOT NULL, attempt INTEGER NOT NULL,
    state TEXT NOT NULL, title TEXT, files TEXT, PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

-- What became of a lane: `state` is merged, staged, empty, failed or conflicted.
CREATE TABLE lane_ends (session TEXT, seq INTEGER, run TEXT NOT NULL, lane TEXT, title TEXT NOT NULL, state TEXT NOT NULL,
    PRIMARY KEY (session, seq, lane)) STRICT, WITHOUT ROWID;

-- Each lane numbers its calls; `lane` is empty for those of no lane.
CREATE TABLE requests (session TEXT, seq INTEGER, run TEXT NOT NULL, lane TEXT NOT NULL, call INTEGER NOT NULL, role TEXT NOT NULL,
    model TEXT NOT NULL, retry INTEGER NOT NULL, body TEXT NOT NULL, body_bytes INTEGER NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

-- Tokens and cost are null where nobody knows them.
CREATE TABLE replies (session TEXT, seq INTEGER, run TEXT NOT NULL, lane TEXT NOT NULL, call INTEGER NOT NULL, outcome TEXT NOT NULL,
    message TEXT NOT NULL, prompt INTEGER, hit INTEGER, output INTEGER, reasoning INTEGER, nano_usd INTEGER,
    avoidable_misses INTEGER NOT NULL, answer TEXT, answer_bytes INTEGER,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX replies_by_call ON replies (session, run, lane, call);

-- A request with the first reply to it.
CREATE VIEW calls AS
SELECT requests.session, requests.seq, events.at, requests.run, requests.lane, requests.call, role, model, retry, body, body_bytes,
    replies.seq AS replied, outcome, message, prompt, hit, output, reasoning, nano_usd, avoidable_misses, answer, answer_bytes
FROM requests
JOIN events USING (session, seq)
LEFT JOIN replies ON replies.session = requests.session AND replies.seq = (
    SELECT min(later.seq) FROM replies AS later
    WHERE later.session = requests.session AND later.run = requests.run AND later.lane = requests.lane
        AND later.call = requests.call
        AND later.seq > requests.seq);

-- A patch set as it was staged. It may have been staged in one session and applied in another. That of a lane is one for its
-- worktree, and never for the workspace.
CREATE VIEW staged AS
SELECT session, seq, run, lane, patch, purpose, title, files, EXISTS (
    SELECT 1 FROM commits WHERE commits.patch = patches.patch AND outcome IN ('applied', 'completed')) AS applied
FROM patches
JOIN events USING (session, seq);

-- A session as the list shows it. How it ended is how its last request did.
CREATE VIEW sessions AS
SELECT starts.session, events.at AS started, workspace, version, journals.seq AS events,
    coalesce((SELECT state FROM states WHERE session = starts.session ORDER BY seq DESC LIMIT 1), 'Idle') AS state,
    (SELECT patch FROM commits WHERE session = starts.session AND outcome = 'applied' ORDER BY seq LIMIT 1) AS applied,
    (SELECT state FROM deliveries WHERE session = starts.session AND seq > coalesce(
        (SELECT max(seq) FROM turns WHERE session = starts.session AND speaker = 'user'), 0)
        ORDER BY seq DESC LIMIT 1) AS ended
FROM starts
JOIN events USING (session, seq)
JOIN journals USING (session)
WHERE starts.seq = 1;
