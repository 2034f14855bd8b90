package serve_test

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/serve"
	"github.com/concerto-lang/concerto/internal/cli/serve/servetest"
)

// TestTwoClients lets two clients register a tool with the same name. The second client gets an
// error that names the owner. It can neither replace nor remove the tool, but it may call the tool.
// The server drops an answer that arrives too late.
func TestTwoClients(t *testing.T) {
	x := listen(t, config(t, nil), serve.Web{Token: token})
	a, _ := dial(t, x)
	b, _ := dial(t, x)
	first, second := servetest.New(), servetest.New()
	play(t, second, b, hello)
	play(t, first, a, hello+`
→ {"jsonrpc":"2.0","id":2,"method":"tools/register","params":{"tools":[{"name":"t","description":"T","timeout":0.01}]}}
← {"jsonrpc":"2.0","id":2,"result":{"registered":["t@1"]}}
`)
	owner := "client:" + first.Value("$client")
	play(t, second, b, `
← {"jsonrpc":"2.0","method":"tools/changed","params":{"revision":1}}
→ {"jsonrpc":"2.0","id":2,"method":"tools/register","params":{"tools":[{"name":"u","description":"U"},{"name":"t","description":"T"}]}}
← {"jsonrpc":"2.0","id":2,"error":{"code":-32010,"message":"tool 't@1' is registered already, by `+owner+`","data":{"tools":[{"name":"t@1","owner":"`+owner+`"}]}}}
→ {"jsonrpc":"2.0","id":3,"method":"tools/register","params":{"tools":[{"name":"t","description":"T"}],"replace":true}}
← {"jsonrpc":"2.0","id":3,"error":{"code":-32011,"message":"…","data":{"tools":[{"name":"t@1","owner":"`+owner+`"}]}}}
→ {"jsonrpc":"2.0","id":4,"method":"tools/unregister","params":{"names":["t"]}}
← {"jsonrpc":"2.0","id":4,"error":{"code":-32011,"message":"tool 't@1' belongs to `+owner+`","data":{"tools":[{"name":"t@1","owner":"`+owner+`"}]}}}
→ {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t"}}
`)
	play(t, first, a, `
← {"jsonrpc":"2.0","id":"r1","method":"tool/call","params":"…"}
← {"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"r1","reason":"…"}}
`)
	play(t, second, b, `
← {"jsonrpc":"2.0","id":5,"result":{"success":false,"output":null,"error":"tool 't' timed out after 0.01 s","metadata":{"concerto":{"call_id":"$client-1","outcome":"timeout","duration_ms":"…"}}}}
→ {"jsonrpc":"2.0","id":6,"method":"tools/register","params":{"tools":[{"name":"t","description":"T","version":2}]}}
← {"jsonrpc":"2.0","id":6,"result":{"registered":["t@2"]}}
`)
	play(t, first, a, `
→ {"jsonrpc":"2.0","id":"r1","result":{"success":true,"output":1}}
→ {"jsonrpc":"2.0","id":"r1","result":{"success":true,"output":1}}
→ {"jsonrpc":"2.0","id":"r77","result":{"success":true,"output":1}}
← {"jsonrpc":"2.0","method":"tools/changed","params":{"revision":2}}
→ {"jsonrpc":"2.0","id":3,"method":"ping"}
← {"jsonrpc":"2.0","id":3,"result":{}}
`)
}
