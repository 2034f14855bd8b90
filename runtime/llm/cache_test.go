package llm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/models/cachesim"
	"github.com/concerto-lang/concerto/internal/testkit/testllm"
)

func turn(role, text string) effect.ChatMessage { return effect.ChatMessage{Role: role, Content: text} }

// text returns a text with an estimate of n tokens.
func text(n int) string { return strings.Repeat("word", n) }

func askOnce(t *testing.T, conn Connection, call effect.AgentCall) (*effect.AgentReply, error) {
	c, _ := client(t, conn)
	return ask(c, call)
}

// outline returns the blocks of a request to Anthropic or Bedrock in the order in which the model
// reads them, with * after a block that is marked.
func outline(t *testing.T, body map[string]any) string {
	t.Helper()
	var out []string
	block := func(x any) string {
		b := x.(map[string]any)
		if spec, ok := b["toolSpec"].(map[string]any); ok {
			b = spec
		}
		if tool, ok := b["name"].(string); ok && b["type"] == nil {
			return tool
		}
		for _, kind := range []struct{ anthropic, bedrock, short string }{{"text", "text", "text"}, {"tool_use", "toolUse", "use"}, {"tool_result", "toolResult", "result"}} {
			if b["type"] == kind.anthropic || b[kind.bedrock] != nil {
				return kind.short
			}
		}
		return fmt.Sprint(b)
	}
	list := func(all any) {
		blocks, _ := all.([]any)
		if s, ok := all.(string); ok {
			blocks = []any{map[string]any{"text": s}}
		}
		for _, x := range blocks {
			b := x.(map[string]any)
			point, _ := b["cachePoint"].(map[string]any)
			mark, _ := b["cache_control"].(map[string]any)
			if point == nil {
				out = append(out, block(x))
			}
			if point != nil || mark != nil {
				ttl := ""
				for _, m := range []map[string]any{point, mark} {
					if m["ttl"] != nil {
						ttl = m["ttl"].(string)
					}
				}
				out[len(out)-1] += "*" + ttl
			}
		}
	}
	tools := body["tools"]
	if config, ok := body["toolConfig"].(map[string]any); ok {
		tools = config["tools"]
	}
	list(tools)
	out = append(out, "|")
	list(body["system"])
	for _, m := range body["messages"].([]any) {
		out = append(out, "|")
		list(m.(map[string]any)["content"])
	}
	return strings.Join(out, " ")
}

// TestMarks checks which parts of a request are marked for the caches of Anthropic and Bedrock: at
// most four, none below the model's minimum, and not the end of a single question.
func TestMarks(t *testing.T) {
	called := effect.ChatMessage{Role: "assistant", ToolCalls: []effect.ToolCall{{ID: "c1", Name: "f", Args: "{}"}, {ID: "c2", Name: "f", Args: "{}"}}}
	result := func(id string) effect.ChatMessage {
		return effect.ChatMessage{Role: "tool", ToolCallID: id, Content: "1"}
	}
	round := []effect.ChatMessage{turn("user", "go"), called, result("c1"), result("c2")}
	large := []effect.ToolSpec{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "g", Description: text(600), Parameters: json.RawMessage(`{"type":"object"}`)}}
	small := large[:1]
	for _, c := range []struct {
		name, cache string
		call        effect.AgentCall
		want        string
	}{
		{"single question", "", effect.AgentCall{System: text(600)}, "| text* | text"},
		{"long single question", "", effect.AgentCall{System: text(10), Messages: []effect.ChatMessage{turn("user", text(9000))}}, "| text | text"},
		{"short", "", effect.AgentCall{System: text(500), Tools: small}, "f | text | text"},
		{"the minimum", "", effect.AgentCall{System: text(512)}, "| text* | text"},
		{"below the minimum", "", effect.AgentCall{System: text(511)}, "| text | text"},
		{"tools", "", effect.AgentCall{System: text(1), Tools: large}, "f g* | text* | text*"},
		{"tools without a system text", "", effect.AgentCall{Tools: large}, "f g* | | text*"},
		{"second round", "", effect.AgentCall{System: text(600), Tools: large, Messages: round}, "f g* | text* | text* | use use | result result*"},
		{"third round", "", effect.AgentCall{System: text(600), Tools: small, Messages: slices.Concat(round, []effect.ChatMessage{called, result("c1"), result("c2")})},
			"f | text* | text | use use | result result* | use use | result result*"},
		{"long conversation with short tools", "", effect.AgentCall{Messages: []effect.ChatMessage{turn("user", text(300)), turn("assistant", "a"), turn("user", text(300))}},
			"| | text | text | text*"},
		{"memory", "", effect.AgentCall{System: text(600), Messages: []effect.ChatMessage{turn("user", "a"), turn("assistant", "b"), turn("user", "c")}}, "| text* | text* | text | text*"},
		{"an hour", models.CacheHour, effect.AgentCall{System: text(600), Tools: large, Messages: round}, "f g*1h | text*1h | text*1h | use use | result result*1h"},
		{"as by default", models.Auto, effect.AgentCall{System: text(600)}, "| text* | text"},
		{"off", models.CacheOff, effect.AgentCall{System: text(600), Tools: large, Messages: round}, "f g | text | text | use use | result result"},
	} {
		for provider, model := range map[string]string{"anthropic": "claude-opus-5-5", "bedrock": "eu.anthropic.claude-opus-5-5-v1:0"} {
			s, conn := server(t, provider, modelserver.Reply{Text: "ok"})
			conn.DefaultModel, conn.Cache = model, c.cache
			call := c.call
			if call.Messages == nil {
				call.Messages = []effect.ChatMessage{turn("user", "hello")}
			}
			if _, err := askOnce(t, conn, call); err != nil {
				t.Errorf("%s, %s: %v", c.name, provider, err)
				continue
			}
			published(t, s)
			if got := outline(t, s.Requests()[0].Body); got != strings.TrimSpace(c.want) {
				t.Errorf("%s, %s:\n got %s\nwant %s", c.name, provider, got, c.want)
			}
		}
	}
}

// TestMarkOfSchema checks that the tool for a schema is marked as the last tool, and that a
// question with such a tool is nevertheless a single one.
func TestMarkOfSchema(t *testing.T) {
	s, conn := server(t, "bedrock", modelserver.Reply{JSON: json.RawMessage(`{"n":1}`)})
	conn.DefaultModel = "anthropic.claude-sonnet-5"
	schema := fmt.Sprintf(`{"type":"object","properties":{"n":{"type":"integer","description":%q}}}`, text(1100))
	if _, err := askOnce(t, conn, effect.AgentCall{System: "s", Schema: json.RawMessage(schema), SchemaName: "T"}); err != nil {
		t.Fatal(err)
	}
	if got := outline(t, s.Requests()[0].Body); got != "T* | text* | text" {
		t.Error(got)
	}
}

// TestMarksOfOthers checks that no marks are sent to models that are unknown, or that have none,
// and that extra takes precedence.
func TestMarksOfOthers(t *testing.T) {
	for _, c := range []struct{ provider, model, extra string }{
		{"anthropic", "deepseek-chat", ""}, {"bedrock", "amazon.nova-pro-v1:0", ""}, {"bedrock", "meta.llama3", ""},
		{"anthropic", "claude-opus-5-5", `{"tools":[{"name":"f","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]}`},
		{"openai", "claude-opus-5-5", ""}, {"gemini", "gemini-3.8-flash", ""},
	} {
		s, conn := server(t, c.provider, modelserver.Reply{Text: "ok"})
		conn.DefaultModel = c.model
		if c.extra != "" {
			conn.Extra = json.RawMessage(c.extra)
		}
		if _, err := askOnce(t, conn, effect.AgentCall{System: text(9000)}); err != nil {
			t.Error(c, err)
			continue
		}
		got := s.Requests()[0].Text
		if n := strings.Count(got, "cache_control") + strings.Count(got, "cachePoint"); n != strings.Count(c.extra, "cache_control") {
			t.Errorf("%+v: %d marks", c, n)
		}
	}
}

// TestCacheOff checks that a connection without a cache turns off that of OpenAI's models from
// GPT-5.6 on, in both APIs, and that compatible servers receive nothing.
func TestCacheOff(t *testing.T) {
	for _, c := range []struct {
		provider, model, cache, extra string
		want                          any
	}{
		{"azure", "gpt-6.2-sol", models.CacheOff, "", map[string]any{"mode": "explicit"}},
		{"azure", "gpt-5.6", models.CacheOff, "", map[string]any{"mode": "explicit"}},
		{"azure chat", "gpt-6-luna", models.CacheOff, "", map[string]any{"mode": "explicit"}},
		{"azure", "gpt-6.2-sol", models.CacheOff, `{"prompt_cache_options":{"ttl":"30m"}}`, map[string]any{"ttl": "30m"}},
		{"azure", "gpt-6.2-sol", "", "", nil}, {"azure", "gpt-6.2-sol", models.CacheHour, "", nil},
		{"azure", "gpt-5.4", models.CacheOff, "", nil}, {"azure", "my-deployment", models.CacheOff, "", nil},
		{"openai", "gpt-6.2-sol", models.CacheOff, "", nil}, {"responses", "gpt-6.2-sol", models.CacheOff, "", nil},
	} {
		s, conn := server(t, c.provider, modelserver.Reply{Text: "ok"})
		conn.DefaultModel, conn.Cache = c.model, c.cache
		if c.extra != "" {
			conn.Extra = json.RawMessage(c.extra)
		}
		if _, err := askOnce(t, conn, effect.AgentCall{}); err != nil {
			t.Error(c, err)
			continue
		}
		published(t, s)
		if d := cmp.Diff(c.want, s.Requests()[0].Body["prompt_cache_options"]); d != "" {
			t.Errorf("%+v: %s", c, d)
		}
	}
}

// TestMarksRefused checks that a request whose marks are refused is repeated once without them,
// that further requests to the model have none, and that the log contains one line.
func TestMarksRefused(t *testing.T) {
	for _, c := range []struct {
		provider, model, other, cache string
		status                        int
		text, line                    string
	}{
		{"bedrock", "anthropic.claude-opus-5-5", "anthropic.claude-sonnet-5-5", "", 400, "The model returned the following errors: system.0.cache_control: Extra inputs are not permitted", "does not accept cache marks; requests are sent without them"},
		{"bedrock", "anthropic.claude-opus-5-5", "anthropic.claude-sonnet-5-5", "", 403, "You invoked an unsupported model or your request did not allow prompt caching.", "does not accept cache marks; requests are sent without them"},
		{"bedrock", "anthropic.claude-opus-5-5", "anthropic.claude-sonnet-5-5", "", 400, "Malformed input request: #/toolConfig/tools/0: extraneous key [cachePoint] is not permitted", "does not accept cache marks; requests are sent without them"},
		{"anthropic", "claude-opus-5-5", "claude-sonnet-5-5", "", 400, "cache_control: Extra inputs are not permitted", "does not accept cache marks; requests are sent without them"},
		{"azure", "gpt-6.2-sol", "gpt-6.1-sol", models.CacheOff, 400, "Unknown parameter: 'prompt_cache_options'.", "does not accept prompt_cache_options; requests are sent without them, and may be cached"},
	} {
		s, conn := server(t, c.provider, modelserver.Reply{Status: c.status, Error: c.text}, modelserver.Reply{Text: "ok", Repeat: true})
		conn.DefaultModel, conn.Cache = c.model, c.cache
		var lines []string
		client := New(Config{Connections: []Connection{conn}, Getenv: func(string) (string, bool) { return key, true }, Log: func(level, line string) { lines = append(lines, level+" "+line) }})
		t.Cleanup(client.Close)
		for i, model := range []string{c.model, c.model, c.other} {
			reply, err := ask(client, effect.AgentCall{Model: model, System: text(2000)})
			if err != nil {
				t.Fatal(c, err)
			}
			if n := len(reply.Failed); n != 0 && i > 0 || n != 1 && i == 0 {
				t.Errorf("%+v: call %d has %d failed attempts", c, i, n)
			}
		}
		var asks []bool
		for _, r := range s.Requests() {
			asks = append(asks, strings.Contains(r.Text, "cache_control") || strings.Contains(r.Text, "cachePoint") || strings.Contains(r.Text, "prompt_cache_options"))
		}
		if want := []bool{true, false, false, true}; !slices.Equal(asks, want) {
			t.Errorf("%+v: requests with marks: %v, want %v", c, asks, want)
		}
		if want := fmt.Sprintf("info connection 'main': %s %s from now on (the provider answered %d ", c.model, c.line, c.status); len(lines) != 1 || !strings.HasPrefix(lines[0], want) || !strings.Contains(lines[0], c.text) {
			t.Errorf("log: %q, want one line %s", lines, want)
		}
	}
}

// TestMarksRefusedTogether checks that concurrent requests with marks are all repeated, and that
// the log contains one line.
func TestMarksRefusedTogether(t *testing.T) {
	var lines []string
	req := Request{AgentCall: &effect.AgentCall{}, Model: "m"}
	p := &remote{endpoint: &endpoint{name: "main", world: &world{refused: &refusals{}, log: func(_, line string) { lines = append(lines, line) }}}}
	for range 2 {
		f := &Failure{HTTPStatus: 400, Message: "cache_control: Extra inputs are not permitted"}
		if p.repair(&req, nil, nil, caching{marks: true}, f); !f.repaired {
			t.Error("a request is not repeated")
		}
	}
	f := &Failure{HTTPStatus: 400, Message: "cache_control: Extra inputs are not permitted"}
	if p.repair(&req, nil, nil, caching{}, f); f.repaired || len(lines) != 1 {
		t.Error(f.repaired, lines)
	}
}

// TestOtherRefusals checks that errors about something else, and about marks in extra, are not
// repaired.
func TestOtherRefusals(t *testing.T) {
	for _, c := range []struct {
		status      int
		text, extra string
	}{
		{400, "messages: too long", ""}, {403, "no access to this model", ""}, {500, "cache_control failed", ""},
		{400, "cache_control: Extra inputs are not permitted", `{"cache_control":{"type":"ephemeral"}}`},
	} {
		s, conn := server(t, "bedrock", modelserver.Reply{Status: c.status, Error: c.text, Repeat: true})
		conn.DefaultModel = "anthropic.claude-opus-5-5"
		if c.extra != "" {
			conn.Extra = json.RawMessage(`{"additionalModelRequestFields":` + c.extra + `}`)
		}
		if _, err := askOnce(t, conn, effect.AgentCall{System: text(2000)}); err == nil || len(s.Requests()) != 1 {
			t.Errorf("%+v: error %v after %d requests", c, err, len(s.Requests()))
		}
	}
}

// TestKnowledgeLast checks that the entries of ledgers are sent directly before the prompt, which
// later rounds do not move, and that the program's request is unchanged.
func TestKnowledgeLast(t *testing.T) {
	entries := turn("system", "Knowledge:\n\ntea: 2 euros")
	called := effect.ChatMessage{Role: "assistant", Content: "let me look", ToolCalls: []effect.ToolCall{{ID: "c1", Name: "f", Args: "{}"}}}
	result := effect.ChatMessage{Role: "tool", ToolCallID: "c1", Content: "1"}
	outline := func(all []effect.ChatMessage) (out []string) {
		for _, m := range all {
			out = append(out, m.Role+" "+m.Content)
		}
		return out
	}
	const moved = "system Knowledge:\n\ntea: 2 euros"
	for _, c := range []struct {
		all  []effect.ChatMessage
		want []string
	}{
		{[]effect.ChatMessage{entries, turn("user", "a"), turn("assistant", "b"), turn("user", "c")}, []string{"user a", "assistant b", moved, "user c"}},
		{[]effect.ChatMessage{entries, turn("user", "a"), turn("assistant", "b"), turn("user", "c"), called, result, turn("user", "again")}, []string{"user a", "assistant b", moved, "user c", "assistant let me look", "tool 1", "user again"}},
		{[]effect.ChatMessage{entries, turn("user", "c")}, []string{moved, "user c"}},
		{[]effect.ChatMessage{entries, turn("assistant", "b")}, []string{moved, "assistant b"}},
		{[]effect.ChatMessage{turn("system", "Be kind."), turn("user", "a"), turn("user", "c")}, []string{"system Be kind.", "user a", "user c"}},
		{[]effect.ChatMessage{turn("user", "a"), entries, turn("user", "c")}, []string{"user a", moved, "user c"}},
	} {
		before := outline(c.all)
		if d := cmp.Diff(c.want, outline(effect.KnowledgeLast(c.all, "system"))); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(before, outline(c.all)); d != "" {
			t.Errorf("the conversation of the program has changed: %s", d)
		}
	}
	for provider, want := range map[string]string{
		"anthropic": `"system":"s","messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":[{"type":"text","text":"Knowledge:\n\ntea: 2 euros"},{"type":"text","text":"c"}]}]`,
		"bedrock":   `{"role":"user","content":[{"text":"Knowledge:\n\ntea: 2 euros"},{"text":"c"}]}],"system":[{"text":"s"}]`,
		"gemini":    `{"role":"user","parts":[{"text":"Knowledge:\n\ntea: 2 euros"},{"text":"c"}]}`,
		"openai":    `{"role":"assistant","content":"b"},{"role":"system","content":"Knowledge:\n\ntea: 2 euros"},{"role":"user","content":"c"}]`,
		"ollama":    `{"role":"assistant","content":"b"},{"role":"system","content":"Knowledge:\n\ntea: 2 euros"},{"role":"user","content":"c"}]`,
		"responses": `{"role":"assistant","content":"b"},{"role":"developer","content":"Knowledge:\n\ntea: 2 euros"},{"role":"user","content":[{"type":"input_text","text":"c"}]}]`,
	} {
		s, conn := server(t, provider, modelserver.Reply{Text: "ok"})
		if _, err := askOnce(t, conn, effect.AgentCall{System: "s", Messages: []effect.ChatMessage{entries, turn("user", "a"), turn("assistant", "b"), turn("user", "c")}}); err != nil {
			t.Fatal(provider, err)
		}
		published(t, s)
		if got := s.Requests()[0].Text; !strings.Contains(got, want) {
			t.Errorf("%s: %s", provider, got)
		}
	}
}

// TestListedTools checks that the order of tools does not depend on the answer of a server.
// Functions that the program declares have its order.
func TestListedTools(t *testing.T) {
	tools := func(names string) (out []effect.ToolSpec) {
		for _, name := range strings.Fields(names) {
			plain := strings.TrimPrefix(name, "*")
			out = append(out, effect.ToolSpec{Name: plain, Listed: plain != name})
		}
		return out
	}
	for before, want := range map[string]string{"z *s_b *s_a a": "z *s_a *s_b a", "z *s_a *s_b a": "z *s_a *s_b a", "*t_b *t_a *s_a z *u_b *u_a": "*s_a *t_a *t_b z *u_a *u_b", "z a": "z a", "": ""} {
		all := tools(before)
		if d := cmp.Diff(tools(want), sortListed(all)); d != "" {
			t.Errorf("%s: %s", before, d)
		}
		if d := cmp.Diff(tools(before), all); d != "" {
			t.Errorf("%s: the program's request has changed: %s", before, d)
		}
	}
}

// TestHour checks that a Meter learns of writes for an hour.
func TestHour(t *testing.T) {
	for cache, want := range map[string]bool{"": false, models.Auto: false, models.CacheOff: false, models.CacheHour: true} {
		if got := (&Connection{Adds: Adds{Cache: cache}}).StoresForHour(); got != want {
			t.Errorf("%q: %v", cache, got)
		}
	}
}

// TestPredictedCost compares the cost that the simulator predicts for recorded requests with the
// bill of the server, which computes it from the bodies of the requests, and the tokens that were
// read with those that a request could read whose ends are all marked.
func TestPredictedCost(t *testing.T) {
	tools := []effect.ToolSpec{{Name: "look", Description: "Looks for a thing.", Parameters: json.RawMessage(`{"type":"object","properties":{"what":{"type":"string"}}}`)}}
	rules := strings.Repeat("Rule: answer briefly. ", 200)
	rounds := func(system, prompt string, n int) (all []effect.AgentCall) {
		talk := []effect.ChatMessage{turn("user", prompt)}
		for i := range n {
			all = append(all, effect.AgentCall{System: system, Tools: tools, Messages: slices.Clone(talk)})
			id := fmt.Sprint("c", i)
			talk = append(talk, effect.ChatMessage{Role: "assistant", ToolCalls: []effect.ToolCall{{ID: id, Name: "look", Args: `{"what":"a"}`}}},
				effect.ChatMessage{Role: "tool", ToolCallID: id, Content: strings.Repeat("found ", 50*i)})
		}
		return all
	}
	memory := func(system string, window, trim, n int) (all []effect.AgentCall) {
		var talk []effect.ChatMessage
		for i := range n {
			prompt := turn("user", fmt.Sprint(i, " ", strings.Repeat("Please. ", 60)))
			all = append(all, effect.AgentCall{System: system, Messages: append(slices.Clone(talk), prompt)})
			if talk = append(talk, prompt, turn("assistant", strings.Repeat("Yes. ", 60))); len(talk) > window {
				talk = talk[trim:]
			}
		}
		return all
	}
	questions := func(system, before string, n int) (all []effect.AgentCall) {
		for i := range n {
			all = append(all, effect.AgentCall{System: system, Messages: []effect.ChatMessage{turn("user", fmt.Sprint(before, i))}})
		}
		return all
	}
	for name, c := range map[string]struct {
		model, cache string
		calls        []effect.AgentCall
	}{
		"questions":              {"claude-opus-5-5", "", questions(rules, "What is ", 12)},
		"long questions":         {"claude-opus-5-5", "", questions(rules, rules, 5)},
		"short system text":      {"claude-sonnet-5", "", questions("Be kind.", "What is ", 5)},
		"rounds":                 {"claude-opus-5-5", "", rounds(rules, "go", 8)},
		"two calls with rounds":  {"claude-opus-5-5", "", append(rounds(rules, "go", 5), rounds(rules, "stay", 5)...)},
		"an hour":                {"claude-opus-5-5", models.CacheHour, rounds(rules, "go", 8)},
		"an expensive minimum":   {"claude-haiku-4-5", "", rounds(rules+rules, "go", 12)},
		"memory":                 {"claude-opus-5-5", "", memory(rules, 100, 2, 12)},
		"full memory":            {"claude-opus-5-5", "", memory(rules, 8, 2, 16)},
		"full memory that trims": {"claude-opus-5-5", "", memory(rules, 8, 4, 16)},
		"another system text":    {"claude-opus-5-5", "", append(rounds(rules, "go", 3), rounds("Be "+rules, "go", 3)...)},
		"knowledge": {"claude-opus-5-5", "", []effect.AgentCall{
			{System: rules, Messages: []effect.ChatMessage{turn("system", "Knowledge:\n\n"+rules), turn("user", "a"), turn("assistant", "b"), turn("user", "c")}},
			{System: rules, Messages: []effect.ChatMessage{turn("system", "Knowledge:\n\nother"), turn("user", "a"), turn("assistant", "b"), turn("user", "c")}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, conn := server(t, "anthropic", modelserver.Reply{Text: "ok", TokensOut: 20, Counts: true, Repeat: true})
			conn.DefaultModel, conn.Cache = c.model, c.cache
			client, _ := client(t, conn)
			row, price := models.Lookup("anthropic", c.model), models.PriceAt("anthropic", c.model, time.Time{})
			simulated := cachesim.RulesOf(row, c.cache == models.CacheHour)
			cache, perfect := cachesim.New(simulated), cachesim.New(simulated.Perfect())
			predicted, read, possible := int64(0), int64(0), int64(0)
			for _, call := range c.calls {
				reply, err := ask(client, call)
				if err != nil {
					t.Fatal(err)
				}
				request := cachesim.Request{Blocks: cachesim.Layout(&call, row.CacheMin), Tokens: reply.TokensIn}
				cost, _ := models.Cost(simulated.Usage(cache.Send(request), reply.TokensIn, reply.TokensOut), price)
				predicted += cost
				read += reply.Cached
				possible += perfect.Send(request).Read
			}
			text, err := testllm.Bill(s)
			if err != nil {
				t.Fatal(err)
			}
			bill, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			if ratio := float64(predicted) / 1e12 / bill; ratio < 0.98 || ratio > 1.02 {
				t.Errorf("predicted %.6f dollars, the bill is %.6f: %.3f", float64(predicted)/1e12, bill, ratio)
			}
			if float64(read) < 0.95*float64(possible) {
				t.Errorf("%d tokens were read of %d that are possible", read, possible)
			}
		})
	}
}
