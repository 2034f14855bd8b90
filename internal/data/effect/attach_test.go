package effect

import (
	"encoding/json"
	"testing"
)

// TestFileData: a snapshot, which writes requests as JSON, has the contents of files. Tapes and
// journals leave them out without changing the request.
func TestFileData(t *testing.T) {
	f, _ := NewAttachedFile("dir/a.md", []byte("text"))
	q := &AgentCall{Messages: []ChatMessage{{Role: "system", Content: "s"}, {Role: "user", Files: []AttachedFile{*f}}}}
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var decoded AgentCall
	if err := json.Unmarshal(text, &decoded); err != nil || decoded.Messages[1].Files[0] != *f {
		t.Errorf("%+v, %v", decoded, err)
	}
	short := WithoutFileData(q.Messages)
	if got := short[1].Files[0]; got.Data != "" || got.SHA256 != f.SHA256 || q.Messages[1].Files[0].Data != "text" {
		t.Errorf("%+v, %+v", got, q.Messages[1].Files[0])
	}
}
