package effect

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRoundTrip: requests and results of the library are data. A journal or a
// mock reads back what was written.
func TestRoundTrip(t *testing.T) {
	body := ""
	stored := Store{File: "s.db", Kind: "hashmap", Name: "x", Scope: `["a"]`}
	for _, x := range []any{
		&ReadFile{Path: "a"}, &FileText{Text: "é\x00"}, &WriteFile{Path: "a", Text: "t", Append: true}, &FileInfo{Path: "a"},
		&FileStatus{Exists: true, IsDir: true, Size: math.MaxInt64}, &ListDir{Path: "a"}, &FileNames{Names: []string{"a", "b"}},
		&RemoveFile{Path: "a"}, &MakeDir{Path: "a"}, &CopyFile{From: "a", Path: "b"}, &MoveFile{From: "a", Path: "b"},
		&Glob{Pattern: "*"}, &TempDir{},
		&HTTP{Method: "POST", URL: "http://a", Headers: []Header{{"A", "1"}}, Body: &body, Timeout: 1},
		&HTTPResponse{Status: 200, Headers: []Header{{"a", "1"}}, Body: "b"},
		&Random{}, &RandomBits{Bits: math.MaxUint64}, &RandomSeed{Seed: math.MinInt64}, &Secret{Bytes: 2}, &SecretBytes{Bytes: []byte{0, 255}},
		&StreamOpen{AgentCall{Agent: "A", Connection: "c", Messages: []ChatMessage{{Role: "user", Content: "x"}}, Timeout: 1.5}}, &StreamOpened{ID: 1},
		&Step{What: StepToolResult, By: "A", Tool: "t", ID: "1", Text: "x", Failed: true, Attempt: 2, Of: 3}, &StreamNext{ID: 1}, &StreamPiece{Text: "a", Reply: &AgentReply{Text: "a", StopReason: "end", RequestID: "r"}}, &StreamClose{ID: 1},
		&Zone{Name: "UTC", Unix: -1}, &Offset{Seconds: -1, Abbreviation: "X"}, &EnvAll{}, &EnvVariables{Names: []string{"A"}, Values: []string{""}},
		&StoreRead{Store: stored, Keys: []json.RawMessage{[]byte(`"a"`), []byte("1")}}, &StoreEntries{Entries: []StoreEntry{{Key: []byte("true"), Value: []byte(`{"a":1.50}`)}, {}}},
		&StoreWrite{Store: stored, Entries: []StoreEntry{{Key: []byte("1"), Value: []byte("null")}}, Before: true}, &StoreAdd{Store: stored, Key: []byte("1"), By: []byte("9223372036854775807")},
		&StoreDelete{Store: stored, Key: []byte("1")}, &StoreFound{Found: true}, &StoreList{Store: stored, Keys: true}, &StoreLen{Store: stored, Window: 2}, &StoreCount{Count: 1},
		&StoreClear{Store: stored, List: true}, &LedgerPut{Store: stored, Entry: LedgerEntry{Identifier: "i", Keys: []string{"k"}, Value: "v"}, Update: "keys"},
		&LedgerDelete{Store: stored, Identifier: "i"}, &LedgerFind{Store: stored, By: "any", Texts: []string{"a"}}, &LedgerEntries{Entries: []LedgerEntry{{Identifier: "i"}}},
		&MemoryAppend{Store: stored, Messages: []MemoryMessage{{"user", "\x00é"}}, Window: 1}, &MemoryList{Store: stored, Last: -1}, &MemoryMessages{Messages: []MemoryMessage{{"a", "b"}}},
		&MCPOpen{Server: "S", Tool: "t", Args: []byte(`{"a":1}`), Declared: []MCPTool{{Name: "t", Signature: "fn t()", Parameters: []byte("{}"), Undeclared: true}}},
		&MCPOpen{Server: "S", Method: MCPListTools}, &MCPOpened{ID: -1}, &MCPNext{ID: 1}, &MCPEvent{Kind: "result", Data: []byte("[]"), Text: "a"}, &MCPReply{ID: 1, Answer: []byte("null")},
		&Command{Command: "c", Args: []string{"a"}, Timeout: 1}, &CommandOutput{ExitCode: 1, Stdout: "o", Stderr: "e"},
	} {
		text, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(x).Elem()).Interface()
		if err := json.Unmarshal(text, back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(x, back); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}
