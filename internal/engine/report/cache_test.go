package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/ir"
)

// asked is a request to a model that was answered.
type asked struct {
	effect.AgentCall
	model         string // "" is claude-opus-5-5
	start, end    float64
	cached, wrote int64
}

// reportOf returns a report with requests of the agent Analyst to the connection main.
func reportOf(all ...asked) *Report {
	r := &Report{}
	for i, q := range all {
		model := "claude-opus-5-5"
		if q.model != "" {
			model = q.model
		}
		text, err := json.Marshal(&q.AgentCall)
		if err != nil {
			panic(err)
		}
		x := &Item{N: i + 1, Kind: string(event.Model), Name: "Analyst", Start: new(q.start), End: new(q.end), At: new(fmt.Sprintf("main.conc:%d:5", 10+i)), used: models.Sum{Calls: 1}}
		x.Details = Details{Connection: "main", Model: model, TokensIn: new(int64(len(text)) / 4), Parts: models.Parts{Cached: q.cached, CacheWrite: q.wrote}}
		x.Texts.Request = text
		r.Items = append(r.Items, x)
	}
	r.SetCache(&ir.Program{Connections: []ir.Connection{{Name: "main", Config: json.RawMessage(`{"provider": "anthropic"}`)}}})
	return r
}

func turn(role, text string) effect.ChatMessage { return effect.ChatMessage{Role: role, Content: text} }

// rules returns a text with n sentences, each of which differs.
func rules(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("Rule %d: answer in %d words. ", i, i*7)
	}
	return text
}

// TestBreaks checks the cause of each break, and what differs.
func TestBreaks(t *testing.T) {
	system, long := "You judge.", rules(200)
	user := func(text string) effect.AgentCall {
		return effect.AgentCall{System: system, Messages: []effect.ChatMessage{turn("user", text)}}
	}
	tool := func(names ...string) effect.AgentCall {
		c := user("go")
		c.System = long
		for _, n := range names {
			c.Tools = append(c.Tools, effect.ToolSpec{Name: n, Description: "d", Parameters: json.RawMessage(`{}`)})
		}
		return c
	}
	with := func(c effect.AgentCall, set func(*effect.AgentCall)) effect.AgentCall { set(&c); return c }
	talk := func(from, n int) effect.AgentCall {
		c := user("next")
		var before []effect.ChatMessage
		for i := from; i < from+n; i++ {
			before = append(before, turn("user", fmt.Sprint(i, long[:900])), turn("assistant", fmt.Sprint("reply ", i, long[900:1800])))
		}
		c.Messages = append(before, c.Messages...)
		return c
	}
	files := func(name string) effect.AgentCall {
		return with(user(long), func(c *effect.AgentCall) {
			c.Messages[0].Files = []effect.AttachedFile{{Name: name, SHA256: strings.Repeat("a", 64)}}
		})
	}
	same := with(tool("f"), func(c *effect.AgentCall) {})
	const large = 1500 // tokens of long, about
	for _, c := range []struct {
		cause, part, before, after string
		first, second              asked
	}{
		{"time", "message", "12:31:07.", "12:31:09.", asked{AgentCall: user("It is 12:31:07. " + long + "a")}, asked{AgentCall: user("It is 12:31:09. " + long + "b")}},
		{"time", "message", "2026-11-29T01:00:00Z", "2026-11-29T02:00:00Z", asked{AgentCall: user("2026-11-29T01:00:00Z\n" + long)}, asked{AgentCall: user("2026-11-29T02:00:00Z\n" + long)}},
		{"time", "message", "1764374400123", "1764374400456", asked{AgentCall: user("at 1764374400123 " + long)}, asked{AgentCall: user("at 1764374400456 " + long)}},
		{"random", "message", "(3f2504e0-4f89-11d3-9a0c-0305e82c3301)", "(3f2504e0-4f89-11d3-9a0c-0305e82c3399)",
			asked{AgentCall: user("id (3f2504e0-4f89-11d3-9a0c-0305e82c3301) " + long)}, asked{AgentCall: user("id (3f2504e0-4f89-11d3-9a0c-0305e82c3399) " + long)}},
		{"tools", "tools h", "g", "h", asked{AgentCall: tool("f", "g")}, asked{AgentCall: tool("f", "h")}},
		{"tools", "tools g", "You", "g", asked{AgentCall: with(tool("f"), func(c *effect.AgentCall) { c.System = "You " + long })}, asked{AgentCall: with(tool("f", "g"), func(c *effect.AgentCall) { c.System = "You " + long })}},
		{"system", "system", "kindly.", "briefly.", asked{AgentCall: with(user("go"), func(c *effect.AgentCall) { c.System = "Answer kindly. " + long })}, asked{AgentCall: with(user("go"), func(c *effect.AgentCall) { c.System = "Answer briefly. " + long })}},
		{"schema", "schema", "string", "number", asked{AgentCall: with(user(long), func(c *effect.AgentCall) { c.Schema = json.RawMessage(`{"type":"string"}`) })}, asked{AgentCall: with(user(long), func(c *effect.AgentCall) { c.Schema = json.RawMessage(`{"type":"number"}`) })}},
		{"memory", "message", "0Rule", "1Rule", asked{AgentCall: talk(0, 4)}, asked{AgentCall: talk(1, 4)}},
		{"context", "message", "a", "b", asked{AgentCall: user(system + "\nContext: {\"of\":\"a\", " + long)}, asked{AgentCall: user(system + "\nContext: {\"of\":\"b\", " + long)}},
		{"message", "message", "Ada:", "Grace:", asked{AgentCall: user("For Ada: " + long)}, asked{AgentCall: user("For Grace: " + long)}},
		{"message", "message", "a.png", "b.png", asked{AgentCall: files("a.png")}, asked{AgentCall: files("b.png")}},
		{"model", "message", "", "", asked{AgentCall: same, model: "claude-sonnet-5"}, asked{AgentCall: same}},
		{"expired", "message", "", "", asked{AgentCall: same, end: 1}, asked{AgentCall: same, start: 302, end: 303}},
		{"parallel", "message", "", "", asked{AgentCall: same, end: 5}, asked{AgentCall: same, start: 1, end: 6}},
		{"short", "message", "b", "c", asked{AgentCall: user(long[:900] + " b")}, asked{AgentCall: user(long[:900] + " c")}},
		{"provider", "message", "", "", asked{AgentCall: same, end: 1}, asked{AgentCall: same, start: 2, end: 3}},
		// nothing is lost: another question, another round of tools, and what was read
		{"", "", "", "", asked{AgentCall: with(user("What is 1?"), func(c *effect.AgentCall) { c.System = long })}, asked{AgentCall: with(user("What is 2?"), func(c *effect.AgentCall) { c.System = long }), cached: large, start: 1}},
		{"", "", "", "", asked{AgentCall: same, end: 1}, asked{AgentCall: same, start: 2, cached: large}},
		{"", "", "", "", asked{AgentCall: user("hi")}, asked{AgentCall: user("hi")}},
	} {
		r := reportOf(c.first, c.second)
		got := &Break{}
		for _, u := range r.Cache {
			for _, b := range u.Breaks {
				got = b
			}
		}
		shown := []string{got.Cause, got.Part, word(got.Before), word(got.After)}
		if got.Cause != "" && c.before == "" {
			shown[2], shown[3] = "", ""
		}
		if diff := cmp.Diff([]string{c.cause, c.part, c.before, c.after}, shown); diff != "" {
			t.Errorf("%s: %s\n%s", c.cause, diff, encode(got))
		}
		if n := len([]rune(got.Before)); n > 40 {
			t.Errorf("%s: %d characters", c.cause, n)
		}
	}
}

// TestCacheSums checks the sums, and the text, of an agent whose prompts begin with the time.
func TestCacheSums(t *testing.T) {
	long := rules(200)
	var all []asked
	for i := range 4 {
		all = append(all, asked{AgentCall: effect.AgentCall{System: "Judge.", Messages: []effect.ChatMessage{turn("user", fmt.Sprintf("It is 12:31:0%d. %s", i, long))}}, start: float64(10 * i), end: float64(10*i + 1), wrote: 100})
	}
	r := reportOf(all...)
	if len(r.Cache) != 1 || len(r.Cache[0].Breaks) != 1 {
		t.Fatalf("%s", encode(r.Cache))
	}
	u := r.Cache[0]
	b := u.Breaks[0]
	if u.Requests != 4 || u.TokensCached != 0 || u.TokensCacheWrite != 400 || u.Rate != 0 || u.Possible != 0 || b.Item != 2 || b.Requests != 3 || b.Byte != 19 || b.At != "main.conc:11" {
		t.Errorf("%s", encode(r.Cache))
	}
	// about 1,500 tokens of three requests for 3.80 dollars less than those of the input, 100 of
	// which were written for a dollar more
	if b.lost < 17e9 || b.lost > 20e9 || string(u.Lost) != string(b.Lost) {
		t.Errorf("lost %s, %s", u.Lost, b.Lost)
	}
	want := fmt.Sprintf("Analyst, main/claude-opus-5-5: 4 requests, 0 of %d tokens read, 0 possible; $%s lost\n"+
		"Analyst: 3 of 4 requests missed at byte 19, \"12:31:00.\" → \"12:31:01.\" (time, main.conc:11); $%s lost", u.TokensIn, u.Lost, b.Lost)
	if diff := cmp.Diff(want, strings.Join(u.Lines(), "\n")); diff != "" {
		t.Error(diff)
	}
	r.WithoutContent()
	if b.Before != "" || b.After != "" {
		t.Errorf("--content none shows %q and %q", b.Before, b.After)
	}
}
