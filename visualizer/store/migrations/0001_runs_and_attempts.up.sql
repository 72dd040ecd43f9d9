-- A run is what one process recorded, from its start to its end.
CREATE TABLE runs (
    name       TEXT PRIMARY KEY,
    started_at TEXT NOT NULL, -- RFC 3339, UTC
    ended_at   TEXT           -- NULL while it records, and for ever when the process was killed
);

-- The records of a run, packed in the order of their numbers: JSON lines, compressed with flate. Between two chunks of a run there is
-- a hole where the disk was too slow.
CREATE TABLE chunks (
    run      TEXT    NOT NULL REFERENCES runs (name) ON DELETE CASCADE,
    first_n  INTEGER NOT NULL,
    last_n   INTEGER NOT NULL,
    first_at TEXT    NOT NULL,
    last_at  TEXT    NOT NULL,
    packed   BLOB    NOT NULL,
    PRIMARY KEY (run, first_n)
);

-- One go at a lab by one student.
CREATE TABLE attempts (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    lab        TEXT    NOT NULL,
    student    TEXT    NOT NULL,
    started_at TEXT    NOT NULL,
    first_n    INTEGER NOT NULL, -- the attempt sees the records after this one
    passed_at  TEXT,             -- NULL until every task has passed in one check
    failures   TEXT    NOT NULL, -- JSON: checks that did not pass, by task
    verdicts   TEXT    NOT NULL  -- JSON: of the last check
);

CREATE INDEX attempts_by_student ON attempts (student, lab, id);

-- Every check of an attempt. Rows are only added.
CREATE TABLE checks (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    attempt    INTEGER NOT NULL REFERENCES attempts (id),
    checked_at TEXT    NOT NULL,
    verdicts   TEXT    NOT NULL -- JSON
);

CREATE INDEX checks_by_attempt ON checks (attempt, id);
