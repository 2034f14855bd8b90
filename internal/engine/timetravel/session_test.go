package timetravel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/timetravel"
)

const program = `
fn square(n: Int) -> Int {
    let result = n * n;
    std::time::sleep(0);
    emit("square", result);
    result
}

async fn worker(id: Int) -> Int {
    let mut sum = 0;
    for i in 0..40 {
        sum = sum + square(i + id);
    }
    sum
}

fn main() {
    let a = worker(1);
    let b = worker(2);
    let mut log = ["begun"];
    for name in ["x", "y", "z"] {
        log.push(name);
        emit("name", name);
    }
    let total = await a + await b;
    emit("total", total);
    emit("log", log);
}
`

// recording records a run of a program and plays it once.
func recording(t testing.TB, text string) *timetravel.Recording {
	t.Helper()
	p, found, err := engine.CompileSource(driver.Request{Inline: &driver.Inline{Name: "main.conc", Text: []byte(text)}, Dir: t.TempDir()})
	if p == nil || err != nil {
		t.Fatal(found, err)
	}
	var tape bytes.Buffer
	if err := p.Run(context.Background(), engine.Options{Records: engine.Records{Tape: &tape}}); err != nil {
		t.Fatal(err)
	}
	s, err := timetravel.Tape(&tape, p.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Play(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// position returns the current view of a session as JSON.
func position(t *testing.T, s *timetravel.Session) string {
	t.Helper()
	frames, err := json.Marshal(s.Frames)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("effect %d of %d, line %d, task %d, ended %v: %s", s.Effect, s.Effects, s.Lines, s.Task, s.Ended, frames)
}

// TestSession moves forwards through a run by effects and by lines, and notes each position. Moving
// back must show the same positions.
func TestSession(t *testing.T) {
	r := recording(t, program)
	s := r.Look()
	defer s.Close()
	n := int64(len(r.Effects))
	effects := make([]string, n+1)
	for e := int64(1); e <= n; e++ {
		if err := s.ToEffect(e); err != nil {
			t.Fatal(err)
		}
		effects[e] = position(t, s)
		if s.Effect != e || len(s.Frames) == 0 || s.Frames[0].At != r.Effects[e-1].At || s.Task != r.Effects[e-1].Task {
			t.Fatalf("position of effect %d = %s, want the effect at %s", e, effects[e], r.Effects[e-1].At)
		}
	}
	if last := effects[n]; !strings.Contains(last, `"total":`) || !strings.Contains(last, `"log":["begun","x","y","z"]`) {
		t.Errorf("position of the last effect = %s, want the total and all log entries", last)
	}
	if err := s.ToEffect(n + 1); err != nil || !s.Ended {
		t.Fatal(position(t, s), err)
	}
	lines := s.Lines
	for e := n; e >= 1; e -= 7 {
		if err := s.ToEffect(e); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(effects[e], position(t, s)); d != "" {
			t.Fatalf("position of effect %d after moving back differs (-first +back):\n%s", e, d)
		}
	}
	seen := make([]string, 60)
	for l := int64(1); l < 60; l++ {
		if err := s.ToLine(l); err != nil {
			t.Fatal(err)
		}
		seen[l] = position(t, s)
		if s.Lines != l || s.Effect != 0 {
			t.Fatalf("position of line %d = %s, want this line and no effect", l, seen[l])
		}
	}
	if !strings.HasSuffix(seen[1], `[{"function":"main","at":"main.conc:18:13","locals":{}}]`) {
		t.Errorf("position of the first line = %s, want main.conc:18:13 without variables", seen[1])
	}
	for l := int64(59); l >= 1; l -= 11 {
		if err := s.ToLine(l); err != nil || position(t, s) != seen[l] {
			t.Fatalf("position of line %d after moving back = %s, want %s; error: %v", l, position(t, s), seen[l], err)
		}
	}
	if err := s.ToLine(lines + 1); err != nil || !s.Ended || s.Lines != lines {
		t.Fatal(position(t, s), err)
	}
}

// TestBack moves back far in a long run.
func TestBack(t *testing.T) {
	r := recording(t, strings.ReplaceAll(program, "0..40", "0..1500"))
	s := r.Look()
	defer s.Close()
	n := int64(len(r.Effects))
	if n < 5000 {
		t.Fatalf("the recording has %d effects, want at least 5000", n)
	}
	if err := s.ToEffect(n); err != nil {
		t.Fatal(err)
	}
	for _, e := range []int64{n - 1, n - 1500, 3333, 1001, 1000, 999, 2, n} {
		if err := s.ToEffect(e); err != nil {
			t.Fatal(err)
		}
		if s.Effect != e || s.Frames[0].At != r.Effects[e-1].At {
			t.Fatalf("position of effect %d = %s, want the effect at %s", e, position(t, s), r.Effects[e-1].At)
		}
		line := s.Lines
		if err := s.ToLine(line); err != nil || s.Lines != line || s.Effects != e-1 {
			t.Fatalf("position of line %d, which performs effect %d, = %s; error: %v", line, e, position(t, s), err)
		}
	}
}

// TestSessionsOf moves through programs that use races, errors, random numbers, clocks, long
// computations and stores. Moving back must show the same positions.
func TestSessionsOf(t *testing.T) {
	for name, text := range map[string]string{
		"race": `async fn slow(n: Int) -> Int { for i in 0..5 { std::time::sleep(n); emit("slow", i * n); } n }
fn main() { let first = race(slow(40), slow(1)); emit("first", first); let both = await (slow(1), slow(2)); emit("both", both); }`,
		"errors": `fn bad(n: Int) -> Result<Int, Error> { if n == 2 { throw "no"; } Ok(n) }
fn main() { for i in 0..4 { let r = try { bad(i)? } catch Error(e) { emit("caught", e.message); 0 }; emit("r", r); } }`,
		"chance": `fn main() { let mut all = [0]; for _ in 0..20 { let n = std::random::int(0, 100); all.push(n); emit("n", n); } emit("now", std::time::now_ms() > 0); println("${all}"); }`,
		"computes": `async fn ticks() -> Int { let mut n = 0; for _ in 0..10 { std::time::sleep(1); n = n + 1; } n }
fn main() { let t = ticks(); let mut x = 0; for i in 0..300000 { x = x + i % 7; } emit("x", x); emit("t", await t); }`,
		"stores": `hashmap counts: HashMap<String, Int> = HashMap::new();
fn main() { for w in ["a", "b", "a"] { counts.set(w, counts.get(w).unwrap_or(0) + 1); emit(w, counts.get(w)); } }`,
	} {
		t.Run(name, func(t *testing.T) {
			r := recording(t, text)
			s := r.Look()
			defer s.Close()
			n := int64(len(r.Effects))
			if n < 3 {
				t.Fatalf("the recording has %d effects, want at least 3", n)
			}
			at := make([]string, n+1)
			for e := int64(1); e <= n; e++ {
				if err := s.ToEffect(e); err != nil {
					t.Fatal(err)
				}
				at[e] = position(t, s)
				if s.Effect != e || len(s.Frames) > 0 && s.Frames[0].At != r.Effects[e-1].At {
					t.Fatalf("position of effect %d = %s, want the effect at %s", e, at[e], r.Effects[e-1].At)
				}
			}
			if err := s.ToEffect(n + 1); err != nil || !s.Ended || s.Effects != n {
				t.Fatal(position(t, s), err)
			}
			for e := n; e >= 1; e-- {
				if err := s.ToEffect(e); err != nil || position(t, s) != at[e] {
					t.Fatalf("position of effect %d after moving back = %s, want %s; error: %v", e, position(t, s), at[e], err)
				}
			}
		})
	}
}
