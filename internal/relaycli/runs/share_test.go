package runs

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
)

// TestShareEndMachine ends a share: only the machine of its runs is asked, or all machines if the
// server does not have the runs any more. This command line is a device of neither machine.
func TestShareEndMachine(t *testing.T) {
	for name, want := range map[string][]string{"run_a": {"desk"}, "run_deleted": {"desk", "build"}} {
		t.Run(name, func(t *testing.T) {
			revoked := false
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var out any
				switch r.Method + " " + r.URL.Path {
				case "GET /tokens":
					out = []any{map[string]any{"id": "t_1", "name": "share s_1", "runs": []string{name}}}
				case "DELETE /tokens/t_1":
					revoked = true
				case "GET /hosts":
					out = []any{map[string]any{"id": "desk", "account": "a_1"}, map[string]any{"id": "build", "account": "a_1"}}
				case "GET /runs/run_a":
					out = map[string]any{"id": name, "host_id": "desk"}
				default:
					w.WriteHeader(http.StatusNotFound)
				}
				_ = json.NewEncoder(w).Encode(out)
			}))
			defer s.Close()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "token"), []byte("t"), 0o600); err != nil {
				t.Fatal(err)
			}
			a := &console.Console{Dir: dir}
			e, err := connect.ServerEnd(a, s.URL, "token")
			if err != nil {
				t.Fatal(err)
			}
			err = (&sharing{Console: a, state: "state"}).end(t.Context(), e, "s_1")
			if err == nil || !revoked {
				t.Fatalf("end = %v, the token is revoked: %v", err, revoked)
			}
			for _, machine := range []string{"desk", "build"} {
				if got := strings.Contains(err.Error(), "machine "+machine+" "); got != strings.Contains(strings.Join(want, " "), machine) {
					t.Errorf("end = %v, want that of %q", err, want)
				}
			}
		})
	}
}
