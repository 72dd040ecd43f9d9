-- A run that somebody saved or brought from a file has a title and is kept until it is deleted; what a process recorded by itself makes
-- room for newer records.
ALTER TABLE runs ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN origin TEXT NOT NULL DEFAULT 'recorded'; -- recorded, saved, imported
ALTER TABLE runs ADD COLUMN kept_at TEXT; -- when it was saved or imported, RFC 3339, UTC
