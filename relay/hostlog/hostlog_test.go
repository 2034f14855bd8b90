package hostlog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/hostlog"
)

// TestLog checks that a restart appends to the log file, that only the owner can read the file, and
// that it contains no secrets.
func TestLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "hostd.log")
	redact := func(text string) string { return strings.ReplaceAll(text, "hunter2", "***REDACTED***") }
	for range 2 {
		log, end, err := hostlog.Open(file, redact)
		if err != nil {
			t.Fatal(err)
		}
		log.Warn("a token is hunter2", "url", "x?host_token=hunter2")
		if err := end.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil || strings.Count(string(b), "level=WARN msg=\"a token is ***REDACTED***\" url=\"x?host_token=***REDACTED***\"\n") != 2 || strings.Contains(string(b), "hunter2") {
		t.Errorf("log = %s, error = %v; want two redacted lines", b, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("log file = %v, error = %v; want mode 0600", info, err)
	}
	if _, _, err := hostlog.Open(filepath.Dir(file), redact); err == nil || !strings.Contains(err.Error(), "open the log") {
		t.Errorf("open of a directory = %v", err)
	}
}
