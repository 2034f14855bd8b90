package runconf

import (
	"encoding/json"
	"testing"
)

func TestPolicy(t *testing.T) {
	c, err := Read(json.RawMessage(`{"journal":"runs","park":true,"unknown":{"http":"fail","mcp":"retry","API.example.com":"retry","localhost:8080":"ask"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if c.Journal != "runs" || !c.Park || c.Sync != "output" || c.MaxJournalMB != 4096 {
		t.Errorf("Read(nil) = %+v, want the defaults", c)
	}
	for _, x := range []struct{ kind, address, want string }{
		{"http", "https://api.example.com/v1?q", "retry"},
		{"http", "https://api.example.com:8443/", "retry"},
		{"http", "http://localhost:8080/x", "ask"},
		{"http", "http://localhost/x", "fail"},
		{"http", "::", "fail"},
		{"mcp", "", "retry"},
		{"tool", "", ""},
	} {
		if got := c.Policy(x.kind, x.address); got != x.want {
			t.Errorf("Policy(%s, %s) = %q, want %q", x.kind, x.address, got, x.want)
		}
	}
	if _, err := Read(json.RawMessage(`{"park":"yes"}`)); err == nil {
		t.Error("Read accepted a text for a Bool")
	}
}
