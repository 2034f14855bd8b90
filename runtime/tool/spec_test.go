package tool

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// TestSpec checks that a Spec does not change when it is decoded and encoded.
func TestSpec(t *testing.T) {
	const text = `{"name":"x","description":"d","parameters":{"type":"object"},"output":{"type":"string"},"version":2,"scope":"session","category":"db",` +
		`"requires_approval":true,"approval_timeout":0.5,"on_timeout":"halt","timeout":30,"idle_timeout":1.5,"sequential":true,"max_concurrent":3,"requires":["render:a"]}`
	var s Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	d := s.With(echo("x").Handler)
	if d.Timeout != 30*time.Second || d.ApprovalTimeout != 500*time.Millisecond || d.IdleTimeout != 1500*time.Millisecond {
		t.Errorf("definition = %+v, want the timeouts of the Spec", d)
	}
	r := registered(t, d)
	if back, err := jsonwrite.Encode(r.List()[0].Spec()); err != nil || string(back) != text {
		t.Errorf("encoded Spec = %s (error %v), want %s", back, err, text)
	}
	for seconds, want := range map[float64]string{1e300: "/timeout: must be", -1: "/timeout: must be", 1e-12: "/timeout: must be", 86401: "/timeout: must be", 0: ""} {
		err := (&Registry{}).Register(Spec{Name: "x", Timeout: seconds}.With(d.Handler))
		if got := err != nil; got != (want != "") || got && !strings.Contains(err.Error(), want) {
			t.Errorf("timeout %v: error %v, want %q", seconds, err, want)
		}
	}
}

func TestListedJSON(t *testing.T) {
	s := opened(t, registered(t, echo("x")), Context{}, Hooks{})
	s.Call(context.Background(), "x", nil)
	text, err := jsonwrite.Encode(s.List())
	const want = `[{"name":"x","description":"Returns its input","parameters":{"type":"object"},"version":1,"scope":"global","on_timeout":"deny","timeout":60,"owner":"go","calls":1,"failed":0,"p50_ms":`
	if err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("list = %s (error %v), want the prefix %s", text, err, want)
	}
}
