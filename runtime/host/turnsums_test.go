package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/continuity"
)

// tokenBudget records the tokens that exchanges report and stops them above a limit.
type tokenBudget struct {
	limit  int64
	mu     sync.Mutex
	totals []int64
}

func (b *tokenBudget) Open(ctx context.Context, q *Opening, _ func(string)) (Reservation, error) {
	return b, q.Acquire(ctx)
}

func (b *tokenBudget) Resume(string, string, effect.HostUsage) (Reservation, error) { return b, nil }
func (b *tokenBudget) Resumed() error                                               { return nil }
func (b *tokenBudget) Close(bool, bool) effect.ExchangeClosed                       { return effect.ExchangeClosed{} }
func (b *tokenBudget) Cancel()                                                      {}

func (b *tokenBudget) Report(used effect.HostUsage) *effect.Error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.totals = append(b.totals, used.Tokens())
	if used.Tokens() > b.limit {
		return effect.Errorf("HostError", "stopped host 'w': it used %d tokens", used.Tokens()).With("code", "limit_tokens")
	}
	return nil
}

// report returns a message that reports tokens.
func report(typ string, tokens int) string {
	return fmt.Sprintf(`{"type":"%s","usage":{"tokens_in":%d}}`, typ, tokens)
}

// TestTotalsOfTurns checks that what an exchange has used is the sum over its turns, in its
// messages and for its limits, and that an exchange which reaches a limit begins no further turn
// and reports the messages that it has not sent.
func TestTotalsOfTurns(t *testing.T) {
	const unsent = ` log: a queued message was not sent: "next"`
	for _, c := range []struct {
		name      string
		interrupt bool
		limit     int64
		first     []string // messages of the first turn
		want      string   // tokens that the meter has counted, and tokens in each message
	}{
		{"sums", false, 1000, []string{report("progress", 60), report("result", 100)},
			`[60 100 130 150] progress 60, progress 100, progress 130, result 150`},
		{"lower values", false, 1000, []string{report("progress", 60), report("progress", 50), report("result", 60)},
			`[60 90 110] progress 60, progress 50, progress 60, progress 90, result 110`},
		{"a result without totals", false, 1000, []string{report("progress", 60), `{"type":"result"}`},
			`[60 90 110] progress 60, progress 60, progress 90, result 110`},
		{"an interrupted turn", true, 1000, []string{report("progress", 60), `{"type":"error"}`},
			`[60 90 110] progress 60, progress 60, progress 90, result 110`},
		{"a limit in the first turn", false, 50, []string{report("progress", 60)},
			`[60] progress 60, HostError: stopped host 'w': it used 60 tokens` + unsent},
		{"a limit at the end of the first turn", false, 90, []string{report("progress", 60), report("result", 100)},
			`[60 100] progress 60, progress 100, error limit_tokens` + unsent},
		{"a limit in the second turn", false, 120, []string{report("progress", 60), report("result", 100)},
			`[60 100 130 150] progress 60, progress 100, progress 130, HostError: stopped host 'w': it used 130 tokens`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, Config{Params: someParams}, func(h *memHost) {
					h.readLine()
					h.writeLine(`{"type":"init_ack","capabilities":["cancel"]}`)
					h.readLine()
					time.Sleep(time.Second)
					for _, line := range c.first {
						h.writeLine(line)
						time.Sleep(time.Second)
					}
					if line := h.readLine(); strings.Contains(line, "cancel") && !c.interrupt {
						h.note(line)
					} else if c.interrupt {
						h.readLine()
					}
					h.writeLine(report("progress", 30))
					time.Sleep(time.Second)
					h.writeLine(report("result", 50))
					h.readLine()
				})
				budget := &tokenBudget{limit: c.limit}
				b.opts.Budget = budget
				var log []string
				b.opts.Log = func(_, line string) { log = append(log, strings.TrimPrefix(line, "host 'w' ended its exchange: ")) }
				id := b.openExchange()
				outcome := effect.SteerQueued
				if c.interrupt {
					outcome = effect.SteerInterrupted
					time.Sleep(1500 * time.Millisecond)
				}
				b.steer(effect.ExchangeSteer{ID: id, Text: "next", Interrupt: c.interrupt}, outcome)
				var got []string
				for _, m := range b.readAll(id) {
					name, rest, _ := strings.Cut(m, " ")
					_, tokens, found := strings.Cut(rest, `"usage":{"tokens_in":`)
					switch {
					case found:
						name += " " + tokens[:strings.IndexAny(tokens, ",}")]
					case strings.Contains(m, `"code":"limit_tokens"`):
						name += " limit_tokens"
					case strings.HasPrefix(m, "HostError"):
						name = m
					}
					got = append(got, name)
				}
				b.closeExchange(id, "")
				time.Sleep(time.Minute)
				budget.mu.Lock()
				defer budget.mu.Unlock()
				text := fmt.Sprint(budget.totals) + " " + strings.Join(got, ", ")
				for _, line := range slices.Compact(log) {
					text += " log: " + line
				}
				if text != c.want {
					t.Errorf("got  %s\nwant %s", text, c.want)
				}
			})
		})
	}
}

// TestModelsOfTurns checks that the usage of each model is summed over the turns of an exchange,
// also after a resumption, which restores the sums from their JSON.
func TestModelsOfTurns(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, last []string // messages of the two turns
		want        string   // the models of the last message, and of the exchange's result if they differ
	}{
		{"the same model", []string{`{"models":{"a":{"tokens_in":3,"tokens_out":1,"cost_usd":0.5}}}`}, []string{`{"models":{"a":{"tokens_in":4,"tokens_out":2,"cost_usd":0.5}}}`},
			`{"a":{"cost_usd":1.0,"tokens_in":7,"tokens_out":3}}`},
		{"another model", []string{`{"models":{"a":{"tokens_in":3,"cost_usd":1}}}`}, []string{`{"models":{"b":{"tokens_in":4}}}`}, `{"a":{"cost_usd":1.0,"tokens_in":3},"b":{"tokens_in":4}}`},
		{"a result corrects what the turn has reported", []string{`progress {"models":{"a":{"tokens_in":9},"b":{"tokens_in":1}}}`, `{"models":{"a":{"tokens_in":3}}}`},
			[]string{`progress {"models":{"a":{"tokens_in":5}}}`, `{"models":{"a":{"tokens_in":4}}}`}, `{"a":{"tokens_in":7}}`},
		{"only the first turn reports it", []string{`{"models":{"a":{"tokens_in":3}}}`}, []string{`{"text":"done"}`}, `null {"a":{"tokens_in":3}}`},
		{"only the last turn reports it", []string{`{"turns":1}`}, []string{`{"models":{"a":{"tokens_in":3}}}`}, `{"a":{"tokens_in":3}}`},
		{"invalid values", []string{`{"models":{"a":{"tokens_in":3},"b":7}}`}, []string{`{"models":{"a":{"tokens_in":-1,"tokens_out":"x"}}}`}, `{"a":{"tokens_in":3}}`},
		{"no map", []string{`{"models":[1]}`}, []string{`{"models":"x"}`}, `"x"`},
	} {
		var totals continuity.TurnTotals
		var last *value.Map
		turn := func(messages []string) {
			for _, text := range messages {
				typ := hostmsg.Result
				if rest, is := strings.CutPrefix(text, "progress "); is {
					typ, text = hostmsg.Progress, rest
				}
				payload, err := value.Parse([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				totals.AddMessage(&effect.HostMessage{Type: typ, Payload: payload})
				last = payload.Map()
			}
		}
		models := func() string {
			v, _ := last.GetString("models")
			return string(value.AppendJSON(nil, v))
		}
		turn(c.first)
		totals.EndTurn()
		var restored continuity.TurnSums
		if err := json.Unmarshal(jsonwrite.MustEncode(&totals.Sums), &restored); err != nil {
			t.Fatal(err)
		}
		totals = continuity.TurnTotals{}
		totals.Resume(&continuity.TurnHistory{Sums: restored, Ends: 1}, &effect.HostUsage{})
		turn(c.last)
		got := models()
		totals.EndTurn()
		totals.Sums.SetIn(last)
		if all := models(); all != got {
			got += " " + all
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
