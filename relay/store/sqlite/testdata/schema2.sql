BEGIN TRANSACTION;
CREATE TABLE audit (seq BIGINT PRIMARY KEY, line TEXT NOT NULL);
INSERT INTO "audit" VALUES(1,'{"actor":{"name":"host_a","type":"host"},"data":{},"hash":"19315d18b385c5013fa37781fbf17819f61f0ed6c9c7c4d8ced3ef154b5f4c89","kind":"run_started","prev":"0000000000000000000000000000000000000000000000000000000000000000","run":"run_a","seq":1,"subject":{},"time":"1970-01-01T00:00:00.005Z"}');
INSERT INTO "audit" VALUES(2,'{"actor":{"name":"host_a","type":"host"},"data":{},"hash":"137ce148f516700c5559c314e4e9e29fa969f4440272ba6d7f8276fd7eb0d4ae","kind":"run_started","prev":"19315d18b385c5013fa37781fbf17819f61f0ed6c9c7c4d8ced3ef154b5f4c89","run":"run_b","seq":2,"subject":{},"time":"1970-01-01T00:00:00.005Z"}');
CREATE TABLE commands (n INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL, payload TEXT NOT NULL, payload_sha256 TEXT NOT NULL,
	by_name TEXT NOT NULL, created BIGINT NOT NULL, expires BIGINT NOT NULL, UNIQUE (run_id, kind, id));
INSERT INTO "commands" VALUES(1,'run_a','input','i1','accepted','{"type":"run.send_input","data":{"text":"y"}}','s1','ann',9,1125899906842624);
INSERT INTO "commands" VALUES(2,'run_a','decision','q1','accepted','{}','s2','ann',9,1125899906842624);
CREATE TABLE decisions (run_id TEXT NOT NULL, request_id TEXT NOT NULL, decision TEXT NOT NULL, by_name TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (run_id, request_id));
INSERT INTO "decisions" VALUES('run_a','q1','approve','ann',9);
CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, seq BIGINT NOT NULL, from_seq BIGINT NOT NULL, ts TEXT NOT NULL, type TEXT NOT NULL, input_id TEXT NOT NULL,
	data_json TEXT NOT NULL, extra_json TEXT NOT NULL, recv_at BIGINT NOT NULL, UNIQUE (run_id, seq));
INSERT INTO "events" VALUES(1,'run_a',1,1,'2025-01-01T00:00:00Z','run.started','','{"tool":"codex","cwd":"/w","command":"codex"}','',4);
INSERT INTO "events" VALUES(2,'run_a',2,2,'2025-01-01T00:00:00Z','run.output','','{"stream":"stdout","text":"hello"}','',5);
INSERT INTO "events" VALUES(3,'run_a',3,3,'2025-01-01T00:00:00Z','run.permission_requested','','{"request_id":"q1","reason":"permission","prompt":"?"}','',6);
INSERT INTO "events" VALUES(4,'run_a',6,6,'2025-01-01T00:00:00Z','run.output','','{"stream":"stdout","text":"held back"}','',9);
INSERT INTO "events" VALUES(5,'run_b',1,1,'2025-01-01T00:00:00Z','run.started','','{"tool":"codex","cwd":"/w","command":"codex"}','',4);
INSERT INTO "events" VALUES(6,'run_b',2,2,'2025-01-01T00:00:00Z','run.permission_requested','','{"request_id":"q0","reason":"permission","prompt":"Run a command","op_tool":"bash","op_args":{"cmd":"make"}}','',6);
INSERT INTO "events" VALUES(7,'run_b',3,3,'2025-01-01T00:00:00Z','run.permission_resolved','','{"request_id":"q0","decision":"deny","actor":"web","by":"olga"}','',7);
INSERT INTO "events" VALUES(8,'run_b',4,4,'2025-01-01T00:00:00Z','run.exited','','{"exit_code":0}','',8);
CREATE TABLE hosts (id TEXT PRIMARY KEY, name TEXT NOT NULL, token_hash TEXT NOT NULL, pubkey TEXT NOT NULL, epoch BIGINT NOT NULL, gen BIGINT NOT NULL,
	replica TEXT NOT NULL, last_seen_at BIGINT NOT NULL, removed BIGINT NOT NULL DEFAULT 0);
INSERT INTO "hosts" VALUES('host_a','a','x','',7,1,'',2,0);
CREATE TABLE meta (one BIGINT PRIMARY KEY, schema BIGINT NOT NULL, people BIGINT NOT NULL DEFAULT 0);
INSERT INTO "meta" VALUES(1,2,1);
CREATE TABLE pairings (code_hash TEXT PRIMARY KEY, pubkey TEXT NOT NULL, name TEXT NOT NULL, expires BIGINT NOT NULL);
CREATE TABLE push (endpoint TEXT PRIMARY KEY, user_name TEXT NOT NULL, data_json TEXT NOT NULL);
CREATE TABLE requests (run_id TEXT NOT NULL, request_id TEXT NOT NULL, seq BIGINT NOT NULL, data_json TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (run_id, request_id));
INSERT INTO "requests" VALUES('run_a','q1',3,'{"request_id":"q1","reason":"permission","prompt":"?"}','decided');
INSERT INTO "requests" VALUES('run_b','q0',2,'{"request_id":"q0","reason":"permission","prompt":"Run a command","op_tool":"bash","op_args":{"cmd":"make"}}','resolved');
CREATE TABLE rpc_calls (request_id TEXT PRIMARY KEY, data_json TEXT NOT NULL, state TEXT NOT NULL, at BIGINT NOT NULL);
CREATE TABLE runs (id TEXT PRIMARY KEY, host_id TEXT NOT NULL, tool TEXT NOT NULL, cwd TEXT NOT NULL, command TEXT NOT NULL, title TEXT NOT NULL,
	status TEXT NOT NULL, waits BIGINT NOT NULL, meta_json TEXT NOT NULL, started_at BIGINT NOT NULL, last_active_at BIGINT NOT NULL, ended_at BIGINT NOT NULL,
	exit_code BIGINT, prefix_seq BIGINT NOT NULL, last_seq BIGINT NOT NULL);
INSERT INTO "runs" VALUES('run_a','host_a','codex','/w','codex','','awaiting_approval',0,'{}',4,6,0,NULL,3,6);
INSERT INTO "runs" VALUES('run_b','host_a','codex','/w','codex','','exited',0,'{}',4,8,8,0,4,4);
CREATE TABLE tokens (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, user_name TEXT NOT NULL, role TEXT NOT NULL, runs TEXT NOT NULL, kind TEXT NOT NULL, expires BIGINT NOT NULL, name TEXT NOT NULL DEFAULT '', parent TEXT NOT NULL DEFAULT '', slides BIGINT NOT NULL DEFAULT 0, created BIGINT NOT NULL DEFAULT 0);
INSERT INTO "tokens" VALUES('t1','th','ann','owner','','token',1125899906842624,'mine','',0,1);
CREATE TABLE users (name TEXT PRIMARY KEY, role TEXT NOT NULL, hash TEXT NOT NULL);
INSERT INTO "users" VALUES('ann','owner','h');
CREATE INDEX runs_by_host ON runs (host_id);
CREATE INDEX runs_by_activity ON runs (last_active_at);
CREATE INDEX events_gaps ON events (run_id, seq) WHERE type = 'run.gap';
CREATE INDEX requests_open ON requests (state);
CREATE INDEX commands_open ON commands (state);
CREATE INDEX tokens_of_user ON tokens (user_name);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',8);
INSERT INTO "sqlite_sequence" VALUES('commands',2);
COMMIT;
