CREATE TABLE public.audit (
    seq bigint NOT NULL,
    line text NOT NULL
);
CREATE TABLE public.commands (
    n bigint NOT NULL,
    run_id text NOT NULL,
    kind text NOT NULL,
    id text NOT NULL,
    state text NOT NULL,
    payload text NOT NULL,
    payload_sha256 text NOT NULL,
    by_name text NOT NULL,
    created bigint NOT NULL,
    expires bigint NOT NULL
);
ALTER TABLE public.commands ALTER COLUMN n ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.commands_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.decisions (
    run_id text NOT NULL,
    request_id text NOT NULL,
    decision text NOT NULL,
    by_name text NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE public.events (
    id bigint NOT NULL,
    run_id text NOT NULL,
    seq bigint NOT NULL,
    from_seq bigint NOT NULL,
    ts text NOT NULL,
    type text NOT NULL,
    input_id text NOT NULL,
    data_json text NOT NULL,
    extra_json text NOT NULL,
    recv_at bigint NOT NULL
);
ALTER TABLE public.events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.hosts (
    id text NOT NULL,
    name text NOT NULL,
    token_hash text NOT NULL,
    pubkey text NOT NULL,
    epoch bigint NOT NULL,
    gen bigint NOT NULL,
    replica text NOT NULL,
    last_seen_at bigint NOT NULL,
    removed bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.meta (
    one bigint NOT NULL,
    schema bigint NOT NULL,
    people bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.pairings (
    code_hash text NOT NULL,
    pubkey text NOT NULL,
    name text NOT NULL,
    expires bigint NOT NULL
);
CREATE TABLE public.push (
    endpoint text NOT NULL,
    user_name text NOT NULL,
    data_json text NOT NULL
);
CREATE TABLE public.requests (
    run_id text NOT NULL,
    request_id text NOT NULL,
    seq bigint NOT NULL,
    data_json text NOT NULL,
    state text NOT NULL
);
CREATE TABLE public.rpc_calls (
    request_id text NOT NULL,
    data_json text NOT NULL,
    state text NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE public.runs (
    id text NOT NULL,
    host_id text NOT NULL,
    tool text NOT NULL,
    cwd text NOT NULL,
    command text NOT NULL,
    title text NOT NULL,
    status text NOT NULL,
    waits bigint NOT NULL,
    meta_json text NOT NULL,
    started_at bigint NOT NULL,
    last_active_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    exit_code bigint,
    prefix_seq bigint NOT NULL,
    last_seq bigint NOT NULL
);
CREATE TABLE public.tokens (
    id text NOT NULL,
    hash text NOT NULL,
    user_name text NOT NULL,
    role text NOT NULL,
    runs text NOT NULL,
    kind text NOT NULL,
    expires bigint NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    parent text DEFAULT ''::text NOT NULL,
    slides bigint DEFAULT 0 NOT NULL,
    created bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.users (
    name text NOT NULL,
    role text NOT NULL,
    hash text NOT NULL
);
INSERT INTO public.audit VALUES (1, '{"actor":{"name":"host_a","type":"host"},"data":{},"hash":"19315d18b385c5013fa37781fbf17819f61f0ed6c9c7c4d8ced3ef154b5f4c89","kind":"run_started","prev":"0000000000000000000000000000000000000000000000000000000000000000","run":"run_a","seq":1,"subject":{},"time":"1970-01-01T00:00:00.005Z"}');
INSERT INTO public.audit VALUES (2, '{"actor":{"name":"host_a","type":"host"},"data":{},"hash":"137ce148f516700c5559c314e4e9e29fa969f4440272ba6d7f8276fd7eb0d4ae","kind":"run_started","prev":"19315d18b385c5013fa37781fbf17819f61f0ed6c9c7c4d8ced3ef154b5f4c89","run":"run_b","seq":2,"subject":{},"time":"1970-01-01T00:00:00.005Z"}');
INSERT INTO public.commands OVERRIDING SYSTEM VALUE VALUES (1, 'run_a', 'input', 'i1', 'accepted', '{"type":"run.send_input","data":{"text":"y"}}', 's1', 'ann', 9, 1125899906842624);
INSERT INTO public.commands OVERRIDING SYSTEM VALUE VALUES (2, 'run_a', 'decision', 'q1', 'accepted', '{}', 's2', 'ann', 9, 1125899906842624);
INSERT INTO public.decisions VALUES ('run_a', 'q1', 'approve', 'ann', 9);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (1, 'run_a', 1, 1, '2025-01-01T00:00:00Z', 'run.started', '', '{"tool":"codex","cwd":"/w","command":"codex"}', '', 4);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (2, 'run_a', 2, 2, '2025-01-01T00:00:00Z', 'run.output', '', '{"stream":"stdout","text":"hello"}', '', 5);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (3, 'run_a', 3, 3, '2025-01-01T00:00:00Z', 'run.permission_requested', '', '{"request_id":"q1","reason":"permission","prompt":"?"}', '', 6);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (4, 'run_a', 6, 6, '2025-01-01T00:00:00Z', 'run.output', '', '{"stream":"stdout","text":"held back"}', '', 9);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (5, 'run_b', 1, 1, '2025-01-01T00:00:00Z', 'run.started', '', '{"tool":"codex","cwd":"/w","command":"codex"}', '', 4);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (6, 'run_b', 2, 2, '2025-01-01T00:00:00Z', 'run.permission_requested', '', '{"request_id":"q0","reason":"permission","prompt":"Run a command","op_tool":"bash","op_args":{"cmd":"make"}}', '', 6);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (7, 'run_b', 3, 3, '2025-01-01T00:00:00Z', 'run.permission_resolved', '', '{"request_id":"q0","decision":"deny","actor":"web","by":"olga"}', '', 7);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (8, 'run_b', 4, 4, '2025-01-01T00:00:00Z', 'run.exited', '', '{"exit_code":0}', '', 8);
INSERT INTO public.hosts VALUES ('host_a', 'a', 'x', '', 7, 1, '', 2, 0);
INSERT INTO public.meta VALUES (1, 2, 1);
INSERT INTO public.requests VALUES ('run_a', 'q1', 3, '{"request_id":"q1","reason":"permission","prompt":"?"}', 'decided');
INSERT INTO public.requests VALUES ('run_b', 'q0', 2, '{"request_id":"q0","reason":"permission","prompt":"Run a command","op_tool":"bash","op_args":{"cmd":"make"}}', 'resolved');
INSERT INTO public.runs VALUES ('run_a', 'host_a', 'codex', '/w', 'codex', '', 'awaiting_approval', 0, '{}', 4, 6, 0, NULL, 3, 6);
INSERT INTO public.runs VALUES ('run_b', 'host_a', 'codex', '/w', 'codex', '', 'exited', 0, '{}', 4, 8, 8, 0, 4, 4);
INSERT INTO public.tokens VALUES ('t1', 'th', 'ann', 'owner', '', 'token', 1125899906842624, 'mine', '', 0, 1);
INSERT INTO public.users VALUES ('ann', 'owner', 'h');
SELECT pg_catalog.setval('public.commands_n_seq', 2, true);
SELECT pg_catalog.setval('public.events_id_seq', 8, true);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.commands
    ADD CONSTRAINT commands_pkey PRIMARY KEY (n);
ALTER TABLE ONLY public.commands
    ADD CONSTRAINT commands_run_id_kind_id_key UNIQUE (run_id, kind, id);
ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT decisions_pkey PRIMARY KEY (run_id, request_id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_run_id_seq_key UNIQUE (run_id, seq);
ALTER TABLE ONLY public.hosts
    ADD CONSTRAINT hosts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (one);
ALTER TABLE ONLY public.pairings
    ADD CONSTRAINT pairings_pkey PRIMARY KEY (code_hash);
ALTER TABLE ONLY public.push
    ADD CONSTRAINT push_pkey PRIMARY KEY (endpoint);
ALTER TABLE ONLY public.requests
    ADD CONSTRAINT requests_pkey PRIMARY KEY (run_id, request_id);
ALTER TABLE ONLY public.rpc_calls
    ADD CONSTRAINT rpc_calls_pkey PRIMARY KEY (request_id);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (name);
CREATE INDEX commands_open ON public.commands USING btree (state);
CREATE INDEX events_gaps ON public.events USING btree (run_id, seq) WHERE (type = 'run.gap'::text);
CREATE INDEX requests_open ON public.requests USING btree (state);
CREATE INDEX runs_by_activity ON public.runs USING btree (last_active_at);
CREATE INDEX runs_by_host ON public.runs USING btree (host_id);
CREATE INDEX tokens_of_user ON public.tokens USING btree (user_name);
