package tool

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

// BenchmarkHandlers measures a call of a command that is started for the call, the same in a
// sandbox, and a call of a long-lived command.
func BenchmarkHandlers(b *testing.B) {
	off := false
	starts := Command{Run: []string{"/bin/true"}, Answer: AnswerText}
	confined := starts
	confined.Sandbox = &Sandbox{Net: &off, Settings: sandbox.Settings{Read: []string{}}}
	for _, c := range []struct {
		name string
		x    Command
	}{{"started", starts}, {"confined", confined}, {"stays", stays()}} {
		b.Run(c.name, func(b *testing.B) {
			w := World{}
			if c.x.Sandbox != nil {
				w.Run = &procgroup.Run{ID: procgroup.NewID(), Executable: ours().Run.Executable}
			}
			d, err := c.x.Definition(Spec{Name: "x"}, "")
			if err != nil {
				b.Fatal(err)
			}
			var r Registry
			defer r.Close()
			if err := r.Register(d); err != nil {
				b.Fatal(err)
			}
			s, err := r.OpenWith(context.Background(), Context{}, Hooks{World: w})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			for b.Loop() {
				if r := s.Call(context.Background(), "x", json.RawMessage(`{"do":"count"}`)); !r.Success {
					b.Fatal(r.Error)
				}
			}
		})
	}
}
