package webtest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// sampleFiles are the files in the directory of each run of Samples, by path.
var sampleFiles = map[string]string{
	"README.md": "# shop\n\nWhat is sold, and for how much.\n", "go.mod": "module shop\n\ngo 1.26\n", "Makefile": "test:\n\tgo test ./...\n",
	"checkout/total.go": `package checkout

import "math"

// Money is cents.
type Money int64

// Total is what a customer pays.
func Total(items []Item, rate float64) Money {
	var sum Money
	for _, it := range items {
		sum += it.Price * Money(it.Count)
	}
	return sum * (1 + rate)
}

func round(x float64) Money { return Money(math.Round(x)) }
`,
	"checkout/total_test.go": "package checkout\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) { /* … */ }\n",
	"checkout/item.go":       "package checkout\n\n// Item is what lies in the basket.\ntype Item struct {\n\tPrice Money\n\tCount int\n}\n",
	"main.conc":              "agent Architect uses openai { system_prompt: \"You decide. Be brief.\" }\n\nfn main() {\n    let plan = Architect.execute(\"Plan the migration\")?;\n    emit(\"plan\", plan.text); // what the page shows first\n    for i in 0..3 { emit(\"step\", i); }\n}\n",
}

// Answer makes a machine answer all RPCs that need no approval. The machine ignores other messages.
func Answer(machine *servertest.Peer) {
	machine.Each(func(e protocol.Envelope) {
		if !strings.HasPrefix(e.Type, "rpc.") {
			return
		}
		var asked struct {
			RequestID string `json:"request_id"`
			Path, Q   string
		}
		if err := json.Unmarshal(e.Data, &asked); err != nil {
			return
		}
		answer := protocol.Response{RequestID: asked.RequestID, RPCType: e.Type, OK: true}
		if result := answerOf(e.Type, asked.Path, asked.Q); result == nil {
			answer.OK, answer.Error, answer.ErrorCode = false, "there is nothing of that", protocol.NotFound
		} else if text, err := json.Marshal(result); err == nil {
			answer.Result = text
		}
		machine.Answer(&e, answer)
	})
}

// answerOf returns a machine's answer to an RPC, or nil if the machine does not support the RPC.
func answerOf(typ, at, q string) any {
	switch typ {
	case protocol.RPCListDir:
		return listed(at)
	case protocol.RPCReadFile:
		text, ok := sampleFiles[at]
		if !ok {
			return nil
		}
		return protocol.ReadFileResult{Path: at, Content: text, Size: int64(len(text)), SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}
	case protocol.RPCSearch:
		return found(q)
	case protocol.RPCGitStatus:
		return protocol.GitResult{Stdout: "On branch fix/tax-rounding\nChanges not staged for commit:\n\tmodified:   checkout/total.go\n"}
	case protocol.RPCGitDiff:
		return protocol.GitResult{Stdout: "diff --git a/checkout/total.go b/checkout/total.go\nindex 83db48f..bf2a9c1 100644\n" + sampleDiff}
	case protocol.RPCMachineInfo:
		return health.MachineInfo
	case protocol.RPCMachineDoctor:
		return health
	case protocol.RPCTailLog:
		return protocol.LogTail{Path: "/home/ann/.local/state/concerto/hostd.log", Text: "09:12:03 connected to http://127.0.0.1:8787 as desk\n09:12:04 run_claude: claude, in /home/ann/shop\n09:14:40 run_claude: asks (bash), sent to the server as 41\n"}
	}
	return nil
}

// health is the result of the diagnostics on the sample machine.
var health = protocol.MachineDoctor{
	MachineInfo: protocol.MachineInfo{MachineID: "desk", PID: 4711, OS: "linux", Arch: "amd64", Version: "0.1.0", Tools: []protocol.ToolInfo{
		{Tool: "claude", Bin: "/home/ann/.local/bin/claude", OK: true}, {Tool: "codex", Bin: "/usr/bin/codex", OK: true}, {Tool: "gemini", Bin: "gemini"}}},
	Deps: []protocol.Dep{{Name: "git", OK: true, Detail: "/usr/bin/git, 2.53.0"}, {Name: "ripgrep", Detail: "rg is not on the PATH: install ripgrep to search in files"}, {Name: "spool", OK: true, Detail: "2.1 MiB of 1 GiB"}},
}

func listed(dir string) any {
	all := map[string]protocol.Entry{}
	for name, text := range sampleFiles {
		rest, ok := strings.CutPrefix(name, strings.TrimPrefix(dir+"/", "/"))
		if !ok {
			continue
		}
		size := int64(len(text))
		e := protocol.Entry{Name: rest, SizeBytes: &size}
		if first, _, deeper := strings.Cut(rest, "/"); deeper {
			e = protocol.Entry{Name: first, IsDir: true}
		}
		all[e.Name] = e
	}
	if len(all) == 0 {
		return nil
	}
	out := protocol.ListDirResult{Path: path.Join(".", dir)}
	for _, e := range all {
		out.Entries = append(out.Entries, e)
	}
	slices.SortFunc(out.Entries, func(a, b protocol.Entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func found(q string) any {
	out := protocol.SearchResult{Matches: []protocol.Match{}}
	for name, text := range sampleFiles {
		for i, line := range strings.Split(text, "\n") {
			if at := strings.Index(line, q); at >= 0 {
				out.Matches = append(out.Matches, protocol.Match{Path: name, Line: int64(i + 1), Column: int64(at + 1), Text: line})
			}
		}
	}
	slices.SortFunc(out.Matches, func(a, b protocol.Match) int {
		return strings.Compare(fmt.Sprintf("%s %4d", a.Path, a.Line), fmt.Sprintf("%s %4d", b.Path, b.Line))
	})
	return out
}
