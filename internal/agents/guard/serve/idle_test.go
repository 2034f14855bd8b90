package serve

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/agents/guard"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/process/holder"
)

// TestIdle checks that the process ends ten minutes after the last call, however long that waits.
func TestIdle(t *testing.T) {
	hostd := filepath.Join(t.TempDir(), "hostd.sock")
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t.Context(), Options{Hostd: hostd, Secrets: &secret.Set{}, Log: os.Stderr})
		defer s.close()
		time.Sleep(9 * time.Minute)
		conn, in := net.Pipe()
		s.work.Go(func() { s.serve(in) })
		if err := holder.WriteLine(conn, request{Ask: &guard.Question{Session: "s1", Agent: "codex", Dir: "/", Type: "approval", Message: json.RawMessage("{}")}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if s.ctx.Err() != nil || len(s.sessions) != 1 {
			t.Fatalf("while a call waits: %v, %d sessions", s.ctx.Err(), len(s.sessions))
		}
		conn.Close()
		time.Sleep(Idle - time.Second)
		synctest.Wait()
		if s.ctx.Err() != nil || s.waiting != 0 {
			t.Errorf("before its time: %v, %d calls wait", s.ctx.Err(), s.waiting)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s.ctx.Err() == nil {
			t.Error("it has not ended")
		}
		// A later hook starts another process.
		conn, in = net.Pipe()
		s.work.Go(func() { s.serve(in) })
		if _, err := bufio.NewReader(conn).ReadByte(); err == nil {
			t.Error("an ended process replies")
		}
	})
}

// TestChosen checks how typed answers to questions are read.
func TestChosen(t *testing.T) {
	for answer, want := range map[string]string{
		`"2"`: `"Blue"`, `" 1 "`: `"Red"`, `"7"`: `"7"`, `"3"`: `"7"`, `"4"`: `"4"`, `"0"`: `"0"`, `"Blue"`: `"Blue"`, `"another"`: `"another"`, `["Red"]`: `["Red"]`,
		`"[\"Red\",\"Blue\"]"`: `["Red","Blue"]`, `"{\"a\":1}"`: `{"a":1}`, `"[not"`: `"[not"`, `""`: `""`,
	} {
		if got := chosen(json.RawMessage(answer), []string{"Red", "Blue", "7"}); string(got) != want {
			t.Errorf("%s: %s, want %s", answer, got, want)
		}
	}
}
