DROP TABLE checks;
DROP TABLE attempts;
DROP TABLE chunks;
DROP TABLE runs;
