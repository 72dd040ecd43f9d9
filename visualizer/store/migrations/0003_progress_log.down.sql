CREATE TABLE checks (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    attempt    INTEGER NOT NULL REFERENCES attempts (id),
    checked_at TEXT    NOT NULL,
    verdicts   TEXT    NOT NULL -- JSON
);
CREATE INDEX checks_by_attempt ON checks (attempt, id);
DROP TABLE progress_heads;
DROP TABLE progress_log;
ALTER TABLE attempts DROP COLUMN detail;
