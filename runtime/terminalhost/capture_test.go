//go:build unix

package terminalhost

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestTailIsStored checks that the stored text is the end of the output, in whole characters and
// within the limit, however the output is split into pieces.
func TestTailIsStored(t *testing.T) {
	all := strings.Repeat("aä€😀", 40)
	for limit := range 40 {
		for piece := 1; piece < 9; piece++ {
			x := &tail{limit: limit}
			for at := 0; at < len(all); at += piece {
				x.appendBytes([]byte(all[at:min(at+piece, len(all))]))
				if text, _ := x.storedText(false); !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) || len(text) > limit || !strings.Contains(all, text) {
					t.Fatalf("limit %d, pieces of %d bytes: stored text = %q, want a valid part of the output", limit, piece, text)
				}
			}
			text, cut := x.storedText(true)
			if !cut || !strings.HasSuffix(all, text) || len(text) <= limit-utf8.UTFMax {
				t.Errorf("limit %d: stored text = %q, cut = %t, want the end of the output", limit, text, cut)
			}
		}
	}
	x := &tail{limit: 10}
	x.appendBytes([]byte("a\xffb"))
	text, cut := x.storedText(true)
	if d := cmp.Diff("a\ufffdb", text); d != "" || cut {
		t.Error(d, cut)
	}
	big := &tail{limit: Most}
	for range 100 {
		big.appendBytes(make([]byte, 100<<10))
	}
	if len(big.b) > 2*Most {
		t.Errorf("%d bytes are stored, want at most 2*Most", len(big.b))
	}
}

// shell returns the specification of a command that sh runs.
func shell(t *testing.T, command string) *Spec {
	t.Helper()
	path, args, err := Shell(command, nil, "/", os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	return &Spec{Path: path, Args: args, Env: os.Environ(), Dir: "/", Retain: Most}
}

// TestRepeatedRequestRunsOnce checks that a request that is repeated with the same number is
// performed once.
func TestRepeatedRequestRunsOnce(t *testing.T) {
	s := &Set{Name: "worker"}
	defer s.End()
	open := func(asked int64, command string) string {
		t.Helper()
		id, err := s.Open(asked, shell(t, command))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	a, b := open(5, "echo out; echo err >&2; exit 7"), open(3, "exec sleep 1000")
	if reopened := open(5, "echo another"); a != "t1" || b != "t2" || reopened != a {
		t.Errorf("IDs = %s and %s, and %s for the repeated request; want t1, t2 and t1", a, b, reopened)
	}
	if exit, err := s.Await(a); err != nil || exit != (Exit{Code: 7}) {
		t.Errorf("exit of the first command = %+v (error %v), want code 7", exit, err)
	}
	if got, err := s.Output(a); err != nil || got.Text != "out\nerr\n" || got.Cut || *got.Exit != (Exit{Code: 7}) {
		t.Errorf("output of the first command = %+v (error %v), want both streams and code 7", got, err)
	}
	if got, err := s.Output(b); err != nil || got.Exit != nil {
		t.Errorf("output of the second command = %+v (error %v), want a running command", got, err)
	}
	if err := s.Release(6, b); err != nil {
		t.Error(err)
	}
	if err := s.Release(6, b); err != nil {
		t.Errorf("repeated release: %v", err)
	}
	if err := s.Release(7, b); !errors.Is(err, ErrNone) {
		t.Errorf("another release of the same command: error %v, want ErrNone", err)
	}
	if reopened := open(3, "echo another"); reopened != b {
		t.Errorf("ID for a repeated request after the release = %s, want t2", reopened)
	}
	for _, id := range []string{b, "t3", "t0", "t01", "1", ""} {
		if _, err := s.Output(id); !errors.Is(err, ErrNone) {
			t.Errorf("Output of %q: error %v, want ErrNone", id, err)
		}
	}
}

// TestCommandLimit checks that the number of commands is limited, and that no command can be
// started after End.
func TestCommandLimit(t *testing.T) {
	s := &Set{Name: "worker"}
	var pids []int
	for n := range int64(Room) {
		if _, err := s.Open(n, shell(t, "exec sleep 1000")); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, s.all[n].c.group.Pid())
	}
	if _, err := s.Open(Room, shell(t, "true")); !errors.Is(err, ErrFull) {
		t.Errorf("Open beyond the limit: error %v, want ErrFull", err)
	}
	if err := s.Kill("t1"); err != nil {
		t.Error(err)
	}
	if exit, err := s.Await("t1"); err != nil || exit.Signal != "SIGTERM" {
		t.Errorf("exit of a killed command = %+v (error %v), want SIGTERM", exit, err)
	}
	s.End()
	for _, pid := range pids {
		if err := syscall.Kill(-pid, 0); err == nil {
			t.Errorf("process group %d is still running", pid)
		}
	}
	if _, err := s.Open(Room+1, shell(t, "true")); !errors.Is(err, ErrEnding) {
		t.Errorf("Open after End: error %v, want ErrEnding", err)
	}
}
