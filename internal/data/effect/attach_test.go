package effect

import (
	"encoding/json"
	"testing"
)

// TestFileData checks that a request encoded as JSON, as in a snapshot, contains the contents of
// files, and that WithoutFileData removes them from a copy.
func TestFileData(t *testing.T) {
	f, _ := NewAttachedFile("dir/a.md", []byte("text"))
	q := &AgentCall{Messages: []ChatMessage{{Role: "system", Content: "s"}, {Role: "user", Files: []AttachedFile{*f}}}}
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var decoded AgentCall
	if err := json.Unmarshal(text, &decoded); err != nil || decoded.Messages[1].Files[0] != *f {
		t.Errorf("decoded request = %+v, error %v, want the contents of the file", decoded, err)
	}
	short := WithoutFileData(q.Messages)
	if got := short[1].Files[0]; got.Data != "" || got.SHA256 != f.SHA256 || q.Messages[1].Files[0].Data != "text" {
		t.Errorf("messages without file data = %+v, original file = %+v, want only the copy without Data", got, q.Messages[1].Files[0])
	}
}
