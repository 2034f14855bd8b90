// Package arch describes the project's structure as data: which package may import which. Its tests
// compare the description with the code and with the picture in docs.
package arch

import (
	"path"
	"slices"
	"strings"
)

// Module is the module path.
const Module = "github.com/concerto-lang/concerto"

// Rule lists the packages of the module that a package may import, by their paths below the module,
// separated by white space. The module's root is ".".
type Rule struct {
	Package, Imports string
	Tests            bool // only tests import it
}

// Allows reports whether the rule's package may import pkg.
func (r Rule) Allows(pkg string) bool { return slices.Contains(strings.Fields(r.Imports), pkg) }

// Layer is a group of packages that may import each other and packages of lower layers, but never
// of a higher layer.
type Layer struct {
	Name    string
	Holds   string // description of its packages
	Folders string // its folders with all subfolders, separated by spaces
}

// Layers lists all layers, the lowest first. Packages outside of all layers are programs and tests,
// which may import any layer.
var Layers = []Layer{
	{"text", "formats of text, and positions in it", "internal/text"},
	{"data", "values, and what passes between the other layers", "internal/data"},
	{"process", "starting, watching and ending processes; files that users name", "internal/process"},
	{"language", "the compiler, from source text to IR", "lexer ast parser sema ir codegen internal/compile"},
	{"machine", "the virtual machine and the standard library", "vm stdlib"},
	{"record", "records of a run: tapes, audit logs, traces", "internal/record"},
	{"terminal", "what is drawn on a terminal, and read from it", "internal/term"},
	{"runtime", "effects: models, hosts, tools, files, clocks", "runtime"},
	{"relay", "the relay's server, daemon and page", "web relay"},
	{"engine", "how a run is put together, kept and resumed", "internal/engine"},
	{"api", "the public package", "."},
	{"editor", "analysis, language server, debugger, REPL", "internal/editor"},
	{"commands", "the command line", "sdk internal/cli cmd"},
}

// LayerOf returns the index of a package's layer in Layers, or len(Layers) for a program or a
// test's package.
func LayerOf(pkg string) int {
	for folder := pkg; ; folder = path.Dir(folder) {
		for i, l := range Layers {
			if slices.Contains(strings.Fields(l.Folders), folder) && (folder != "." || pkg == ".") {
				return i
			}
		}
		if folder == "." {
			return len(Layers)
		}
	}
}

// Policy lists, lowest first, which packages of the module each package may import
// (ARCHITECTURE.md). A package may only import packages listed before it. DO NOT CHANGE IT TO MAKE
// A BUILD PASS: avoid an import that is missing here, or record the decision to add it.
var Policy = []Rule{
	{Package: "internal/text/hexsum"},
	{Package: "internal/text/jsonwrite"},
	{Package: "internal/text/source"},
	{Package: "internal/text/utf8cut"},
	{Package: "internal/data/runconf"},
	{Package: "internal/data/value", Imports: "internal/text/utf8cut"},
	{Package: "internal/compile/types"},
	{Package: "internal/compile/literal", Imports: "internal/compile/types internal/data/value internal/text/utf8cut"},
	{Package: "internal/data/provider"},
	{Package: "internal/text/suggest"},
	{Package: "internal/data/toolname"},
	{Package: "internal/text/foreign"},
	{Package: "internal/data/hostmsg"},
	{Package: "internal/process/parallel"},
	{Package: "internal/data/intmath"},
	{Package: "internal/text/ndjson"},
	{Package: "internal/record/hosttrace", Imports: "internal/text/utf8cut internal/text/jsonwrite"},
	{Package: "internal/data/secret"},
	{Package: "internal/term/cmdline", Imports: "internal/text/suggest"},
	{Package: "internal/term/cmdline/cmdlinetest", Imports: "internal/term/cmdline", Tests: true},
	{Package: "internal/term/terminal"},
	{Package: "internal/process/proc"},
	{Package: "internal/process/holder"},
	{Package: "internal/process/lockfile"},
	{Package: "internal/process/userfile"},
	{Package: "internal/process/guard", Imports: "internal/process/proc"},
	{Package: "internal/process/nonblock"},
	{Package: "internal/process/procgroup", Imports: "internal/process/nonblock internal/process/proc"},
	{Package: "internal/process/stderrlog", Imports: "internal/text/utf8cut"},
	{Package: "internal/process/sandbox"},
	{Package: "internal/process/sandbox/inside", Imports: "internal/process/sandbox"},
	{Package: "internal/process/cputime"},
	{Package: "internal/testkit/complexity", Imports: "internal/process/cputime", Tests: true},
	{Package: "internal/text/jsonrepair", Imports: "internal/text/utf8cut"},
	{Package: "internal/text/jsonread"},
	{Package: "internal/testkit/golden", Tests: true},
	{Package: "internal/arch"},
	{Package: "internal/testkit/mutants"},
	{Package: "internal/text/jcs"},
	{Package: "internal/record/audit", Imports: "internal/text/jcs internal/process/userfile internal/text/utf8cut internal/text/hexsum"},
	{Package: "relay/protocol", Imports: "internal/text/jcs"},
	{Package: "web"},
	{Package: "relay/hostd/approvals", Imports: "internal/text/jcs relay/protocol internal/text/hexsum"},
	{Package: "relay/hostd/workdirfs", Imports: "internal/process/procgroup relay/protocol internal/text/utf8cut internal/text/hexsum"},
	{Package: "relay/sqliteintegrity"},
	{Package: "relay/hostd/spool", Imports: "internal/process/lockfile relay/protocol relay/sqliteintegrity"},
	{Package: "relay/hostd/redact", Imports: "internal/data/secret relay/protocol internal/text/jsonwrite"},
	{Package: "relay/hostd/prompt", Imports: "internal/process/userfile"},
	{Package: "relay/ancestry", Imports: "internal/process/proc"},
	{Package: "relay/ptyholder", Imports: "internal/process/proc relay/ancestry internal/process/holder internal/process/userfile"},
	{Package: "relay/hostd/runs", Imports: "relay/hostd/approvals relay/hostd/prompt relay/hostd/redact relay/ptyholder relay/hostd/spool relay/protocol internal/text/hexsum"},
	{Package: "relay/store", Imports: "internal/record/audit relay/protocol"},
	{Package: "relay/server/httpguard", Imports: "relay/protocol web"},
	{Package: "relay/server/auth", Imports: "internal/record/audit relay/protocol relay/server/httpguard relay/store internal/text/utf8cut internal/text/hexsum"},
	{Package: "relay/hostd/pair", Imports: "relay/protocol internal/process/userfile"},
	{Package: "relay/hostd/link", Imports: "relay/hostd/spool relay/protocol internal/process/userfile"},
	{Package: "relay/server/accounts", Imports: "internal/record/audit relay/protocol relay/server/auth relay/server/httpguard relay/store"},
	{Package: "relay/server/push", Imports: "internal/term/terminal relay/protocol relay/server/auth relay/server/httpguard relay/store"},
	{Package: "relay/server/push/pushtest", Tests: true},
	{Package: "relay/server/pair", Imports: "internal/record/audit relay/protocol relay/server/auth relay/server/httpguard relay/store internal/text/hexsum"},
	{Package: "relay/hostd/rpc", Imports: "internal/text/jcs internal/process/procgroup relay/hostd/approvals relay/hostd/redact relay/hostd/workdirfs relay/hostd/spool relay/protocol internal/text/utf8cut internal/text/hexsum"},
	{Package: "relay/hostd/doctor", Imports: "internal/process/procgroup relay/hostd/link relay/hostd/pair relay/hostd/spool relay/protocol"},
	{Package: "relay/hostd/install", Imports: "internal/process/userfile"},
	{Package: "relay/hostd/hostlog"},
	{Package: "relay/hostd/socket", Imports: "internal/process/proc relay/ancestry relay/hostd/approvals relay/hostd/runs relay/protocol"},
	{Package: "relay/store/sqlite", Imports: "relay/store relay/sqliteintegrity"},
	{Package: "relay/store/postgres", Imports: "relay/store"},
	{Package: "relay/faultproxy", Tests: true},
	{Package: "relay/powercut", Tests: true},
	{Package: "relay/nats"},
	{Package: "relay/store/pgtest", Tests: true},
	{Package: "relay/store/storetest", Imports: "relay/protocol relay/store internal/record/audit", Tests: true},
	{Package: "relay/server", Imports: "internal/record/audit internal/text/jcs internal/data/secret relay/protocol relay/server/auth relay/server/httpguard relay/store internal/text/hexsum"},
	{Package: "relay/server/servertest", Imports: "relay/protocol relay/server relay/server/auth relay/server/httpguard relay/store relay/store/postgres relay/store/sqlite", Tests: true},
	{Package: "relay/web", Imports: "relay/server/auth web"},
	{Package: "relay/web/webtest", Imports: "internal/record/audit relay/protocol relay/server relay/server/auth relay/server/httpguard relay/server/pair relay/server/accounts relay/server/push relay/server/servertest relay/store relay/store/sqlite relay/web web", Tests: true},
	{Package: "internal/data/decision", Imports: "internal/text/jcs internal/text/hexsum"},
	{Package: "internal/text/jsonschema", Imports: "internal/text/suggest internal/text/utf8cut internal/text/jsonwrite"},
	{Package: "internal/data/hostpolicy"},
	{Package: "internal/testkit/program", Tests: true},
	{Package: "relay/hostd/ingest", Imports: "internal/text/jsonschema relay/hostd/approvals relay/hostd/redact relay/hostd/spool relay/protocol"},
	{Package: "relay/hostd", Imports: "relay/hostd/approvals relay/hostd/doctor relay/hostd/link relay/hostd/pair relay/hostd/prompt relay/hostd/redact relay/hostd/rpc relay/hostd/runs relay/ptyholder relay/hostd/socket relay/hostd/ingest relay/hostd/spool relay/protocol"},
	{Package: "internal/testkit/randtest", Tests: true},
	{Package: "internal/testkit/conversation", Imports: "internal/data/hostmsg", Tests: true},
	{Package: "internal/testkit/testhost", Tests: true},
	{Package: "internal/testkit/testllm", Imports: "internal/text/jsonschema", Tests: true},
	{Package: "internal/testkit/testmcp", Tests: true},
	{Package: "internal/testkit/testcommand", Tests: true},
	{Package: "internal/testkit/testproc", Tests: true},
	{Package: "internal/testkit/testterm", Imports: "internal/term/terminal", Tests: true},
	{Package: "internal/compile/diag", Imports: "internal/text/source internal/text/suggest"},
	{Package: "lexer", Imports: "internal/text/source internal/compile/diag"},
	{Package: "web/lexemes", Imports: "lexer"},
	{Package: "editors"},
	{Package: "editors/gen", Imports: "lexer"},
	{Package: "ast", Imports: "internal/text/source"},
	{Package: "parser", Imports: "internal/text/source internal/compile/diag lexer ast internal/text/suggest internal/text/foreign"},
	{Package: "internal/text/yamlcore"},
	{Package: "internal/compile/manifest", Imports: "internal/text/source internal/compile/diag internal/text/foreign internal/data/secret internal/data/provider internal/data/hostpolicy internal/text/suggest internal/data/toolname internal/text/jsonschema internal/text/yamlcore internal/text/jsonwrite"},
	{Package: "sema/coverage", Imports: "internal/compile/types"},
	{Package: "sema/edits", Imports: "ast internal/compile/diag internal/compile/types internal/text/source"},
	{Package: "sema/surface", Imports: "ast internal/text/source"},
	{Package: "sema", Imports: "internal/text/source internal/compile/diag ast internal/compile/types internal/text/suggest internal/data/toolname internal/text/foreign internal/data/hostmsg internal/data/intmath sema/coverage sema/edits sema/surface"},
	{Package: "ir", Imports: "internal/process/parallel"},
	{Package: "codegen", Imports: "internal/text/source internal/compile/diag ast internal/compile/types sema ir internal/data/hostmsg"},
	{Package: "internal/compile/optimize", Imports: "ir internal/data/intmath"},
	{Package: "internal/data/schema", Imports: "internal/data/value internal/text/utf8cut"},
	{Package: "internal/data/effect", Imports: "internal/data/value internal/text/hexsum"},
	{Package: "internal/data/memstore", Imports: "internal/data/value internal/data/effect internal/data/schema"},
	{Package: "vm", Imports: "internal/data/value internal/data/hostmsg ir internal/data/effect internal/data/schema internal/data/memstore internal/data/intmath internal/text/jsonwrite"},
	{Package: "internal/record/profile", Imports: "vm internal/process/cputime"},
	{Package: "internal/record/trace", Imports: "internal/data/effect vm"},
	{Package: "internal/record/journal", Imports: "internal/process/lockfile internal/text/jsonwrite internal/text/hexsum"},
	{Package: "internal/record/tape", Imports: "internal/text/jsonwrite internal/data/effect internal/text/jcs internal/data/secret internal/data/value vm"},
	{Package: "internal/record/ledger", Imports: "internal/text/jsonwrite internal/record/audit internal/data/decision internal/data/effect internal/data/hostmsg internal/text/jcs vm"},
	{Package: "internal/record/eventtext"},
	{Package: "internal/record/activity", Imports: "internal/record/eventtext internal/data/value internal/data/hostmsg internal/data/decision internal/data/effect vm"},
	{Package: "relay/client", Imports: "internal/data/value internal/data/hostmsg internal/data/decision internal/data/effect relay/protocol internal/text/utf8cut"},
	{Package: "relay/client/program", Imports: "internal/data/effect relay/client ir vm"},
	{Package: "internal/term/screen", Imports: "internal/term/terminal"},
	{Package: "internal/term/prompt", Imports: "internal/data/hostmsg internal/data/decision internal/data/effect internal/term/terminal internal/term/screen internal/text/jsonwrite"},
	{Package: "internal/term/progress", Imports: "internal/record/eventtext internal/data/hostmsg internal/data/effect internal/term/terminal internal/record/activity internal/term/screen internal/text/utf8cut"},
	{Package: "stdlib/native", Imports: "internal/data/schema internal/data/value internal/text/utf8cut vm"},
	{Package: "stdlib/formats", Imports: "internal/data/value internal/text/yamlcore stdlib/native vm"},
	{Package: "stdlib/times", Imports: "internal/data/effect internal/data/value stdlib/native vm"},
	{Package: "stdlib", Imports: "internal/text/source ast parser sema ir internal/data/value internal/data/schema internal/data/memstore internal/data/effect vm internal/data/hostmsg internal/data/intmath internal/text/jsonrepair internal/text/utf8cut stdlib/formats stdlib/native stdlib/times internal/text/hexsum"},
	{Package: "internal/testkit/compiletest", Tests: true,
		Imports: "internal/text/source internal/compile/diag internal/data/effect parser sema ir codegen vm stdlib"},
	{Package: "runtime/world/permit", Imports: "internal/data/effect"},
	{Package: "runtime/world/clock", Imports: "internal/data/effect"},
	{Package: "runtime/world/command", Imports: "internal/data/effect internal/process/procgroup runtime/world/clock"},
	{Package: "runtime/world/emit", Imports: "internal/record/eventtext internal/data/value internal/data/hostmsg internal/data/effect internal/text/ndjson internal/process/procgroup internal/term/terminal"},
	{Package: "runtime/world/env", Imports: "internal/data/effect internal/data/secret"},
	{Package: "runtime/world/files", Imports: "internal/data/effect runtime/world/permit"},
	{Package: "runtime/world/httpclient", Imports: "internal/data/effect runtime/world/clock"},
	{Package: "runtime/world/random", Imports: "internal/data/effect"},
	{Package: "runtime/workspace", Imports: "internal/process/procgroup"},
	{Package: "runtime/terminalhost", Imports: "internal/process/procgroup internal/text/utf8cut"},
	{Package: "runtime/mcpbridge", Imports: "internal/text/ndjson"},
	{Package: "runtime/keeper/ring", Imports: ""},
	{Package: "runtime/keeper", Imports: "runtime/keeper/ring internal/process/lockfile internal/process/nonblock internal/text/ndjson internal/process/procgroup internal/data/secret runtime/mcpbridge runtime/terminalhost internal/process/holder internal/process/userfile"},
	{Package: "runtime/host/jsonobject", Imports: "internal/data/value internal/text/jsonread"},
	{Package: "runtime/host/adapter", Imports: "internal/data/decision internal/data/effect internal/data/hostmsg internal/data/value internal/process/stderrlog internal/term/terminal internal/text/ndjson runtime/host/jsonobject internal/text/jsonwrite"},
	{Package: "runtime/host/service", Imports: "internal/process/procgroup runtime/host/adapter runtime/keeper runtime/terminalhost"},
	{Package: "runtime/host", Imports: "internal/process/stderrlog internal/data/value internal/data/hostmsg internal/data/decision internal/data/hostpolicy internal/data/effect internal/text/ndjson internal/process/procgroup internal/record/hosttrace runtime/mcpbridge runtime/terminalhost runtime/world/clock runtime/keeper runtime/workspace internal/text/utf8cut runtime/host/adapter runtime/host/jsonobject runtime/host/service internal/text/jsonwrite"},
	{Package: "relay/hostrun", Imports: "internal/data/effect internal/data/hostmsg internal/process/procgroup relay/client internal/data/value runtime/host"},
	{Package: "internal/engine/durable", Imports: "internal/data/effect internal/data/hostmsg internal/text/jsonschema internal/data/secret internal/record/tape runtime/host internal/record/journal vm internal/text/jsonwrite internal/text/hexsum"},
	{Package: "runtime/host/hosttest", Imports: "internal/data/value internal/data/hostmsg internal/data/hostpolicy internal/data/effect internal/process/procgroup runtime/host", Tests: true},
	{Package: "runtime/budget", Imports: "runtime/world/clock"},
	{Package: "runtime/llm", Imports: "internal/data/effect internal/data/secret internal/data/provider internal/text/suggest runtime/world/clock internal/text/utf8cut internal/text/jsonwrite internal/text/hexsum"},
	{Package: "internal/engine/transcript", Imports: "internal/data/effect vm runtime/budget runtime/llm internal/text/jsonwrite"},
	{Package: "runtime/world/logs", Imports: "internal/data/effect internal/data/secret internal/text/jsonwrite"},
	{Package: "runtime/mcp", Imports: "internal/data/effect internal/process/procgroup internal/text/suggest runtime/world/clock"},
	{Package: "runtime/mock", Imports: "internal/data/value internal/data/hostmsg internal/data/effect"},
	{Package: "runtime/world/sqlitestore", Imports: "internal/data/value internal/data/effect internal/data/memstore internal/data/intmath"},
	{Package: "runtime/tool", Imports: "internal/data/effect internal/process/stderrlog internal/text/ndjson internal/process/procgroup internal/process/sandbox internal/data/toolname internal/record/audit internal/data/decision internal/text/jcs internal/text/jsonschema internal/text/jsonwrite internal/text/suggest runtime/world/clock runtime/world/httpclient internal/text/hexsum"},
	{Package: "runtime/tool/tooltest", Imports: "internal/record/audit runtime/tool", Tests: true},
	{Package: "runtime", Imports: `internal/data/effect internal/process/procgroup internal/data/secret internal/record/hosttrace runtime/world/clock runtime/world/command runtime/world/emit runtime/world/env runtime/world/files
		runtime/world/httpclient runtime/host runtime/keeper runtime/budget runtime/llm runtime/world/logs runtime/mcp runtime/mock
		runtime/world/permit runtime/world/random runtime/world/sqlitestore runtime/tool internal/record/audit`},
	{Package: "internal/engine/hostcheck", Imports: "internal/data/hostmsg internal/data/effect internal/text/ndjson internal/process/procgroup internal/record/hosttrace stdlib runtime/host internal/text/utf8cut"},
	{Package: "internal/record/hostreplay", Imports: "internal/record/hosttrace"},
	{Package: "internal/compile/format", Imports: "internal/text/source internal/compile/diag lexer ast parser"},
	{Package: "internal/compile/repair", Imports: "internal/text/source internal/compile/diag internal/compile/format parser"},
	{Package: "internal/editor/refactor", Imports: "internal/text/source internal/compile/diag internal/compile/types internal/data/hostmsg lexer ast parser sema"},
	{Package: "internal/editor/doc", Imports: "internal/compile/manifest stdlib internal/text/suggest"},
	{Package: "internal/engine/driver", Imports: `internal/text/source internal/compile/diag lexer ast parser internal/compile/manifest sema ir codegen internal/compile/optimize
		stdlib internal/text/suggest internal/compile/types internal/process/userfile`},
	{Package: "internal/editor/lsp/protocol"},
	{Package: "internal/editor/lsp/frame"},
	{Package: "internal/editor/lsp/lsptest", Imports: "internal/editor/lsp/frame"},
	{Package: "internal/editor/analysis", Imports: "internal/text/source internal/compile/diag internal/editor/refactor internal/compile/repair internal/engine/driver internal/compile/manifest internal/process/parallel internal/compile/types internal/editor/doc internal/data/hostmsg lexer ast parser sema stdlib internal/process/userfile internal/text/utf8cut"},
	{Package: "internal/editor/lsp", Imports: "internal/text/source internal/compile/diag internal/compile/format internal/compile/repair internal/editor/analysis internal/editor/lsp/frame internal/editor/lsp/protocol internal/text/jsonwrite internal/text/hexsum"},
	{Package: "internal/editor/dap/daptest", Imports: "internal/editor/lsp/frame", Tests: true},
	{Package: "internal/editor/dap", Imports: "internal/text/source internal/compile/diag ast parser internal/compile/types internal/data/value internal/compile/literal internal/data/hostmsg internal/data/effect ir vm internal/engine/driver internal/editor/analysis internal/editor/lsp/frame runtime/world/clock"},
	{Package: "internal/editor/repl", Imports: "internal/text/source internal/compile/diag internal/compile/types internal/data/value internal/compile/literal lexer ast parser ir vm internal/engine/driver internal/editor/analysis"},
	{Package: "internal/engine/runs", Imports: "internal/engine/driver internal/engine/durable internal/data/effect internal/data/runconf ir runtime internal/record/journal runtime/keeper runtime/llm"},
	{Package: "internal/engine/timetravel", Imports: "internal/engine/durable internal/data/effect internal/data/runconf internal/record/tape internal/data/value ir runtime runtime/world/emit runtime/world/env internal/record/journal stdlib vm"},
	{Package: "internal/engine/timetravel/view", Imports: "internal/engine/timetravel internal/term/terminal internal/text/utf8cut"},
	{Package: "internal/engine", Imports: `internal/record/eventtext internal/data/hostmsg internal/compile/diag internal/text/source internal/compile/manifest internal/process/procgroup internal/text/suggest ir internal/data/value internal/data/effect vm stdlib internal/data/secret internal/record/hosttrace runtime runtime/world/emit runtime/world/env runtime/tool
		runtime/host internal/record/journal runtime/keeper runtime/budget runtime/llm runtime/world/logs runtime/mcp runtime/mock runtime/world/permit internal/engine/driver
		internal/engine/durable internal/record/ledger internal/record/profile internal/data/runconf internal/record/tape internal/record/trace internal/engine/transcript internal/record/activity internal/record/audit relay/client relay/client/program relay/protocol internal/process/userfile internal/text/hexsum`},
	{Package: ".", Imports: "internal/compile/diag internal/compile/manifest internal/data/effect internal/engine internal/engine/driver internal/engine/durable internal/engine/runs internal/engine/transcript internal/record/activity internal/record/audit internal/record/journal ir runtime/budget runtime/llm runtime/tool runtime/world/permit vm internal/record/tape"},
	{Package: "internal/cli/serve/servetest", Tests: true},
	{Package: "sdk"},
	{Package: "internal/cli/console", Imports: "internal/term/cmdline internal/compile/diag internal/editor/dap internal/engine internal/engine/runs internal/process/procgroup internal/process/userfile internal/record/eventtext internal/term/prompt internal/term/screen internal/term/terminal internal/text/source internal/text/suggest relay/client internal/engine/driver internal/engine/durable internal/record/journal internal/record/tape ir runtime/world/emit runtime/world/logs runtime/world/permit vm"},
	{Package: "internal/cli/heap", Imports: ""},
	{Package: "internal/cli/help", Imports: "internal/term/cmdline internal/cli/console internal/compile/diag internal/editor/doc internal/text/suggest"},
	{Package: "internal/cli/interrupt", Imports: "internal/cli/console internal/process/procgroup"},
	{Package: "internal/cli/program", Imports: "internal/cli/console internal/cli/interrupt internal/compile/manifest internal/data/secret internal/engine internal/process/userfile internal/record/audit internal/record/hosttrace internal/term/terminal internal/engine/driver runtime/host runtime/tool runtime/world/emit runtime/world/permit internal/text/hexsum"},
	{Package: "internal/cli/editors", Imports: "internal/term/cmdline internal/cli/console internal/cli/heap internal/cli/help internal/cli/interrupt internal/cli/program internal/compile/diag internal/data/secret internal/editor/dap internal/editor/doc internal/editor/lsp internal/editor/repl internal/engine internal/process/lockfile internal/process/userfile internal/term/screen internal/term/terminal internal/text/suggest runtime/mcp internal/engine/driver runtime/world/emit"},
	{Package: "internal/cli/hosts", Imports: "internal/term/cmdline internal/cli/console internal/cli/interrupt internal/cli/program internal/data/effect internal/data/hostmsg internal/engine internal/engine/hostcheck internal/process/procgroup internal/process/userfile internal/record/hostreplay internal/record/hosttrace internal/term/terminal internal/text/suggest runtime/host runtime/keeper internal/engine/driver"},
	{Package: "internal/cli/rerun", Imports: "internal/cli/console internal/engine/driver"},
	{Package: "internal/cli/project", Imports: "internal/term/cmdline internal/cli/console internal/cli/interrupt internal/cli/program internal/cli/rerun internal/compile/diag internal/compile/format internal/compile/manifest internal/compile/optimize internal/compile/repair internal/data/provider internal/editor/analysis internal/engine internal/engine/driver internal/process/userfile internal/text/source internal/text/suggest sdk"},
	{Package: "internal/cli/runner", Imports: "internal/term/cmdline internal/cli/console internal/cli/heap internal/cli/interrupt internal/cli/program internal/cli/rerun internal/data/secret internal/editor/dap internal/engine internal/engine/runs internal/process/userfile internal/term/progress internal/term/screen relay/client relay/protocol internal/engine/driver internal/engine/durable internal/engine/transcript internal/process/procgroup internal/record/activity internal/record/ledger runtime/budget runtime/world/emit runtime/world/permit"},
	{Package: "internal/cli/runs", Imports: "internal/term/cmdline internal/cli/console internal/cli/interrupt internal/cli/program internal/cli/runner internal/engine internal/engine/runs internal/engine/timetravel internal/engine/timetravel/view internal/process/userfile internal/record/audit internal/term/terminal internal/engine/durable internal/process/procgroup internal/record/journal internal/record/tape runtime/tool"},
	{Package: "internal/cli/serve", Imports: "internal/cli/console internal/cli/interrupt internal/cli/program internal/compile/diag internal/engine internal/engine/driver internal/process/procgroup internal/process/userfile internal/record/audit internal/text/jsonread internal/text/jsonschema internal/text/jsonwrite runtime/budget runtime/tool vm"},
	{Package: "internal/cli/tests", Imports: "internal/term/cmdline internal/cli/console internal/cli/interrupt internal/cli/program internal/cli/rerun internal/editor/analysis internal/engine internal/engine/driver runtime/world/permit vm"},
	{Package: "internal/cli/tools", Imports: "internal/term/cmdline internal/cli/console internal/cli/interrupt internal/cli/program internal/compile/diag internal/compile/format internal/compile/manifest internal/data/secret internal/engine internal/text/source runtime/mcp runtime/tool internal/engine/driver runtime/world/emit"},
	{Package: "internal/cli", Imports: "internal/term/cmdline internal/cli/console internal/cli/editors internal/cli/heap internal/cli/help internal/cli/hosts internal/cli/project internal/cli/runner internal/cli/runs internal/cli/serve internal/cli/tests internal/cli/tools internal/process/guard internal/process/procgroup internal/process/sandbox/inside runtime/world/logs"},
	// Programs may import any of the packages above.
	{Package: "ir/gen", Imports: "ir"},
	{Package: "internal/compile/manifest/gen", Imports: "internal/compile/manifest"},
	{Package: "internal/compile/diag/gen", Imports: "internal/compile/diag"},
	{Package: "stdlib/gen", Imports: "stdlib"},
	{Package: "internal/arch/gen", Imports: "internal/arch"},
	{Package: "internal/editor/lsp/gen"},
	{Package: "internal/editor/doc/gen", Imports: "internal/editor/doc"},
	{Package: "internal/editor/refactor/gen", Imports: "internal/editor/refactor internal/compile/repair stdlib"},
	{Package: "internal/testkit/mutants/run", Imports: "internal/testkit/mutants"},
	{Package: "relay/protocol/gen", Imports: "relay/protocol"},
	{Package: "internal/testkit/agentwire", Imports: "internal/data/effect internal/process/procgroup internal/testkit/testllm internal/record/hosttrace runtime/host runtime/host/adapter"},
	{Package: "cmd/concerto", Imports: "internal/cli"},
	{Package: "cmd/concerto-relay", Imports: "internal/term/cmdline internal/record/audit internal/data/effect internal/data/hostmsg internal/process/lockfile internal/process/procgroup relay/client internal/text/suggest internal/term/terminal relay/hostd relay/hostd/doctor relay/hostd/hostlog relay/hostd/install relay/hostd/pair relay/hostd/redact relay/ptyholder relay/hostd/socket relay/hostrun relay/nats relay/protocol relay/server/auth relay/server/httpguard relay/store relay/store/postgres relay/store/sqlite relay/server relay/server/pair relay/server/accounts relay/server/push relay/web internal/process/userfile internal/text/utf8cut"},
	{Package: "bench", Imports: "internal/text/source internal/process/cputime parser sema codegen ir internal/compile/optimize stdlib"},
	{Package: "bench/caller"},
	{Package: "bench/runs", Imports: "internal/data/effect vm stdlib internal/engine/driver"},
	{Package: "bench/editor", Imports: "internal/editor/lsp/lsptest"},
	{Package: "bench/empty"},
	{Package: "bench/inside", Imports: "."},
	{Package: "bench/once"},
	{Package: "bench/peer"},
	{Package: "bench/relay", Imports: "relay/protocol relay/hostd/spool relay/hostd/link"},
	{Package: "bench/sqlite"},
	{Package: "examples/coder/host"},
	{Package: "examples/supervise/host"},
	{Package: "tools/browser", Imports: "internal/testkit/golden", Tests: true},
	{Package: "tools/pictures", Imports: "internal/testkit/testterm", Tests: true},
	{Package: "tools/web/build"},
	{Package: "tools/web/gen", Imports: "web tools/web/build"},
	{Package: "tools/web/vendors", Imports: "tools/web/build"},
	{Package: "tools/web/show", Imports: "web tools/web/build"},
	{Package: "tools/relay/nats/natstest", Tests: true},
	{Package: "tools/relay/relaytest", Tests: true},
}
