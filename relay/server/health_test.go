package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// TestHealthWithoutDatabase makes PostgreSQL's database unavailable. /health must fail while it is
// unavailable, and succeed before and after.
func TestHealthWithoutDatabase(t *testing.T) {
	t.Parallel()
	pg := pgtest.Start(t)
	r := servertest.StartBeside(t, pgtest.Make(t, pg, "relay"), nil)
	check := func(when string, code int, status string) {
		t.Helper()
		got, body := r.Do("", http.MethodGet, "/health", nil)
		if got != code || !strings.Contains(string(body), `"status":"`+status+`"`) {
			t.Errorf("%s: response = %d %s, want %d and %s", when, got, body, code, status)
		}
	}
	check("at first", http.StatusOK, "ok")
	pgtest.Drop(t, pg, "relay")
	check("without the database", http.StatusServiceUnavailable, "database")
	pgtest.Make(t, pg, "relay")
	check("with a database again", http.StatusOK, "ok")
}
