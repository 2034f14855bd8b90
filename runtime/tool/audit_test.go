package tool

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/audit"
)

// filling is a file on a disk that is full if the flag is set.
type filling struct {
	audit.File
	full *atomic.Bool
}

func (f filling) Write(b []byte) (int, error) {
	if f.full.Load() {
		return 0, syscall.ENOSPC
	}
	return f.File.Write(b)
}

// TestAuditLog checks the audit log of many calls. It contains the end of each completed call.
// Calls without an end count as unfinished. A call that a full disk cannot record is not made.
func TestAuditLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	var full atomic.Bool
	l, err := audit.Open(path, audit.Options{Wrap: func(f audit.File) audit.File { return filling{f, &full} }})
	if err != nil {
		t.Fatal(err)
	}
	var called atomic.Int32
	begun, end := make(chan struct{}), make(chan struct{})
	x, hangs := echo("x"), echo("hangs")
	x.Handler = func(context.Context, json.RawMessage, *Context) (Result, error) {
		called.Add(1)
		return Success(1)
	}
	hangs.Handler = func(context.Context, json.RawMessage, *Context) (Result, error) {
		close(begun)
		<-end
		return Success(nil)
	}
	app := &recorder{}
	h := app.hooks()
	h.Audit = l
	s := opened(t, registered(t, x, hangs), Context{SessionID: "r_1"}, h)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { s.Call(context.Background(), "x", nil); s.Call(context.Background(), "y", nil) })
	}
	all.Wait()
	var last sync.WaitGroup
	last.Go(func() { s.Call(context.Background(), "hangs", nil) })
	<-begun
	verify := func() audit.Summary {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := audit.Verify(strings.NewReader(string(text)), "audit.log", l.Head().Hash)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	if sum := verify(); sum.Calls != 101 || sum.Unfinished != 1 || sum.Records != 202 || called.Load() != 50 {
		t.Errorf("audit summary = %s with %d calls of the handler, want 101 calls, 1 unfinished, 202 records and 50", sum, called.Load())
	}
	full.Store(true)
	if e := s.Do(context.Background(), Ask{Name: "x"}); e.Outcome != OutcomeUnavailable || e.Started || called.Load() != 50 ||
		!strings.Contains(e.Result.Error, "no space left") {
		t.Errorf("call on a full disk = %+v, want unavailable", e)
	}
	close(end)
	last.Wait() // the end of this call cannot be recorded; that is logged, and the call remains unfinished
	if got := app.so(&app.logs); !strings.Contains(got, "error the end of call r_1-101 of tool 'hangs' is not in the audit log") {
		t.Error(got)
	}
	full.Store(false)
	if e := s.Do(context.Background(), Ask{Name: "x"}); e.Outcome != OutcomeOK {
		t.Errorf("call after the disk has room = %+v, want success", e)
	}
	if sum := verify(); sum.Calls != 102 || sum.Unfinished != 1 {
		t.Error(sum)
	}
	if err := errors.Join(s.Close(), l.Close()); err != nil {
		t.Error(err)
	}
}
