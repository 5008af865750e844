-- The tables of a projection. Line format 5: raise it when other events are kept, or in another form.
--
-- A journal line that queries across sessions need is kept verbatim, under the topic of the query. Lines never change;
-- the reader combines related ones.

-- How far each journal was read. `stamp` is null if the journal must be read again in any case.
CREATE TABLE journals (session TEXT PRIMARY KEY, stamp TEXT, seq INTEGER NOT NULL, bytes INTEGER NOT NULL,
    sum TEXT NOT NULL, hash TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- `line` is JSON.
CREATE TABLE lines (session TEXT, seq INTEGER, topic TEXT NOT NULL, line TEXT NOT NULL,
    PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID;

CREATE INDEX lines_by_topic ON lines (topic);
