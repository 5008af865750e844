-- The tables of a projection. Lines, format 3: raise it when other events are kept, or in another form.
--
-- A line of a journal that is asked of many sessions at once is kept as it stands there, under the topic it is asked by.
-- No line is ever changed; what belongs together is put together by who asks.

-- How far each journal was read. `stamp` is null where it has to be looked at again in any case.
CREATE TABLE journals (session TEXT PRIMARY KEY, stamp TEXT, seq INTEGER NOT NULL, bytes INTEGER NOT NULL,
    sum TEXT NOT NULL, hash TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- `line` is JSON.
CREATE TABLE lines (session TEXT, seq INTEGER, topic TEXT NOT NULL, line TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

CREATE INDEX lines_by_topic ON lines (topic);
