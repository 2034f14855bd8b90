-- Version 2 of the schema: runs have no snapshots.
SET LOCAL search_path = concerto, pg_temp;

DROP FUNCTION put_snapshot;
DROP TABLE snapshots;

UPDATE meta SET schema = 2, min_schema = 2;
