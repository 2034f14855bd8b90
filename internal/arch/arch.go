// Package arch holds the project's structure as data: which package may import
// which. Its tests compare the code with it, and the picture in docs.
package arch

import (
	"slices"
	"strings"
)

// Module is the path of ours.
const Module = "github.com/concerto-lang/concerto"

// Rule is a package and the packages of ours that it may import, by their
// paths below the module, separated by white space. The module's root is ".".
type Rule struct {
	Package, Imports string
	Tests            bool // only tests import it
}

// Allows says whether the rule's package may import one of ours.
func (r Rule) Allows(pkg string) bool { return slices.Contains(strings.Fields(r.Imports), pkg) }

// Policy says, lowest first, what of ours each package may import
// (ARCHITECTURE.md). A package imports only what stands above it here. DO NOT
// CHANGE IT TO MAKE A BUILD PASS: an import that is missing here is one to do
// without, or a decision to write down.
var Policy = []Rule{
	{Package: "internal/source"},
	{Package: "internal/value"},
	{Package: "internal/types"},
	{Package: "internal/provider"},
	{Package: "internal/spell"},
	{Package: "internal/toolname"},
	{Package: "internal/foreign"},
	{Package: "internal/hostmsg"},
	{Package: "internal/parallel"},
	{Package: "internal/ample"},
	{Package: "internal/checked"},
	{Package: "internal/ndjson"},
	{Package: "internal/wire"},
	{Package: "internal/secret"},
	{Package: "internal/terminal"},
	{Package: "internal/proc"},
	{Package: "internal/guard", Imports: "internal/proc"},
	{Package: "internal/procgroup", Imports: "internal/proc"},
	{Package: "internal/aside"},
	{Package: "internal/sandbox"},
	{Package: "internal/sandbox/inside", Imports: "internal/sandbox"},
	{Package: "internal/cputime"},
	{Package: "internal/growth", Imports: "internal/cputime", Tests: true},
	{Package: "internal/jsonrepair"},
	{Package: "internal/jsonread"},
	{Package: "internal/jsonwrite"},
	{Package: "internal/golden", Tests: true},
	{Package: "internal/arch"},
	{Package: "internal/mutants"},
	{Package: "internal/jcs"},
	{Package: "internal/audit", Imports: "internal/jcs"},
	{Package: "relay/protocol", Imports: "internal/jcs"},
	{Package: "web"},
	{Package: "web/build"},
	{Package: "web/gen", Imports: "web web/build"},
	{Package: "web/vendors", Imports: "web/build"},
	{Package: "relay/hostd/desk", Imports: "internal/jcs relay/protocol"},
	{Package: "relay/hostd/scope", Imports: "internal/procgroup relay/protocol"},
	{Package: "relay/hostd/spool", Imports: "relay/protocol"},
	{Package: "relay/hostd/redact", Imports: "internal/secret"},
	{Package: "relay/hostd/prompt"},
	{Package: "relay/hostd/shim", Imports: "internal/proc"},
	{Package: "relay/hostd/runs", Imports: "relay/hostd/desk relay/hostd/prompt relay/hostd/redact relay/hostd/shim relay/hostd/spool relay/protocol"},
	{Package: "relay/store", Imports: "internal/audit relay/protocol"},
	{Package: "relay/server/guard", Imports: "relay/protocol"},
	{Package: "relay/server/auth", Imports: "internal/audit relay/protocol relay/server/guard relay/store"},
	{Package: "relay/hostd/link", Imports: "relay/hostd/spool relay/protocol"},
	{Package: "relay/server/people", Imports: "internal/audit relay/protocol relay/server/auth relay/server/guard relay/store"},
	{Package: "relay/hostd/rpc", Imports: "internal/jcs internal/procgroup relay/hostd/desk relay/hostd/scope relay/hostd/spool relay/protocol"},
	{Package: "relay/hostd/doctor", Imports: "internal/procgroup relay/hostd/link relay/hostd/spool relay/protocol"},
	{Package: "relay/hostd/install"},
	{Package: "relay/hostd/hostlog"},
	{Package: "relay/hostd/socket", Imports: "internal/proc relay/hostd/desk relay/hostd/runs relay/protocol"},
	{Package: "relay/store/sqlite", Imports: "relay/store"},
	{Package: "relay/store/postgres", Imports: "relay/store"},
	{Package: "relay/faultproxy", Tests: true},
	{Package: "relay/relaytest", Imports: "", Tests: true},
	{Package: "relay/powercut", Tests: true},
	{Package: "relay/store/storetest", Imports: "relay/protocol relay/store internal/audit", Tests: true},
	{Package: "relay/server", Imports: "internal/audit internal/jcs relay/protocol relay/server/auth relay/server/guard relay/store"},
	{Package: "relay/server/servertest", Imports: "relay/protocol relay/server relay/server/auth relay/server/guard relay/store relay/store/sqlite", Tests: true},
	{Package: "internal/decision", Imports: "internal/jcs"},
	{Package: "internal/jsonschema", Imports: "internal/spell"},
	{Package: "internal/hostpolicy"},
	{Package: "internal/progen", Tests: true},
	{Package: "relay/hostd/source", Imports: "internal/jsonschema relay/hostd/desk relay/hostd/redact relay/hostd/spool relay/protocol"},
	{Package: "relay/hostd", Imports: "relay/hostd/desk relay/hostd/doctor relay/hostd/link relay/hostd/prompt relay/hostd/redact relay/hostd/rpc relay/hostd/runs relay/hostd/shim relay/hostd/socket relay/hostd/source relay/hostd/spool relay/protocol"},
	{Package: "internal/seeds", Tests: true},
	{Package: "internal/talkgen", Imports: "internal/hostmsg", Tests: true},
	{Package: "internal/testhost", Tests: true},
	{Package: "internal/testllm", Tests: true},
	{Package: "internal/testmcp", Tests: true},
	{Package: "internal/testproc", Tests: true},
	{Package: "internal/testterm", Imports: "internal/terminal", Tests: true},
	{Package: "internal/diag", Imports: "internal/source internal/spell"},
	{Package: "lexer", Imports: "internal/source internal/diag"},
	{Package: "ast", Imports: "internal/source"},
	{Package: "parser", Imports: "internal/source internal/diag lexer ast internal/spell internal/foreign"},
	{Package: "internal/manifest", Imports: "internal/source internal/diag internal/foreign internal/secret internal/provider internal/hostpolicy internal/spell internal/toolname internal/jsonschema"},
	{Package: "sema", Imports: "internal/source internal/diag ast internal/types internal/spell internal/toolname internal/foreign internal/hostmsg internal/checked"},
	{Package: "ir", Imports: "internal/parallel"},
	{Package: "codegen", Imports: "internal/source internal/diag ast internal/types sema ir internal/hostmsg"},
	{Package: "internal/optimize", Imports: "ir internal/checked"},
	{Package: "internal/schema", Imports: "internal/value"},
	{Package: "internal/effect", Imports: "internal/value"},
	{Package: "internal/store", Imports: "internal/value internal/effect internal/schema"},
	{Package: "vm", Imports: "internal/value internal/hostmsg ir internal/effect internal/schema internal/store internal/checked"},
	{Package: "internal/profile", Imports: "vm internal/cputime"},
	{Package: "internal/trace", Imports: "internal/effect vm"},
	{Package: "internal/activity", Imports: "internal/value internal/hostmsg internal/decision internal/effect vm"},
	{Package: "internal/relay", Imports: "internal/value internal/hostmsg internal/decision internal/effect relay/protocol"},
	{Package: "internal/relay/program", Imports: "internal/effect internal/relay ir vm"},
	{Package: "internal/screen", Imports: "internal/terminal"},
	{Package: "internal/asking", Imports: "internal/hostmsg internal/decision internal/effect internal/terminal internal/screen"},
	{Package: "internal/progress", Imports: "internal/hostmsg internal/effect internal/terminal internal/activity internal/screen"},
	{Package: "internal/redfa"},
	{Package: "stdlib", Imports: `internal/source ast parser sema ir internal/value internal/schema internal/store internal/effect vm
		internal/hostmsg internal/checked internal/jsonrepair internal/redfa`},
	{Package: "internal/trial", Tests: true,
		Imports: "internal/source internal/diag internal/effect parser sema ir codegen vm stdlib"},
	{Package: "runtime/permit", Imports: "internal/effect"},
	{Package: "runtime/clock", Imports: "internal/effect"},
	{Package: "runtime/command", Imports: "internal/effect internal/procgroup"},
	{Package: "runtime/emit", Imports: "internal/value internal/hostmsg internal/effect internal/ndjson internal/procgroup internal/terminal"},
	{Package: "runtime/env", Imports: "internal/effect internal/secret"},
	{Package: "runtime/files", Imports: "internal/effect runtime/permit"},
	{Package: "runtime/web", Imports: "internal/effect"},
	{Package: "runtime/random", Imports: "internal/effect"},
	{Package: "runtime/taskdir", Imports: "internal/procgroup"},
	{Package: "runtime/host", Imports: "internal/aside internal/value internal/hostmsg internal/decision internal/hostpolicy internal/effect internal/ndjson internal/procgroup internal/wire runtime/taskdir"},
	{Package: "relay/hostd/talk", Imports: "internal/effect internal/hostmsg internal/procgroup internal/relay internal/value runtime/host"},
	{Package: "runtime/host/hosttest", Imports: "internal/value internal/hostmsg internal/hostpolicy internal/effect internal/procgroup runtime/host", Tests: true},
	{Package: "runtime/limit"},
	{Package: "runtime/llm", Imports: "internal/effect internal/jsonread internal/secret internal/provider internal/spell"},
	{Package: "internal/transcript", Imports: "internal/effect vm runtime/limit runtime/llm"},
	{Package: "runtime/logs", Imports: "internal/effect internal/secret"},
	{Package: "runtime/mcp", Imports: "internal/effect internal/procgroup internal/spell"},
	{Package: "runtime/mock", Imports: "internal/value internal/hostmsg internal/effect"},
	{Package: "runtime/store", Imports: "internal/value internal/effect internal/store internal/checked"},
	{Package: "runtime/tool", Imports: "internal/effect internal/ample internal/aside internal/ndjson internal/procgroup internal/sandbox internal/toolname internal/audit internal/decision internal/jcs internal/jsonread internal/jsonschema internal/jsonwrite internal/spell"},
	{Package: "runtime/tool/tooltest", Imports: "internal/audit runtime/tool", Tests: true},
	{Package: "runtime", Imports: `internal/effect internal/procgroup internal/secret internal/wire runtime/clock runtime/command runtime/emit runtime/env runtime/files
		runtime/web runtime/host runtime/limit runtime/llm runtime/logs runtime/mcp runtime/mock
		runtime/permit runtime/random runtime/store runtime/tool internal/audit`},
	{Package: "internal/hostcheck", Imports: "internal/hostmsg internal/effect internal/ndjson internal/procgroup internal/wire stdlib runtime/host"},
	{Package: "internal/hostreplay", Imports: "internal/wire"},
	{Package: "internal/format", Imports: "internal/source internal/diag lexer ast parser"},
	{Package: "internal/doc", Imports: "internal/manifest stdlib internal/spell"},
	{Package: "internal/driver", Imports: `internal/source internal/diag lexer ast parser internal/manifest sema ir codegen internal/optimize
		stdlib internal/spell`},
	{Package: ".", Imports: `internal/diag internal/source internal/manifest internal/procgroup internal/spell ir internal/value internal/effect vm stdlib internal/secret internal/wire runtime runtime/emit runtime/env runtime/tool
		runtime/host runtime/limit runtime/llm runtime/logs runtime/mcp runtime/mock runtime/permit internal/driver
		internal/profile internal/trace internal/transcript internal/activity internal/audit internal/relay internal/relay/program relay/protocol`},
	{Package: "internal/serve/servetest", Tests: true},
	{Package: "internal/serve", Imports: ". internal/ample internal/audit internal/diag internal/jsonread internal/jsonschema internal/jsonwrite internal/procgroup runtime/limit runtime/tool"},
	// Programs: they may use what they need of the above.
	{Package: "parser/gen", Imports: "lexer"},
	{Package: "ir/gen", Imports: "ir"},
	{Package: "internal/manifest/gen", Imports: "internal/manifest"},
	{Package: "internal/diag/gen", Imports: "internal/diag"},
	{Package: "stdlib/gen", Imports: "stdlib"},
	{Package: "internal/arch/gen", Imports: "internal/arch"},
	{Package: "internal/doc/gen", Imports: "internal/doc"},
	{Package: "internal/mutants/run", Imports: "internal/mutants"},
	{Package: "relay/protocol/gen", Imports: "relay/protocol"},
	{Package: "internal/agentwire", Imports: "internal/effect internal/procgroup internal/testllm internal/wire runtime/host"},
	{Package: "sdk"},
	{Package: "cmd/concerto", Imports: `. sdk internal/source internal/relay relay/protocol internal/guard internal/sandbox/inside internal/diag internal/manifest internal/optimize internal/format
		runtime/host runtime/mcp runtime/tool internal/doc internal/driver internal/hostcheck internal/procgroup internal/hostreplay internal/wire internal/effect internal/hostmsg
		internal/secret internal/serve internal/spell internal/terminal internal/progress internal/screen internal/asking internal/audit`},
	{Package: "cmd/concerto-relay", Imports: "internal/audit internal/effect internal/hostmsg internal/relay internal/spell internal/terminal relay/hostd relay/hostd/doctor relay/hostd/hostlog relay/hostd/install relay/hostd/redact relay/hostd/shim relay/hostd/socket relay/hostd/talk relay/protocol relay/server/auth relay/server/guard relay/store relay/store/postgres relay/store/sqlite relay/server relay/server/people"},
	{Package: "bench", Imports: "internal/source internal/cputime parser sema codegen ir internal/optimize stdlib"},
	{Package: "bench/caller"},
	{Package: "bench/runs", Imports: "internal/effect vm stdlib internal/driver"},
	{Package: "bench/empty"},
	{Package: "bench/inside", Imports: "."},
	{Package: "bench/once"},
	{Package: "bench/peer"},
	{Package: "bench/relay", Imports: "relay/protocol relay/hostd/spool relay/hostd/link"},
	{Package: "bench/sqlite"},
	{Package: "examples/supervise/host"},
}
