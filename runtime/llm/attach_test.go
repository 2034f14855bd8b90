package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
)

// asking returns a call whose prompt has files.
func asking(files ...effect.AttachedFile) effect.AgentCall {
	return effect.AgentCall{Messages: []effect.ChatMessage{{Role: "user", Content: "What?", Files: files}}}
}

var (
	chart  = effect.AttachedFile{Name: "chart.png", Type: "image/png", Size: 3, Data: "AAAA"}
	loop   = effect.AttachedFile{Name: "loop.gif", Type: "image/gif", Size: 3, Data: "BBBB"}
	report = effect.AttachedFile{Name: "q3 report.pdf", Type: effect.PDF, Size: 3, Data: "CCCC"}
	notes  = effect.AttachedFile{Name: "notes.md", Type: effect.PlainText, Size: 2, Data: "hi"}
)

// TestFiles checks that files precede the text of the prompt, in the form that each provider
// requires.
func TestFiles(t *testing.T) {
	openAI := `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},` +
		`{"type":"file","file":{"filename":"q3 report.pdf","file_data":"data:application/pdf;base64,CCCC"}},` +
		`{"type":"text","text":"File notes.md:\nhi"},{"type":"text","text":"What?"}]}]}`
	gemini := `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"inlineData":{"mimeType":"application/pdf","data":"CCCC"}},` +
		`{"text":"File notes.md:\nhi"},{"text":"What?"}]}]}`
	responses := `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"auto"},` +
		`{"type":"input_file","filename":"q3 report.pdf","file_data":"data:application/pdf;base64,CCCC"},` +
		`{"type":"input_text","text":"File notes.md:\nhi"},{"type":"input_text","text":"What?"}]}]}`
	wants := map[string]string{
		"openai": openAI, "azure chat": openAI, "responses": responses, "azure": responses, "gemini": gemini, "vertex": gemini,
		"anthropic": `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},` +
			`{"type":"document","title":"q3 report.pdf","source":{"type":"base64","media_type":"application/pdf","data":"CCCC"}},` +
			`{"type":"text","text":"File notes.md:\nhi"},{"type":"text","text":"What?"}]}]}`,
		"bedrock": `{"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"AAAA"}}},` +
			`{"document":{"format":"pdf","name":"q3-report-pdf (1)","source":{"bytes":"CCCC"}}},{"text":"File notes.md:\nhi"},{"text":"What?"}]}]}`,
		"ollama": `{"messages":[{"role":"user","images":["AAAA"],"content":"File notes.md:\nhi\n\nWhat?"}]}`,
	}
	eachRemote(t, func(t *testing.T, provider string) {
		s, conn := server(t, provider, modelserver.Reply{Text: "x", Repeat: true})
		c, _ := client(t, conn)
		call := asking(chart, report, notes)
		if provider == "ollama" {
			call = asking(chart, notes)
		}
		if _, err := ask(c, call); err != nil {
			t.Fatal(err)
		}
		if _, _, err := streamed(t.Context(), c, call); err != nil {
			t.Fatal(err)
		}
		published(t, s)
		var want map[string]any
		if err := json.Unmarshal([]byte(wants[provider]), &want); err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Requests() {
			for k := range want {
				if diff := cmp.Diff(want[k], r.Body[k]); diff != "" {
					t.Error(diff)
				}
			}
		}
	})
}

// TestUnsupportedFiles checks that files that a provider does not support are refused before a
// request is sent.
func TestUnsupportedFiles(t *testing.T) {
	for provider, f := range map[string]effect.AttachedFile{"ollama": report, "gemini": loop, "vertex": loop} {
		s, conn := server(t, provider, modelserver.Reply{Text: "x", Repeat: true})
		c, _ := client(t, conn)
		_, err := ask(c, asking(chart, f))
		want := "the provider does not support " + f.Name + " (" + f.Type + "): remove it, or use another connection"
		if e := agentError(t, err); !strings.Contains(e.Message, want) || e.Fields["reason"] != "bad_request" {
			t.Errorf("provider %s: error %s with fields %v, want %q", provider, e.Message, e.Fields, want)
		}
		if n := len(s.Requests()); n != 0 {
			t.Errorf("provider %s: %d requests were sent, want none", provider, n)
		}
	}
}

// TestScriptedFiles checks that a scripted reply can match the names and types of files, and that
// files count as tokens.
func TestScriptedFiles(t *testing.T) {
	c, _ := script(t, `[{"match": "\\[chart.png: image/png\\]\n\\[notes.md: text/plain\\]$", "text": "up"}]`)
	r, err := ask(c, asking(chart, notes))
	if err != nil || r.Text != "up" || r.TokensIn != tokens("What?")+imageTokens+tokens("File notes.md:\nhi") {
		t.Errorf("reply = %v (error %v), want up with the tokens of the files", r, err)
	}
}
