package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
)

// connect returns an engine on a new database without a schema.
func connect(t *testing.T, url string) *Engine {
	t.Helper()
	e, err := Connect(t.Context(), url, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func testInit(t *testing.T) {
	ctx := t.Context()
	e := connect(t, pgtest.Make(t, server, "one"))
	if _, err := e.CheckSchema(ctx); err == nil || err.Error() != "database one has no concerto schema; run concerto engine init" {
		t.Fatalf("without a schema: %v", err)
	}
	for i, want := range []bool{true, false} {
		if created, err := e.Init(ctx, true); err != nil || created != want {
			t.Fatalf("Init %d: %v, %v", i+1, created, err)
		}
	}
	first, err := e.CheckSchema(ctx)
	if err != nil || first.Schema != Schema || !strings.HasPrefix(first.ID, "e_") {
		t.Fatalf("%+v, %v", first, err)
	}
	// A second engine on the server uses the same roles.
	other := connect(t, pgtest.Make(t, server, "two"))
	if created, err := other.Init(ctx, true); err != nil || !created {
		t.Fatal(created, err)
	}
	if second, err := other.CheckSchema(ctx); err != nil || second.ID == first.ID {
		t.Fatalf("%+v, %v", second, err)
	}
}

// testInitRacing starts Init 8 times at once: one of them creates the schema.
func testInitRacing(t *testing.T) {
	e := connect(t, pgtest.Make(t, server, "race"))
	created := make(chan bool)
	for range 8 {
		go func() {
			c, err := e.Init(context.Background(), true)
			if err != nil {
				t.Error(err)
			}
			created <- c
		}()
	}
	n := 0
	for range 8 {
		if <-created {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of 8 have created the schema", n)
	}
}

// testInitRacingServer starts Init in 8 databases of a server without roles at once. Roles belong
// to the server, so all of them try to create the same ones.
func testInitRacingServer(t *testing.T) {
	bare := pgtest.Start(t)
	engines := make([]*Engine, 8)
	for i := range engines {
		engines[i] = connect(t, pgtest.Make(t, bare, fmt.Sprintf("race%d", i)))
	}
	var all sync.WaitGroup
	for _, e := range engines {
		all.Go(func() {
			if created, err := e.Init(context.Background(), true); err != nil || !created {
				t.Error(created, err)
			}
		})
	}
	all.Wait()
}

// testRolesDenied checks Init by a user who may create the schema and no roles: the error contains
// the statements for an administrator, and they suffice.
func testRolesDenied(t *testing.T) {
	admin := connect(t, pgtest.Make(t, server, "app"))
	do := func(e *Engine, sql string) {
		t.Helper()
		if err := e.inTx(t.Context(), func(tx pgx.Tx) error { return execute(t.Context(), tx, sql) }); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	do(admin, "CREATE ROLE app LOGIN; GRANT CREATE ON DATABASE app TO app")
	e := connect(t, strings.Replace(server("app"), "postgres@", "app@", 1))
	created, err := e.Init(t.Context(), true)
	denied, ok := errors.AsType[*RolesError](err)
	if !created || !ok || !strings.Contains(denied.SQL, "CREATE ROLE concerto_worker NOLOGIN;\n") {
		t.Fatalf("%v, %v", created, err)
	}
	do(admin, denied.SQL)
	if created, err := e.Init(t.Context(), false); err != nil || created {
		t.Fatal(created, err)
	}
	do(admin, "CREATE ROLE worker LOGIN IN ROLE concerto_worker; CREATE ROLE reader LOGIN IN ROLE concerto_reader")
	// The rights of the roles, by statements that need them.
	for _, c := range []struct {
		user, sql string
		allowed   bool
	}{
		{"reader", "SELECT * FROM concerto.journal", true},
		{"reader", "DELETE FROM concerto.answers", false},
		{"worker", "DELETE FROM concerto.answers", true},
		{"worker", "UPDATE concerto.journal SET line = ''", false},
		{"worker", "UPDATE concerto.output SET line = ''", false},
		{"worker", "DELETE FROM concerto.runs", false},
		{"worker", "DROP TABLE concerto.runs", false},
		{"worker", "ALTER TABLE concerto.runs ADD COLUMN x int", false},
	} {
		as := connect(t, strings.Replace(server("app"), "postgres@", c.user+"@", 1))
		if err := as.inTx(t.Context(), func(tx pgx.Tx) error { return execute(t.Context(), tx, c.sql) }); (err == nil) != c.allowed {
			t.Errorf("%s as %s: %v", c.sql, c.user, err)
		}
	}
}

// testRoles checks that the rights of a role are enough for what its users do: a worker runs a run,
// a client answers and stops it, and a reader reads it.
func testRoles(t *testing.T) {
	admin := connect(t, pgtest.Make(t, server, "roles"))
	if _, err := admin.Init(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	as := func(role string) journal.Run {
		t.Helper()
		admin.mustDo(t, "CREATE ROLE one_"+role+" LOGIN IN ROLE "+role)
		e := connect(t, strings.Replace(server("roles"), "postgres@", "one_"+role+"@", 1))
		if role != Worker {
			return (&Session{engine: e}).Run("run")
		}
		s, err := e.NewSession(t.Context(), WorkerRow{Machine: "m1", PID: 1, Queues: []string{"default"}, Concurrency: 1}, time.Hour, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		return s.Run("run")
	}
	worker, client, reader := as(Worker), as(Client), as(Reader)
	w, err := worker.Create(journal.Start{Run: "run", Program: "main.conc", Args: []string{}}, []byte("ir"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	large := &journal.Record{RecordKind: journal.KDid, Effect: 1, Kind: "clock", ResultMembers: journal.ResultMembers{Result: []byte(`"` + strings.Repeat("x", journal.BlobSize) + `"`)}}
	at := w.Append(large)
	w.Out("line")
	answer := journal.Answer{Value: []byte("1"), By: "ann", At: 1}
	for _, err := range []error{
		w.Flush(journal.Synced), client.PutAnswer("q1", answer), client.RequestStop(), w.PutProgram("program.2.conc-ir", []byte("other")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := reader.PutAnswer("q2", answer); !isDenied(err) {
		t.Errorf("an answer of a reader: %v", err)
	}
	if _, err := reader.Blob(large.Blob); err != nil {
		t.Error(err)
	}
	h, err := reader.Read()
	if err != nil || h.N != at || !reader.IsStopRequested() || !journal.IsAnswered(reader, "q1") {
		t.Errorf("the reader reads %+v, %v", h, err)
	}
	w.ConsumeAnswer("q1")
	if err := errors.Join(w.Flush(journal.Written), w.Close()); err != nil {
		t.Fatal(err)
	}
	if journal.IsAnswered(reader, "q1") {
		t.Error("the answer was not consumed")
	}
	admin.mustDo(t, `INSERT INTO concerto.queues VALUES ('default', 1, 1, false)`)
	session := worker.(*run).session
	claimed, err := session.engine.Claim(t.Context(), session.ID(), 2, 3, nil, variables)
	if err != nil || len(claimed) != 1 || claimed[0].Run != "run" || claimed[0].Epoch != 2 || claimed[0].TakenOver {
		t.Errorf("claimed %v, %v", claimed, err)
	}
	if err := worker.(*run).leave(2, "ready", nil, nil); err != nil {
		t.Error(err)
	}
}

// testUpgrade upgrades a schema of the first version, which contains a run with a snapshot.
func testUpgrade(t *testing.T) {
	e := connect(t, pgtest.Make(t, server, "upgrade"))
	for _, sql := range []string{schema1, `INSERT INTO concerto.programs (sha256, data) VALUES (repeat('a', 64), 'x')`,
		`INSERT INTO concerto.runs (id, program, ir, start) VALUES ('old', 'main.conc', repeat('a', 64), '{}')`, `INSERT INTO concerto.snapshots VALUES ('old', 1, 1, 'x')`} {
		if err := e.inTx(t.Context(), func(tx pgx.Tx) error { return execute(t.Context(), tx, sql) }); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.CheckSchema(t.Context()); !errors.As(err, new(*SchemaError)) {
		t.Errorf("before the upgrade: %v, want a SchemaError", err)
	}
	if from, err := e.Upgrade(t.Context()); from != 1 || err != nil {
		t.Fatalf("Upgrade from %d: %v", from, err)
	}
	if m, err := e.CheckSchema(t.Context()); err != nil || m.Schema != Schema || m.MinSchema != Schema {
		t.Errorf("after the upgrade: %+v, %v", m, err)
	}
	if from, err := e.Upgrade(t.Context()); from != Schema || err != nil {
		t.Errorf("the second Upgrade from %d: %v", from, err)
	}
}

// testSchemaVersions checks the errors for schemas of other versions, and that nothing changes.
func testSchemaVersions(t *testing.T) {
	e := connect(t, pgtest.Make(t, server, "versions"))
	if _, err := e.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		schema, least int
		want          string
	}{
		{Schema, Schema, ""},
		{Schema + 1, Schema, ""}, // a newer schema that this program may still write
		{Schema + 2, Schema + 1, "schema version 4 requires a newer concerto"},
		{0, 0, "schema version 0 is too old for this concerto (requires 2); run concerto engine upgrade"},
	} {
		if _, err := e.pool.Exec(t.Context(), `UPDATE concerto.meta SET schema = $1, min_schema = $2`, c.schema, c.least); err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := e.CheckSchema(t.Context()); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("schema %d, least %d: %q, want %q", c.schema, c.least, got, c.want)
		}
	}
	if _, err := e.pool.Exec(t.Context(), `UPDATE concerto.meta SET schema = 9, min_schema = 9`); err != nil {
		t.Fatal(err)
	}
	if from, err := e.Upgrade(t.Context()); err == nil || from != 9 {
		t.Errorf("Upgrade of a newer schema: %d, %v", from, err)
	}
}
