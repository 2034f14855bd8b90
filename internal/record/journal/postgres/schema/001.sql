-- Version 1 of the schema of an engine (docs/decisions/065). All times are times of the database.
CREATE SCHEMA concerto;
SET LOCAL search_path = concerto, pg_temp;

-- Types of columns of runs. PostgreSQL checks the constraint of a type only when a column is set,
-- but those of a table whenever a row changes, which each group of records does.
CREATE DOMAIN run_id AS text CHECK (VALUE ~ '^[A-Za-z0-9_.-]{1,120}$');
CREATE DOMAIN queue_name AS text CHECK (VALUE ~ '^[A-Za-z0-9_.:-]{1,64}$');
CREATE DOMAIN run_priority AS integer CHECK (VALUE BETWEEN -100 AND 100);
CREATE DOMAIN run_state AS text CHECK (VALUE IN ('ready', 'running', 'waiting', 'finished', 'failed', 'held', 'damaged'));

-- One row. Programs of version min_schema and later may write.
CREATE TABLE meta (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    schema      integer NOT NULL,
    min_schema  integer NOT NULL,
    id          text NOT NULL DEFAULT 'e_' || replace(gen_random_uuid()::text, '-', ''),
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO meta (schema, min_schema) VALUES (1, 1);

CREATE TABLE programs (
    sha256  text PRIMARY KEY CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    data    bytea NOT NULL,
    needs   text[] NOT NULL DEFAULT '{}', -- names of the secrets that it needs
    orphan_s double precision NOT NULL DEFAULT 3600 -- seconds after which a pinned run may leave a machine without workers
);

CREATE TABLE queues (
    name         queue_name PRIMARY KEY,
    concurrency  integer NOT NULL DEFAULT 0 CHECK (concurrency >= 0), -- 0: no limit
    per_key      integer NOT NULL DEFAULT 0 CHECK (per_key >= 0),
    paused       boolean NOT NULL DEFAULT false
);

CREATE TABLE schedules (
    name        text PRIMARY KEY CHECK (name ~ '^[A-Za-z0-9_.-]{1,100}$'),
    cron        text, -- exactly one of cron and every_ms
    every_ms    bigint CHECK (every_ms > 0),
    zone        text NOT NULL DEFAULT 'UTC',
    ir          text NOT NULL REFERENCES programs,
    program     text NOT NULL,
    start       json NOT NULL,
    queue       queue_name NOT NULL DEFAULT 'default',
    priority    run_priority NOT NULL DEFAULT 0,
    key         text NOT NULL DEFAULT '',
    needs       text[] NOT NULL DEFAULT '{}',
    overlap     text NOT NULL DEFAULT 'skip' CHECK (overlap IN ('skip', 'all')),
    catch_up_ms bigint NOT NULL DEFAULT 3600000 CHECK (catch_up_ms >= 0),
    paused      boolean NOT NULL DEFAULT false,
    next_at     timestamptz,
    last_at     timestamptz,
    last_run    text,
    fired       bigint NOT NULL DEFAULT 0,
    skipped     bigint NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK ((cron IS NULL) <> (every_ms IS NULL))
);
CREATE INDEX ON schedules (next_at) WHERE NOT paused;

CREATE TABLE workers (
    id           text PRIMARY KEY,
    machine      text NOT NULL,
    boot         text NOT NULL, -- id of the machine's boot, and of the worker's PID namespace
    pid          integer NOT NULL,
    version      text NOT NULL,
    vm_version   integer NOT NULL,
    queues       text[] NOT NULL,
    concurrency  integer NOT NULL CHECK (concurrency > 0),
    secrets      text[] NOT NULL DEFAULT '{}', -- names of secrets that it has, of those that some run needs
    lease_until  timestamptz NOT NULL,
    draining     boolean NOT NULL DEFAULT false,
    renewed_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The machines on which there have been workers.
CREATE TABLE machines (
    name     text PRIMARY KEY,
    seen_at  timestamptz NOT NULL -- last sign of life of a worker
);

CREATE TABLE runs (
    -- What was submitted.
    id            run_id PRIMARY KEY,
    program       text NOT NULL, -- name of the main file
    ir            text NOT NULL REFERENCES programs,
    adopted       text[] NOT NULL DEFAULT '{}', -- programs with which it has continued, by SHA-256
    start         json NOT NULL, -- json, because jsonb rejects the escape \u0000
    queue         queue_name NOT NULL DEFAULT 'default',
    priority      run_priority NOT NULL DEFAULT 0,
    key           text NOT NULL DEFAULT '',
    ready_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    schedule      text,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Its owner.
    state         run_state NOT NULL DEFAULT 'ready',
    exit          integer,
    owner         text,
    epoch         bigint NOT NULL DEFAULT 0,
    machine       text,
    boot          text,
    pid           integer,
    pin           text,
    pinned_by     text,
    needs         text[] NOT NULL DEFAULT '{}',
    stop          boolean NOT NULL DEFAULT false,
    crashes       integer NOT NULL DEFAULT 0,
    progress      bigint NOT NULL DEFAULT 0, -- number of the last effect
    wake_at       timestamptz,
    refusal       text, -- why the last worker did not execute the run
    moved         boolean NOT NULL DEFAULT false, -- it has lost its pin
    started_at    timestamptz,
    ended_at      timestamptz,
    -- Its journal.
    vm_version    integer NOT NULL DEFAULT 0,
    format        integer NOT NULL DEFAULT 0,
    s             bigint NOT NULL DEFAULT 0,
    h             text NOT NULL DEFAULT '00000000000000000000000000000000',
    groups        bigint NOT NULL DEFAULT 0, -- a group may consist of output alone, so s and h do not identify it
    output_count  bigint NOT NULL DEFAULT 0,
    CHECK ((owner IS NOT NULL) = (state = 'running'))
) WITH (fillfactor = 50); -- each group of records updates a row: room on its page makes that cheap
-- One index for each reason for which a run can be claimed.
CREATE INDEX runs_ready ON runs (queue, priority DESC, ready_at, id) WHERE state = 'ready';
CREATE INDEX runs_owned ON runs (owner) WHERE owner IS NOT NULL;
CREATE INDEX runs_wake ON runs (wake_at) WHERE state = 'waiting' AND wake_at IS NOT NULL;
CREATE INDEX runs_stop ON runs (id) WHERE stop AND state IN ('ready', 'waiting', 'running');
CREATE INDEX runs_newest ON runs (created_at DESC, id);
CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE journal (
    run    text REFERENCES runs ON DELETE CASCADE,
    s      bigint,
    epoch  bigint NOT NULL,
    line   text NOT NULL, -- the bytes of the record without the newline
    PRIMARY KEY (run, s)
);

CREATE TABLE output (
    run   text REFERENCES runs ON DELETE CASCADE,
    n     bigint,
    line  text NOT NULL,
    PRIMARY KEY (run, n)
);

-- The open questions. The group of records that asks a question contains it.
CREATE TABLE questions (
    run      text REFERENCES runs ON DELETE CASCADE,
    id       text,
    channel  text NOT NULL,
    payload  text NOT NULL, -- JSON
    type     text NOT NULL,
    schema   text, -- JSON schema of the answer; NULL for any value
    since    timestamptz NOT NULL,
    PRIMARY KEY (run, id)
);

CREATE TABLE ledger (
    run   text REFERENCES runs ON DELETE CASCADE,
    n     bigint,
    line  text NOT NULL,
    PRIMARY KEY (run, n)
);

CREATE TABLE snapshots (
    run    text REFERENCES runs ON DELETE CASCADE,
    s      bigint,
    epoch  bigint NOT NULL,
    data   bytea NOT NULL,
    PRIMARY KEY (run, s)
);

CREATE TABLE blobs (
    run     text REFERENCES runs ON DELETE CASCADE,
    sha256  text CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    data    bytea NOT NULL,
    PRIMARY KEY (run, sha256)
);

-- The group of records that contains the end of a question deletes its answer.
CREATE TABLE answers (
    run     text REFERENCES runs ON DELETE CASCADE,
    id      text,
    value   text, -- JSON; exactly one of value and refuse
    refuse  text,
    by      text NOT NULL,
    at      timestamptz NOT NULL,
    synced  bigint NOT NULL, -- number of the last record that was on the disk
    PRIMARY KEY (run, id),
    CHECK ((value IS NULL) <> (refuse IS NULL))
);

-- flush stores a group of records if the writer still owns the run and the journal ends where the
-- writer believes it does. It returns where the journal ends afterwards, and the run's epoch and
-- owner: the writer recognises from them a group that an earlier attempt has stored, and that it
-- has lost the run. The level is synced or written; new_progress is the number of the last effect.
CREATE FUNCTION flush(
    level text, of_run text, of_epoch bigint, before_s bigint, before_h text, before_n bigint,
    lines text[], new_h text, new_n bigint, new_progress bigint, output_from bigint, output_lines text[],
    ledger_from bigint, ledger_lines text[], blob_sums text[], blob_data bytea[], consumed text[], asked json, closed text[],
    new_vm integer, pin_by text,
    OUT stored boolean, OUT s bigint, OUT h text, OUT n bigint, OUT epoch bigint, OUT owner text
) LANGUAGE plpgsql SET search_path = concerto, pg_temp AS $$
BEGIN
    PERFORM set_config('synchronous_commit', CASE level WHEN 'synced' THEN 'on' ELSE 'off' END, true);
    UPDATE runs r SET s = before_s + cardinality(lines), h = new_h, groups = new_n,
            output_count = greatest(r.output_count, output_from - 1 + cardinality(output_lines)),
            progress = greatest(r.progress, new_progress), crashes = CASE WHEN new_progress > r.progress THEN 0 ELSE r.crashes END,
            vm_version = CASE WHEN new_progress > r.progress THEN greatest(r.vm_version, new_vm) ELSE r.vm_version END,
            pin = CASE WHEN pin_by IS NULL THEN r.pin ELSE coalesce(r.pin, r.machine) END,
            pinned_by = CASE WHEN pin_by IS NULL THEN r.pinned_by ELSE coalesce(r.pinned_by, pin_by) END
        WHERE r.id = of_run AND r.epoch = of_epoch AND r.s = before_s AND r.h = before_h AND r.groups = before_n AND r.owner IS NOT NULL
        RETURNING true, r.s, r.h, r.groups, r.epoch, r.owner INTO stored, s, h, n, epoch, owner;
    IF NOT found THEN
        SELECT false, r.s, r.h, r.groups, r.epoch, r.owner INTO stored, s, h, n, epoch, owner FROM runs r WHERE r.id = of_run;
        RETURN;
    END IF;
    IF cardinality(blob_sums) > 0 THEN
        INSERT INTO blobs SELECT of_run, b.sum, b.data FROM unnest(blob_sums, blob_data) b(sum, data) ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO journal SELECT of_run, before_s + l.i, of_epoch, l.line FROM unnest(lines) WITH ORDINALITY l(line, i);
    IF cardinality(output_lines) > 0 THEN
        INSERT INTO output SELECT of_run, output_from - 1 + l.i, l.line FROM unnest(output_lines) WITH ORDINALITY l(line, i);
    END IF;
    IF ledger_from > 0 THEN -- a replay that makes other decisions removes those that it has not repeated
        DELETE FROM ledger l WHERE l.run = of_run AND l.n >= ledger_from;
        INSERT INTO ledger SELECT of_run, ledger_from - 1 + l.i, l.line FROM unnest(ledger_lines) WITH ORDINALITY l(line, i);
    END IF;
    IF cardinality(consumed) > 0 THEN
        DELETE FROM answers a WHERE a.run = of_run AND a.id = ANY(consumed);
    END IF;
    IF asked IS NOT NULL THEN
        INSERT INTO questions SELECT of_run, q ->> 'id', q ->> 'channel', (q -> 'payload')::text, q ->> 'type', nullif((q -> 'schema')::text, 'null'),
                to_timestamp((q ->> 'since')::bigint / 1000.0)
            FROM json_array_elements(asked) q ON CONFLICT DO NOTHING;
    END IF;
    IF cardinality(closed) > 0 THEN
        DELETE FROM questions q WHERE q.run = of_run AND q.id = ANY(closed);
    END IF;
END $$;

-- claim_run makes a worker the owner of a run in any state, unless a live worker owns it. result is
-- claimed, held (with the owner's machine and process), lost if the worker has no lease, or none if the run
-- does not exist.
CREATE FUNCTION claim_run(of_worker text, of_run text, OUT result text, OUT new_epoch bigint, OUT held_machine text, OUT held_pid integer)
LANGUAGE plpgsql SET search_path = concerto, pg_temp AS $$
DECLARE
    w workers;
    r runs;
BEGIN
    SELECT * INTO r FROM runs WHERE id = of_run FOR UPDATE;
    SELECT * INTO w FROM workers WHERE id = of_worker AND lease_until > clock_timestamp();
    IF r.id IS NULL THEN
        result := 'none';
    ELSIF w.id IS NULL THEN
        result := 'lost';
    ELSIF EXISTS (SELECT FROM workers l WHERE l.id = r.owner AND l.lease_until > clock_timestamp()) THEN
        result := 'held';
        held_machine := r.machine;
        held_pid := r.pid;
    ELSE
        UPDATE runs SET state = 'running', owner = w.id, epoch = epoch + 1, machine = w.machine, boot = w.boot, pid = w.pid,
            started_at = coalesce(started_at, clock_timestamp()), wake_at = NULL, refusal = NULL WHERE id = of_run RETURNING epoch INTO new_epoch;
        result := 'claimed';
    END IF;
END $$;

-- put_snapshot stores a snapshot if the writer still owns the run, and deletes all but the newest two.
CREATE FUNCTION put_snapshot(of_run text, of_epoch bigint, at_s bigint, snapshot bytea) RETURNS boolean
LANGUAGE plpgsql SET search_path = concerto, pg_temp AS $$
BEGIN
    PERFORM FROM runs r WHERE r.id = of_run AND r.epoch = of_epoch AND r.owner IS NOT NULL AND r.s >= at_s FOR NO KEY UPDATE;
    IF NOT found THEN
        RETURN false;
    END IF;
    DELETE FROM snapshots d WHERE d.run = of_run AND d.s = at_s;
    INSERT INTO snapshots VALUES (of_run, at_s, of_epoch, snapshot);
    DELETE FROM snapshots d WHERE d.run = of_run AND d.s NOT IN (SELECT k.s FROM snapshots k WHERE k.run = of_run ORDER BY k.s DESC LIMIT 2);
    RETURN true;
END $$;

-- leave ends the ownership of a run. A run with an answer that is not consumed, or that must stop, does
-- not become waiting: result is then answered. result is fenced if the writer does not own the run.
CREATE FUNCTION leave(of_run text, of_epoch bigint, new_state text, wake timestamptz, code integer, OUT result text)
LANGUAGE plpgsql SET search_path = concerto, pg_temp AS $$
BEGIN
    PERFORM FROM runs r WHERE r.id = of_run AND r.epoch = of_epoch AND r.owner IS NOT NULL FOR UPDATE;
    IF NOT found THEN
        result := 'fenced';
    ELSIF new_state = 'waiting' AND (EXISTS (SELECT FROM answers a WHERE a.run = of_run) OR (SELECT r.stop FROM runs r WHERE r.id = of_run)) THEN
        result := 'answered';
    ELSE
        UPDATE runs r SET state = new_state, owner = NULL, wake_at = wake, exit = code, crashes = 0, ready_at = clock_timestamp(),
            ended_at = CASE WHEN new_state IN ('finished', 'failed') THEN clock_timestamp() END WHERE r.id = of_run;
        IF new_state IN ('finished', 'failed') THEN
            DELETE FROM questions q WHERE q.run = of_run;
            DELETE FROM answers a WHERE a.run = of_run;
        END IF;
        IF new_state = 'ready' THEN
            PERFORM pg_notify('concerto', of_run);
        END IF;
        result := 'left';
    END IF;
END $$;

-- answer stores the first answer to a question. If new_at is null, it was given now. result is
-- stored, answered (with the earlier answer's author and time), or none if the run does not exist.
CREATE FUNCTION answer(of_run text, of_id text, new_value text, new_refuse text, new_by text, new_at timestamptz, new_synced bigint, OUT result text, OUT answered_by text, OUT answered_at timestamptz)
LANGUAGE plpgsql SET search_path = concerto, pg_temp AS $$
BEGIN
    PERFORM FROM runs r WHERE r.id = of_run FOR UPDATE; -- the run cannot park between the statements below
    IF NOT found THEN
        result := 'none';
        RETURN;
    END IF;
    SELECT a.by, a.at INTO answered_by, answered_at FROM answers a WHERE a.run = of_run AND a.id = of_id;
    IF found THEN
        result := 'answered';
    ELSE
        INSERT INTO answers VALUES (of_run, of_id, new_value, new_refuse, new_by, coalesce(new_at, clock_timestamp()), new_synced);
        PERFORM pg_notify('concerto', of_run);
        result := 'stored';
    END IF;
END $$;

-- delay returns how long a run whose worker is dead waits for the next one, by its number of earlier crashes.
CREATE FUNCTION delay(crashes integer) RETURNS interval LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN crashes < 2 THEN interval '0' ELSE least(2 ^ (crashes - 2), 300) * interval '1 second' END;

-- may_run_on returns whether a run with a pin may be executed on a machine: no worker of the machine to which
-- it is pinned has been alive for the time that its program determines.
CREATE FUNCTION may_run_on(machine text, pin text, ir text, t timestamptz) RETURNS boolean LANGUAGE sql STABLE
    RETURN pin IS NULL OR pin = machine OR NOT EXISTS (SELECT FROM concerto.machines m JOIN concerto.programs p ON p.sha256 = ir
        WHERE m.name = pin AND m.seen_at > t - p.orphan_s * interval '1 second');

-- claim makes a worker the owner of at most max runs, in the order of their priority and of the time at
-- which they became ready, and returns them. A run whose worker is dead has crashed once more: with
-- max_crashes crashes it becomes held. Only a run that must stop ignores pauses and limits of its queue,
-- missing secrets and the VM version. The worker has refused the runs in refused, and has the environment
-- variables in variables. Runs that become held are returned too.
CREATE FUNCTION claim(of_worker text, max integer, max_crashes integer, refused text[], variables text[])
RETURNS TABLE (id text, epoch bigint, held boolean, taken_over boolean, begun boolean, stop boolean, program text, ir text, start json) LANGUAGE plpgsql SET search_path = concerto, pg_temp AS $$
#variable_conflict use_column
DECLARE
    w workers;
    t timestamptz := clock_timestamp();
    limits boolean;
    c record;
BEGIN
    SELECT * INTO w FROM workers WHERE workers.id = of_worker AND lease_until > t AND NOT draining;
    IF NOT found THEN
        RETURN;
    END IF;
    -- Workers that claim from a queue with limits do so one after the other. The statements after this one
    -- have a later snapshot, and count the runs that the previous worker has claimed.
    PERFORM FROM queues q WHERE q.name = ANY(w.queues) AND (q.concurrency > 0 OR q.per_key > 0) ORDER BY q.name FOR UPDATE;
    limits := found;

    FOR c IN
        WITH dead AS (
            SELECT d.id FROM workers d WHERE d.lease_until <= t
            UNION SELECT o.owner FROM (SELECT DISTINCT owner FROM runs WHERE owner IS NOT NULL) o WHERE NOT EXISTS (SELECT FROM workers l WHERE l.id = o.owner)
        ), found AS (
            SELECT x.id FROM dead, LATERAL (SELECT r.id FROM runs r WHERE r.owner = dead.id) x
            UNION SELECT x.id FROM unnest(w.queues) q, LATERAL (
                SELECT r.id FROM runs r WHERE r.queue = q AND r.state = 'ready' AND r.ready_at <= t
                    -- Runs that this worker cannot claim now must not hide those after them.
                    AND may_run_on(w.machine, r.pin, r.ir, t) AND r.vm_version <= w.vm_version AND r.needs <@ variables AND r.id <> ALL(refused)
                    AND NOT (limits AND r.key <> '' AND EXISTS (SELECT FROM queues l WHERE l.name = q AND l.per_key > 0
                        AND (SELECT count(*) FROM runs o WHERE o.queue = q AND o.key = r.key AND o.owner IS NOT NULL) >= l.per_key))
                ORDER BY r.priority DESC, r.ready_at, r.id LIMIT max * 4) x
            UNION SELECT r.id FROM runs r WHERE r.state = 'waiting' AND r.wake_at <= t
            UNION SELECT r.id FROM runs r WHERE r.stop AND r.state IN ('ready', 'waiting')
            UNION SELECT a.run FROM answers a JOIN runs r ON r.id = a.run WHERE r.state = 'waiting'
        )
        SELECT r.* FROM runs r JOIN found USING (id)
        WHERE r.queue = ANY(w.queues) AND may_run_on(w.machine, r.pin, r.ir, t) AND r.id <> ALL(refused)
            AND (r.stop OR r.vm_version <= w.vm_version AND r.needs <@ variables
                AND NOT EXISTS (SELECT FROM queues q WHERE q.name = r.queue AND q.paused))
            -- The row may have changed since the search: PostgreSQL evaluates these conditions again after it has locked the row.
            AND (r.state = 'ready' AND (r.ready_at <= t OR r.stop)
                OR r.state = 'running' AND NOT EXISTS (SELECT FROM workers l WHERE l.id = r.owner AND l.lease_until + delay(r.crashes) > t)
                OR r.state = 'waiting' AND (r.stop OR r.wake_at <= t OR EXISTS (SELECT FROM answers a WHERE a.run = r.id)))
        ORDER BY r.priority DESC, r.ready_at, r.id
        FOR UPDATE OF r SKIP LOCKED
    LOOP
        EXIT WHEN max <= 0;
        CONTINUE WHEN limits AND NOT c.stop AND c.state <> 'running' AND EXISTS (
            SELECT FROM queues q WHERE q.name = c.queue AND (
                q.concurrency > 0 AND (SELECT count(*) FROM runs r WHERE r.queue = c.queue AND r.owner IS NOT NULL) >= q.concurrency
                OR q.per_key > 0 AND c.key <> '' AND (SELECT count(*) FROM runs r WHERE r.queue = c.queue AND r.key = c.key AND r.owner IS NOT NULL) >= q.per_key));
        IF c.state = 'running' AND c.crashes + 1 >= max_crashes THEN
            RETURN QUERY UPDATE runs r SET state = 'held', owner = NULL, crashes = c.crashes + 1
                WHERE r.id = c.id RETURNING r.id::text, r.epoch, true, true, r.s > 0, r.stop, r.program, r.ir, r.start;
            CONTINUE;
        END IF;
        RETURN QUERY UPDATE runs r SET state = 'running', owner = w.id, epoch = r.epoch + 1, machine = w.machine, boot = w.boot, pid = w.pid,
                pin = CASE WHEN r.pin = w.machine THEN r.pin END, pinned_by = CASE WHEN r.pin = w.machine THEN r.pinned_by END,
                moved = r.moved OR coalesce(r.pin <> w.machine, false), crashes = c.crashes + (c.state = 'running')::integer, started_at = coalesce(r.started_at, t), wake_at = NULL, refusal = NULL
            WHERE r.id = c.id RETURNING r.id::text, r.epoch, false, c.state = 'running', r.s > 0, r.stop, r.program, r.ir, r.start;
        max := max - 1;
    END LOOP;
END $$;

-- known_secrets returns those of some environment variables that a program needs as secrets.
CREATE FUNCTION known_secrets(variables text[]) RETURNS text[] LANGUAGE sql STABLE SET search_path = concerto, pg_temp
    RETURN coalesce((SELECT array_agg(DISTINCT n ORDER BY n) FROM programs p, unnest(p.needs) n WHERE n = ANY(variables)), '{}');

-- see notes that a worker of a machine is alive.
CREATE FUNCTION see(machine text) RETURNS void LANGUAGE sql SET search_path = concerto, pg_temp AS $$
    INSERT INTO machines VALUES (machine, clock_timestamp()) ON CONFLICT (name) DO UPDATE SET seen_at = clock_timestamp();
$$;

-- refuse releases a run that its owner cannot execute, or has released just now, and stores the reason. The
-- new state is ready or damaged.
CREATE FUNCTION refuse(of_run text, of_epoch bigint, new_state text, reason text, delay interval) RETURNS void
LANGUAGE sql SET search_path = concerto, pg_temp AS $$
    UPDATE runs SET state = new_state, owner = NULL, refusal = reason, ready_at = clock_timestamp() + delay WHERE id = of_run AND epoch = of_epoch AND state IN ('ready', 'running');
$$;

-- release_held makes a held run ready. result is released, none if the run does not exist, or the run's
-- state. It has the rights of the schema's owner, because no other role of a client may change the state.
CREATE FUNCTION release_held(of_run text, OUT result text) LANGUAGE plpgsql SECURITY DEFINER SET search_path = concerto, pg_temp AS $$
BEGIN
    UPDATE runs SET state = 'ready', crashes = 0, ready_at = clock_timestamp() WHERE id = of_run AND state = 'held' RETURNING 'released' INTO result;
    IF FOUND THEN
        PERFORM pg_notify('concerto', of_run);
    ELSE
        SELECT coalesce((SELECT state FROM runs WHERE id = of_run), 'none') INTO result;
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION release_held FROM PUBLIC;

-- move changes the queue and the priority of a run that is ready or waiting, or whose worker has lost its
-- lease, unless they are null, and removes its pin. result is moved, none if the run does not exist, or the
-- run's state.
CREATE FUNCTION move(of_run text, new_queue text, new_priority integer, any_machine boolean, OUT result text)
LANGUAGE plpgsql SET search_path = concerto, pg_temp AS $$
BEGIN
    UPDATE runs SET queue = coalesce(new_queue, queue), priority = coalesce(new_priority, priority), moved = moved OR any_machine AND pin IS NOT NULL,
        pin = CASE WHEN NOT any_machine THEN pin END, pinned_by = CASE WHEN NOT any_machine THEN pinned_by END
        WHERE id = of_run AND (state IN ('ready', 'waiting')
            OR state = 'running' AND NOT EXISTS (SELECT FROM workers l WHERE l.id = owner AND l.lease_until > clock_timestamp())) RETURNING 'moved' INTO result;
    IF FOUND THEN
        PERFORM pg_notify('concerto', of_run);
    ELSE
        SELECT coalesce((SELECT state FROM runs WHERE id = of_run), 'none') INTO result;
    END IF;
END $$;

-- remove deletes a run, unless it is in progress, or its hosts may be alive on the machine to which it is
-- pinned. result is removed, none if the run does not exist, held (with the owner's machine and process), or
-- pinned (with the machine).
CREATE FUNCTION remove(of_run text, OUT result text, OUT held_machine text, OUT held_pid integer)
LANGUAGE plpgsql SET search_path = concerto, pg_temp AS $$
DECLARE
    r runs;
BEGIN
    SELECT * INTO r FROM runs WHERE id = of_run FOR UPDATE;
    IF NOT FOUND THEN
        result := 'none';
    ELSIF r.state = 'running' THEN
        result := 'held';
        held_machine := r.machine;
        held_pid := r.pid;
    ELSIF r.state IN ('ready', 'waiting') AND NOT may_run_on('', r.pin, r.ir, clock_timestamp()) THEN
        result := 'pinned';
        held_machine := r.pin;
    ELSE
        DELETE FROM runs WHERE id = of_run;
        result := 'removed';
    END IF;
END $$;
