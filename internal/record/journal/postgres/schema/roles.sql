-- The rights of the group roles. Only the schema's owner may alter tables, delete runs or change stored records.
GRANT USAGE ON SCHEMA concerto TO concerto_reader, concerto_client, concerto_worker;
GRANT SELECT ON ALL TABLES IN SCHEMA concerto TO concerto_reader;
GRANT concerto_reader TO concerto_client;
GRANT concerto_client TO concerto_worker;

GRANT INSERT ON concerto.programs, concerto.queues, concerto.schedules, concerto.answers TO concerto_client;
GRANT UPDATE, DELETE ON concerto.queues, concerto.schedules TO concerto_client;
GRANT INSERT (id, program, ir, start, queue, priority, key, ready_at, schedule, needs) ON concerto.runs TO concerto_client;
GRANT UPDATE (stop, queue, priority, ready_at, pin, pinned_by, moved) ON concerto.runs TO concerto_client;
GRANT EXECUTE ON FUNCTION concerto.release_held TO concerto_client;

GRANT INSERT ON concerto.journal, concerto.output, concerto.questions, concerto.ledger, concerto.blobs TO concerto_worker;
GRANT INSERT, UPDATE, DELETE ON concerto.workers TO concerto_worker;
GRANT INSERT, UPDATE ON concerto.machines TO concerto_worker;
GRANT INSERT, UPDATE ON concerto.runs TO concerto_worker;
GRANT DELETE ON concerto.ledger, concerto.questions, concerto.answers TO concerto_worker;
