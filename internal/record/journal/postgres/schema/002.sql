-- Version 2 of the schema: runs have no snapshots, and a run can continue as a new run.
SET LOCAL search_path = concerto, pg_temp;

DROP FUNCTION put_snapshot;
DROP TABLE snapshots;

ALTER DOMAIN run_state DROP CONSTRAINT run_state_check;
ALTER DOMAIN run_state ADD CHECK (VALUE IN ('ready', 'running', 'waiting', 'finished', 'failed', 'continued', 'held', 'damaged'));

-- continue_as ends a run as continued, and submits its successor: with the same queue and key, so that
-- its limits apply, and as the last run of its schedule, so that no other run overlaps it. A request to
-- stop passes on. Its answers stay, because the successor asks the same questions. result is fenced if the writer does not own the
-- run, and exists if another run has the successor's id.
CREATE FUNCTION continue_as(of_run text, of_epoch bigint, successor text, new_start json, OUT result text)
LANGUAGE plpgsql SET search_path = concerto, pg_temp AS $$
BEGIN
    PERFORM FROM runs r WHERE r.id = of_run AND r.epoch = of_epoch AND r.owner IS NOT NULL FOR UPDATE;
    IF NOT found THEN
        result := 'fenced';
        RETURN;
    END IF;
    INSERT INTO runs (id, program, ir, start, queue, priority, key, needs, schedule, stop)
        SELECT successor, r.program, coalesce(r.adopted[cardinality(r.adopted)], r.ir), new_start, r.queue, r.priority, r.key, r.needs, r.schedule, r.stop
        FROM runs r WHERE r.id = of_run ON CONFLICT DO NOTHING;
    IF NOT found THEN
        result := 'exists';
        RETURN;
    END IF;
    UPDATE schedules s SET last_run = successor WHERE s.last_run = of_run;
    UPDATE runs r SET state = 'continued', owner = NULL, wake_at = NULL, exit = 0, crashes = 0, ready_at = clock_timestamp(), ended_at = clock_timestamp() WHERE r.id = of_run;
    DELETE FROM questions q WHERE q.run = of_run;
    PERFORM pg_notify('concerto', successor);
    result := 'left';
END $$;

UPDATE meta SET schema = 2, min_schema = 2;
