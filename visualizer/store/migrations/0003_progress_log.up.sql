-- All of an attempt, as JSON: what the columns do not say (answers, drawn values, when tasks opened) is here.
ALTER TABLE attempts ADD COLUMN detail TEXT NOT NULL DEFAULT '';

-- What students did, in the order in which it was written; each entry holds the hash of the student's entry before it.
CREATE TABLE progress_log (
    student  TEXT    NOT NULL,
    number   INTEGER NOT NULL, -- 1 is the student's first
    at       TEXT    NOT NULL, -- RFC 3339, UTC
    kind     TEXT    NOT NULL, -- start, check, answer, step
    attempt  TEXT    NOT NULL, -- JSON, byte for byte what was hashed
    previous TEXT    NOT NULL,
    hash     TEXT    NOT NULL,
    PRIMARY KEY (student, number)
);

-- The last entry of each log, kept apart so that a removed end is found.
CREATE TABLE progress_heads (
    student TEXT PRIMARY KEY,
    number  INTEGER NOT NULL,
    hash    TEXT    NOT NULL
);

CREATE TRIGGER progress_log_is_not_changed BEFORE UPDATE ON progress_log BEGIN SELECT raise(ABORT, 'the log of progress only grows'); END;
CREATE TRIGGER progress_log_is_not_deleted BEFORE DELETE ON progress_log BEGIN SELECT raise(ABORT, 'the log of progress only grows'); END;

DROP TABLE checks;
