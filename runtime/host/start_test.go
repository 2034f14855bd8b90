package host

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// TestStartPreservesOrder checks that started exchanges acquire the host in the order of their
// starts, and that a stopped exchange leaves the queue.
func TestStartPreservesOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, func(h *memHost) { echoes(h) })
		type outcome struct {
			n   int
			id  int64
			err error
		}
		done := make(chan outcome, 10)
		var stops []func()
		for n := range 5 {
			stop, ok := b.Start(context.Background(), &effect.ExchangeOpen{Host: "w", Prompt: fmt.Sprint(n)}, func(r effect.Result, err error) {
				o := outcome{n: n, err: err}
				if err == nil {
					o.id = r.(*effect.ExchangeOpened).ID
				}
				done <- o
			})
			if !ok {
				t.Fatal("Start did not accept an ExchangeOpen")
			}
			stops = append(stops, stop)
		}
		synctest.Wait()
		stops[2]()
		synctest.Wait()
		first := <-done
		if o := <-done; o.n != 2 || o.err != context.Canceled {
			t.Errorf("first completed start = %+v, want the cancelled start 2", o)
		}
		if b.Waiting("w") != 3 {
			t.Error(b.Waiting("w"))
		}
		for want, o := 0, first; ; o = <-done {
			if o.n != want || o.err != nil {
				t.Fatal(want, o)
			}
			b.closeExchange(o.id, "")
			if want == 4 {
				break
			}
			if want++; want == 2 {
				want++
			}
		}
		if _, ok := b.Start(context.Background(), &effect.ExchangeOpen{Host: "none"}, nil); ok {
			t.Error("Start accepted an exchange with an unknown host")
		}
		if _, ok := b.Start(context.Background(), &effect.ExchangeNext{}, nil); ok {
			t.Error("Start accepted an ExchangeNext")
		}
	})
}

func TestCommandLines(t *testing.T) {
	for _, c := range []struct {
		c      Config
		resume string
		want   string
	}{
		{Config{Transport: "claude-code", Vendor: adapter.Vendor{Model: "opus", Mode: "plan", Settings: []string{"user", "project"}, Background: "forbid"}}, "s",
			"claude -p --verbose --input-format stream-json --output-format stream-json --include-partial-messages --replay-user-messages --permission-prompt-tool stdio --permission-mode plan --setting-sources user,project --disallowedTools CronCreate,ScheduleWakeup,Workflow,Monitor --model opus --resume s"},
		{Config{Transport: "claude-code", Command: "npx", Args: []string{"-y", "claude"}}, "",
			"npx -y claude -p --verbose --input-format stream-json --output-format stream-json --include-partial-messages --replay-user-messages --permission-prompt-tool stdio --permission-mode default --setting-sources  --disallowedTools CronCreate,ScheduleWakeup"},
		{Config{Transport: "claude-code", Vendor: adapter.Vendor{Background: "detach"}}, "",
			"claude -p --verbose --input-format stream-json --output-format stream-json --include-partial-messages --replay-user-messages --permission-prompt-tool stdio --permission-mode default --setting-sources "},
		{Config{Transport: "codex", Vendor: adapter.Vendor{Model: "m"}}, "s", "codex -c features.default_mode_request_user_input=true app-server"},
		{Config{Transport: "acp", Command: "gemini", Args: []string{"--acp"}}, "s", "gemini --acp"},
		{Config{Command: "h", Args: []string{"a"}}, "", "h a"},
	} {
		run := c.c.startConfig(c.resume)
		if got := strings.Join(append([]string{run.Command}, run.Args...), " "); got != c.want {
			t.Errorf("command line:\ngot  %s\nwant %s", got, c.want)
		}
	}
}
