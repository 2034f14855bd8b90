package llm

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestKeyOverSeveralEvents checks that a key in the text of a reply is removed, wherever the events
// of the stream split it.
func TestKeyOverSeveralEvents(t *testing.T) {
	eachRemote(t, func(t *testing.T, provider string) {
		for at := 1; at < len(key); at++ {
			for _, form := range []string{key, `\u0073k-very-secret`, base64.StdEncoding.EncodeToString([]byte(key))} {
				cut := min(at, len(form)-1)
				pieces := []string{"the key is ", form[:cut], form[cut:], " and ", form[:cut] + "…"}
				_, conn := server(t, provider, modelserver.Reply{Text: strings.Join(pieces, ""), Pieces: pieces})
				c, _ := client(t, conn)
				text, reply, err := streamed(t.Context(), c, effect.AgentCall{})
				if want := "the key is ***KEY*** and " + form[:cut] + "…"; err != nil || text != want || reply.Text != want {
					t.Fatalf("key split at %d: text %q, reply %+v, error %v", at, text, reply, err)
				}
			}
		}
	})
}

// TestStreamIsNotHeldUp checks that text that cannot be the beginning of a key is passed on with
// its event.
func TestStreamIsNotHeldUp(t *testing.T) {
	_, conn := server(t, "openai", modelserver.Reply{Text: "ab sk- !", Pieces: []string{"ab ", "s", "k-", " !"}})
	c, _ := client(t, conn)
	next, end := open(t, c)
	defer end()
	var got []string
	for {
		p, err := next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if p.Reply != nil {
			break
		}
		got = append(got, p.Text)
	}
	if fmt.Sprintf("%q", got) != `["ab " "sk- !"]` {
		t.Errorf("pieces = %q, want the text before the key's possible beginning immediately", got)
	}
}

// TestKeyInReplies checks that a key is removed from all parts of a reply, streamed or whole,
// however it is escaped in JSON.
func TestKeyInReplies(t *testing.T) {
	eachRemote(t, func(t *testing.T, provider string) {
		args := `{"at":"\u0073k-very-secret","b":1}`
		for _, stream := range []bool{false, true} {
			_, conn := server(t, provider, modelserver.Reply{Text: "so: " + key, ToolCalls: []modelserver.Call{{ID: "1", Name: "look", Args: []byte(args)}}})
			c, _ := client(t, conn)
			var reply *effect.AgentReply
			var err error
			if stream {
				_, reply, err = streamed(t.Context(), c, effect.AgentCall{})
			} else {
				reply, err = ask(c, effect.AgentCall{})
			}
			if err != nil || len(reply.ToolCalls) != 1 || strings.ReplaceAll(reply.ToolCalls[0].Args, " ", "") != `{"at":"***KEY***","b":1}` {
				t.Errorf("streamed %v: reply %+v (error %v), want arguments without the key", stream, reply, err)
			}
			if strings.Contains(reply.Text, "secret") {
				t.Error(reply.Text)
			}
		}
	})
}

// TestKeyAtTheEndOfAnExcerpt checks that a key is removed before a response is cut to an excerpt,
// which could otherwise contain a part of the key.
func TestKeyAtTheEndOfAnExcerpt(t *testing.T) {
	for n := 180; n < 210; n++ {
		for _, form := range []string{key, "%73k%2Dvery-secret", base64.URLEncoding.EncodeToString([]byte("x" + key))} {
			raw := `{"error":{"odd":"` + strings.Repeat("a", n) + " " + form + `"}}`
			for _, reply := range []modelserver.Reply{{Raw: &raw, Status: 400}, {Raw: &raw}} {
				_, conn := server(t, "openai", reply)
				c, _ := client(t, conn)
				_, err := ask(c, effect.AgentCall{})
				e := agentError(t, err)
				for _, shown := range []string{e.Message, e.Fields["raw_response"].(string)} {
					if strings.Contains(shown, form[:6]) {
						t.Fatalf("excerpt of length %d contains a part of the key: %s", n, shown)
					}
				}
			}
		}
	}
}

// TestKeyInAStreamsError checks that secrets are removed from an error in a stream.
func TestKeyInAStreamsError(t *testing.T) {
	raw := "data: {\"error\":{\"message\":\"no: \\u0073k-very-secret\"}}\n\n"
	_, conn := server(t, "openai", modelserver.Reply{Raw: &raw, Headers: map[string]string{"Content-Type": "text/event-stream"}})
	c, _ := client(t, conn)
	_, _, err := streamed(t.Context(), c, effect.AgentCall{})
	e := agentError(t, err)
	if !strings.Contains(e.Message, "no: ***KEY***") || strings.Contains(e.Fields["raw_response"].(string), "secret") {
		t.Error(e.Message, e.Fields)
	}
}
