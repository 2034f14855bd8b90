package cachesim

import (
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// ask returns a request that lasts for a second, with n tokens for each text.
func ask(start int, n int64, texts ...string) Request {
	r := Request{Tokens: n * int64(len(texts)), Start: time.Duration(start) * time.Second}
	r.Ready = r.Start + time.Second
	for _, t := range texts {
		r.Blocks = append(r.Blocks, Block{Part: Message, Text: strings.Repeat(t, 1000), Marked: strings.ToUpper(t) == t})
	}
	return r
}

// TestSend sends requests to a cache one after another. A text in upper case is marked.
func TestSend(t *testing.T) {
	marks := Rules{Marks: true, Least: 150, Lifetime: 5 * time.Minute}
	type step struct {
		Request
		want Result
	}
	for name, c := range map[string]struct {
		rules Rules
		steps []step
	}{
		"prefixes": {marks, []step{
			{ask(0, 100, "a", "B", "c"), Result{Written: 200}},
			{ask(10, 100, "a", "B", "d"), Result{Read: 200}},
			{ask(20, 100, "x", "B", "d"), Result{Written: 200}},
			{ask(30, 100, "a", "c", "D"), Result{Written: 300}},
			{ask(40, 100, "a", "c", "D", "E"), Result{Read: 300, Written: 100}},
		}},
		"too short": {marks, []step{{ask(0, 70, "a", "B"), Result{}}, {ask(10, 70, "a", "B"), Result{}}}},
		"without marks": {Rules{Least: 150}, []step{
			{ask(0, 100, "a", "b", "c"), Result{Written: 300}},
			{ask(10, 100, "a", "b", "d"), Result{Read: 200, Written: 100}},
		}},
		"lifetime": {marks, []step{
			{ask(0, 100, "a", "B"), Result{Written: 200}},
			{ask(300, 100, "a", "B"), Result{Read: 200}}, // is used, and lives longer
			{ask(600, 100, "a", "B"), Result{Read: 200}},
			{ask(901, 100, "a", "B"), Result{Written: 200, Expired: 200}},
			{ask(902, 100, "a", "B"), Result{Read: 200}},
		}},
		"an hour": {RulesOf(&models.Model{Cache: models.Marks, CacheMin: 150}, true), []step{
			{ask(0, 100, "a", "B"), Result{Written: 200}},
			{ask(3600, 100, "a", "B"), Result{Read: 200}},
		}},
		"not ready": {marks, []step{
			{ask(0, 100, "a", "B"), Result{Written: 200}},
			{ask(0, 100, "a", "B"), Result{Written: 200, NotReady: 200}},
			{ask(1, 100, "a", "B"), Result{Read: 200}},
		}},
		"chunks": {Rules{Chunk: 500}, []step{
			{ask(0, 1000, "a"), Result{Written: 1000}},
			{Request{Blocks: []Block{{Text: strings.Repeat("a", 600) + strings.Repeat("b", 400)}}, Tokens: 1000, Start: time.Second}, Result{Read: 515, Written: 485}},
		}},
	} {
		cache := New(c.rules)
		for i, s := range c.steps {
			if got := cache.Send(s.Request); got != s.want {
				t.Errorf("%s: request %d: %+v, want %+v", name, i+1, got, s.want)
			}
		}
	}
}

// TestLayout checks the order of blocks and their marks.
func TestLayout(t *testing.T) {
	long := strings.Repeat("word", 600)
	call := &effect.AgentCall{
		System: long, Schema: []byte(`{"type":"object"}`), Tools: []effect.ToolSpec{{Name: "f"}, {Name: "g"}},
		Messages: []effect.ChatMessage{{Role: "system", Content: "Knowledge:\n\nx"}, {Role: "user", Content: "a"}, {Role: "user", Content: "b"},
			{Role: "assistant", ToolCalls: []effect.ToolCall{{ID: "c", Name: "f", Args: "{}"}}}, {Role: "tool", ToolCallID: "c", Content: "1"}},
	}
	var got []string
	for _, b := range Layout(call, 512) {
		text := strings.TrimSpace(b.Part + " " + b.Name)
		if b.Marked {
			text += "*"
		}
		got = append(got, text)
	}
	const want = "tools f, tools g, system*, schema, message user, message user, message user*, message assistant, message tool*"
	if list := strings.Join(got, ", "); list != want {
		t.Errorf("got  %s\nwant %s", list, want)
	}
	call.Tools, call.Messages = nil, call.Messages[1:2]
	if blocks := Layout(call, 512); blocks[len(blocks)-1].Marked || !blocks[0].Marked {
		t.Errorf("a single question: %+v", blocks)
	}
}

// TestUsage checks what a request is charged for.
func TestUsage(t *testing.T) {
	x := Result{Read: 10, Written: 20}
	for name, c := range map[string]struct {
		model models.Model
		hour  bool
		want  models.Usage
	}{
		"marks": {models.Model{Cache: models.Marks}, false, models.Usage{In: 50, Out: 5, Parts: models.Parts{Cached: 10, CacheWrite: 20}}},
		"hour":  {models.Model{Cache: models.Points}, true, models.Usage{In: 50, Out: 5, Parts: models.Parts{Cached: 10, CacheWrite: 20}, CacheWrite1h: 20}},
		"auto":  {models.Model{Cache: models.Auto}, true, models.Usage{In: 50, Out: 5, Parts: models.Parts{Cached: 10}}},
		"paid":  {models.Model{Cache: models.Auto, CacheOptions: true}, false, models.Usage{In: 50, Out: 5, Parts: models.Parts{Cached: 10, CacheWrite: 20}}},
	} {
		if got := RulesOf(&c.model, c.hour).Usage(x, 50, 5); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
