package journal

import (
	"strings"
	"testing"
)

// TestParseMembersAfterHash checks that Parse rejects members after the hash, because the hash does
// not cover them.
func TestParseMembersAfterHash(t *testing.T) {
	line, _, err := (&Record{Seq: 1, RecordKind: KDid, Effect: 1, Kind: "clock", Owner: Owner{By: "Ada"}}).append(nil, ZeroHash)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(string(line), "\n")
	if r, err := Parse([]byte(text), ZeroHash); err != nil || r.By != "Ada" {
		t.Fatalf("Parse(%s) = %+v, error %v", text, r, err)
	}
	for _, more := range []string{`,"by":"Bob"}`, ` ,"by":"Bob"}`, ` }`, "} ", `,"H":"` + ZeroHash + `"}`} {
		changed := strings.TrimSuffix(text, "}") + more
		if r, err := Parse([]byte(changed), ZeroHash); err == nil {
			t.Errorf("Parse(%s) = %+v, want an error", changed, r)
		}
	}
}
