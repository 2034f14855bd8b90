package permit

import (
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// row lists the needs of a kind of request.
type row struct {
	// free is the reason why the requests need no permission; "" if they need one.
	free string
	// kinds lists the kinds of permission that the function needs may return.
	kinds []Kind
	needs func(p *Policy, r effect.Request) []Need
	// refused returns the program's error for a need that is not permitted. text is its message.
	refused func(r effect.Request, n Need, text string) *effect.Error
	// static lists the needs in terms of the parameters of the native function that makes the
	// request, and declared is set if the declarations of a program state them instead. The uses of
	// a package are derived from them.
	static   []Static
	declared bool
	// filter removes the parts that are not permitted from the result of a request for a whole set;
	// nil for other requests.
	filter func(p *Policy, r effect.Result) effect.Result
}

// Static is a need whose target is the value of a parameter. Param is "" if the target is not the
// value of one.
type Static struct {
	Kind  Kind
	Param string
}

// of sets the static needs of a row: a kind and the name of a parameter, in turn.
func (w *row) of(needs ...Static) *row { w.static = needs; return w }

// byDeclaration marks a row whose needs the declarations of a program state.
func (w *row) byDeclaration() *row { w.declared = true; return w }

// StaticNeeds returns the needs of the requests of kind k that a call in the source determines.
// known is false if the table has no answer for the kind.
func StaticNeeds(k effect.Kind) (needs []Static, known bool) {
	w := rows()[k]
	if w == nil {
		return nil, false
	}
	return w.static, w.free != "" || w.declared || w.static != nil
}

// The reasons why an effect needs no permission.
const (
	ours  = "the caller receives it and decides how to use it"
	inner = "it touches nothing outside of the run"
	goes  = "it continues an operation that was permitted when it was opened"
	tests = "only a test makes it, of its own world"
)

// rows returns the rows by kinds of requests. A request without a row is refused.
var rows = sync.OnceValue(func() map[effect.Kind]*row {
	return map[effect.Kind]*row{
		effect.KindReadFile:   onFile(needsPath(func(q *effect.ReadFile) []Need { return []Need{{Kind: Read, Target: q.Path}} }), Read).of(Static{Read, "path"}),
		effect.KindWriteFile:  onFile(needsPath(func(q *effect.WriteFile) []Need { return []Need{{Kind: Write, Target: q.Path}} }), Write).of(Static{Write, "path"}),
		effect.KindFileInfo:   onFile(needsPath(func(q *effect.FileInfo) []Need { return []Need{{Kind: Read, Target: q.Path}} }), Read).of(Static{Read, "path"}),
		effect.KindListDir:    onFile(needsPath(func(q *effect.ListDir) []Need { return []Need{{Kind: Read, Target: q.Path}} }), Read).of(Static{Read, "path"}),
		effect.KindRemoveFile: onFile(needsPath(func(q *effect.RemoveFile) []Need { return []Need{{Kind: Write, Target: q.Path, Link: true}} }), Write).of(Static{Write, "path"}),
		effect.KindMakeDir:    onFile(needsPath(func(q *effect.MakeDir) []Need { return []Need{{Kind: Write, Target: q.Path}} }), Write).of(Static{Write, "path"}),
		effect.KindCopyFile: onFile(needsPath(func(q *effect.CopyFile) []Need {
			return []Need{{Kind: Read, Target: q.From}, {Kind: Write, Target: q.Path}}
		}), Read, Write).of(Static{Read, "from"}, Static{Write, "to"}),
		// Moving makes the file readable at its new path.
		effect.KindMoveFile: onFile(needsPath(func(q *effect.MoveFile) []Need {
			return []Need{{Kind: Read, Target: q.From, Link: true}, {Kind: Write, Target: q.From, Link: true}, {Kind: Write, Target: q.Path, Link: true}}
		}), Read, Write).of(Static{Read, "from"}, Static{Write, "from"}, Static{Write, "to"}),
		effect.KindGlob:       onFile(needsPath(func(q *effect.Glob) []Need { return []Need{{Kind: Read, Target: PatternDir(q.Pattern)}} }), Read).of(Static{Read, "pattern"}),
		effect.KindWalk:       onFile(needsPath(func(q *effect.Walk) []Need { return []Need{{Kind: Read, Target: q.Path}} }), Read).of(Static{Read, "path"}),
		effect.KindAttachFile: onFile(needsPath(func(q *effect.AttachFile) []Need { return []Need{{Kind: Read, Target: q.Path}} }), Read).byDeclaration(), // of the agent, or the call of with_files
		// The manifest grants the temporary directory to every program.
		effect.KindTempDir: onFile(func(*Policy, effect.Request) []Need {
			return []Need{{Kind: Write, Target: os.TempDir(), Declared: true}}
		}, Write).byDeclaration(),

		effect.KindStoreRead: onStore().byDeclaration(), effect.KindStoreWrite: onStore().byDeclaration(), effect.KindStoreAdd: onStore().byDeclaration(), effect.KindStoreDelete: onStore().byDeclaration(),
		effect.KindStoreList: onStore().byDeclaration(), effect.KindStoreLen: onStore().byDeclaration(), effect.KindStoreClear: onStore().byDeclaration(), effect.KindStoreExpire: onStore().byDeclaration(),
		effect.KindLedgerPut: onStore().byDeclaration(), effect.KindLedgerDelete: onStore().byDeclaration(), effect.KindLedgerFind: onStore().byDeclaration(),
		effect.KindMemoryAppend: onStore().byDeclaration(), effect.KindMemoryList: onStore().byDeclaration(),
		effect.KindQueueAdd: onStore().byDeclaration(), effect.KindQueueClaim: onStore().byDeclaration(), effect.KindQueueUpdate: onStore().byDeclaration(), effect.KindQueueGet: onStore().byDeclaration(), effect.KindQueueWait: onStore().byDeclaration(),

		effect.KindHTTP:     {kinds: []Kind{Net}, needs: needsAddress, refused: httpRefused, static: []Static{{Net, "url"}}},
		effect.KindWorkOpen: onWorkspace().of(Static{Run, ""}), effect.KindWorkList: onWorkspace().of(Static{Run, ""}), effect.KindWorkDiff: onWorkspace().of(Static{Run, ""}), effect.KindWorkCommit: onWorkspace().of(Static{Run, ""}), effect.KindWorkRemove: onWorkspace().of(Static{Run, ""}),
		effect.KindMergeFind: {free: inner}, effect.KindMergeFinish: {free: inner},
		effect.KindMergeSubmit: onWorkspace().of(Static{Run, ""}), effect.KindMergeList: onWorkspace().of(Static{Run, ""}),
		effect.KindMergeOpen: {kinds: []Kind{Run}, static: []Static{{Run, ""}}, refused: workRefused, needs: func(p *Policy, r effect.Request) []Need {
			return append(p.config.Workspaces.needs(p), p.config.Workspaces.needsOf(p, r.(*effect.MergeOpen))...)
		}},
		effect.KindMergeNext: {free: goes}, effect.KindMergeReply: {free: goes}, effect.KindMergeClose: {free: goes},
		effect.KindWorkRun: {kinds: []Kind{Run}, static: []Static{{Run, ""}}, refused: workRefused, needs: func(p *Policy, r effect.Request) []Need {
			if command := r.(*effect.WorkRun).Command; len(command) > 0 {
				return append(p.config.Workspaces.needs(p), Need{Kind: Run, Target: command[0], Base: p.config.Dir})
			}
			return nil // the performer refuses the request
		}},
		effect.KindCommand: {kinds: []Kind{Run}, needs: needsCommand, refused: commandRefused, static: []Static{{Run, "command"}}},
		effect.KindEnv:     {kinds: []Kind{Env}, needs: needsVariable, refused: envRefused, static: []Static{{Env, "name"}}},
		effect.KindEnvAll: {kinds: []Kind{Env}, static: []Static{{Env, ""}}, needs: func(*Policy, effect.Request) []Need { return nil },
			refused: envRefused, filter: permittedVariables},

		effect.KindAgentCall:  {kinds: []Kind{Net, Env}, needs: needsModel, refused: modelRefused, declared: true},
		effect.KindStreamOpen: {kinds: []Kind{Net, Env}, needs: needsModel, refused: modelRefused, declared: true},
		effect.KindStep:       {free: inner},
		effect.KindStreamNext: {free: goes}, effect.KindStreamClose: {free: goes},

		effect.KindExchangeOpen: {kinds: []Kind{Host}, needs: needsHost, refused: hostRefused, declared: true},
		effect.KindExchangeNext: {free: goes}, effect.KindExchangeReply: {free: goes}, effect.KindExchangeSteer: {free: goes}, effect.KindExchangeContinue: {free: goes}, effect.KindHostTasks: {free: goes}, effect.KindExchangeClose: {free: goes},
		// The manifest has declared the commands of a gate.
		effect.KindExchangeGate: {kinds: []Kind{Run}, needs: needsGate, refused: hostRefused, declared: true},

		effect.KindMCPOpen: {kinds: []Kind{Run, Net, Env}, needs: needsServer, refused: serverRefused, declared: true},
		effect.KindMCPNext: {free: goes}, effect.KindMCPReply: {free: goes}, effect.KindMCPChanged: {free: goes},

		effect.KindEmit: {free: ours}, effect.KindAwaitEmit: {free: ours}, effect.KindAskHost: {free: ours}, effect.KindInput: {free: ours}, effect.KindPrint: {free: ours}, effect.KindLog: {free: ours},
		effect.KindArgs: {free: ours}, effect.KindSession: {free: ours}, effect.KindContinue: {free: ours}, effect.KindAppList: {free: ours}, effect.KindAppPrepare: {free: ours}, effect.KindAppDecide: {free: ours}, effect.KindAppCall: {free: ours},
		effect.KindAppLeave: {free: ours}, effect.KindAuditCall: {free: ours}, effect.KindAuditDone: {free: ours},

		effect.KindSleep: {free: inner}, effect.KindClock: {free: inner}, effect.KindZone: {free: inner},
		effect.KindRandom: {free: inner}, effect.KindRandomSeed: {free: inner}, effect.KindSecret: {free: inner},

		effect.KindMockScript: {free: tests}, effect.KindMockNext: {free: tests}, effect.KindMockAnswer: {free: tests}, effect.KindMockEnv: {free: tests},
		effect.KindMockArgs: {free: tests}, effect.KindMockInput: {free: tests}, effect.KindMockTime: {free: tests}, effect.KindMockHTTP: {free: tests}, effect.KindMockFile: {free: tests},
		effect.KindMockCommand: {free: tests}, effect.KindAppMock: {free: tests}, effect.KindRecord: {free: tests},
	}
})

// Needs returns the kinds of permission that requests of kind k may need.
func Needs(k effect.Kind) []Kind {
	if w := rows()[k]; w != nil {
		return w.kinds
	}
	return nil
}

// Effects returns the kinds of requests that need a permission, in order.
func Effects() []effect.Kind {
	var out []effect.Kind
	for k, w := range rows() {
		if w.free == "" {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func onFile(needs func(*Policy, effect.Request) []Need, kinds ...Kind) *row {
	return &row{kinds: kinds, needs: needs, refused: func(_ effect.Request, n Need, text string) *effect.Error {
		return effect.Errorf("FsError", "%s", text).With("path", n.Target)
	}}
}

// needsPath returns the needs of a request whose paths the program has chosen.
func needsPath[R effect.Request](needs func(R) []Need) func(*Policy, effect.Request) []Need {
	return func(p *Policy, r effect.Request) []Need {
		all := needs(r.(R))
		for i := range all {
			all[i].Base = p.config.Dir
		}
		return all
	}
}

// PatternDir returns the longest directory at the beginning of a pattern that contains no wildcard:
// "." if there is none, and the whole pattern if it has no wildcard.
func PatternDir(pattern string) string {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return pattern
	}
	cut := strings.LastIndexByte(pattern[:strings.IndexAny(pattern, `*?[\`)], '/')
	switch {
	case cut > 0:
		return pattern[:cut]
	case cut == 0:
		return "/"
	}
	return "."
}

// onStore returns the row for requests to a store in a file. Each such request may read and write
// the file.
func onStore() *row {
	return &row{kinds: []Kind{Read, Write},
		needs: func(p *Policy, r effect.Request) []Need {
			if p.config.StoresInMemory {
				return nil
			}
			at := r.(interface{ At() *effect.Store }).At()
			if at.File == "" { // a queue in memory
				return nil
			}
			n := Need{Kind: Read, Target: at.File, Base: p.config.Root}
			w := n
			w.Kind = Write
			return []Need{n, w}
		},
		refused: func(r effect.Request, n Need, text string) *effect.Error {
			at := r.(interface{ At() *effect.Store }).At()
			if rest, ok := strings.CutPrefix(text, n.Target+" "); ok {
				text = "that " + rest
			}
			return effect.StoreError(at, "cannot use %s: %s", at.File, text)
		}}
}

func needsAddress(_ *Policy, r effect.Request) []Need {
	if host := hostOf(r.(*effect.HTTP).URL); host != "" {
		return []Need{{Kind: Net, Target: host}}
	}
	return nil // the performer refuses the request
}

func httpRefused(r effect.Request, _ Need, text string) *effect.Error {
	q := r.(*effect.HTTP)
	at := q.URL
	if u, err := url.Parse(at); err == nil && u.User != nil {
		at = u.Redacted()
	}
	return effect.Errorf("HttpError", "%s %s: %s", q.Method, at, text).With("url", at)
}

func needsCommand(p *Policy, r effect.Request) []Need {
	return []Need{{Kind: Run, Target: r.(*effect.Command).Command, Base: p.config.Dir}}
}

func commandRefused(_ effect.Request, _ Need, text string) *effect.Error {
	return effect.Errorf("ToolError", "%s", text).With("tool", "RunCommand")
}

// Workspaces contains the commands that workspaces start, and a function for those that a merge
// starts in addition. Declared means that the manifest grants them.
type Workspaces struct {
	Commands []string
	OfMerge  func(r *effect.MergeOpen) []string
	Declared bool
}

func (w *Workspaces) needs(p *Policy) []Need { return w.toRun(p, w.Commands, w.Declared) }

// needsOf returns the needs of the commands of a merge. The manifest has declared them.
func (w *Workspaces) needsOf(p *Policy, r *effect.MergeOpen) []Need {
	return w.toRun(p, w.OfMerge(r), true)
}

func (w *Workspaces) toRun(p *Policy, commands []string, declared bool) []Need {
	var out []Need
	for _, command := range commands {
		out = append(out, Need{Kind: Run, Target: command, Base: p.config.Root, Declared: declared})
	}
	return out
}

// onWorkspace returns the row for requests that use workspaces.
func onWorkspace() *row {
	return &row{kinds: []Kind{Run}, needs: func(p *Policy, _ effect.Request) []Need { return p.config.Workspaces.needs(p) }, refused: workRefused}
}

func workRefused(_ effect.Request, _ Need, text string) *effect.Error {
	return effect.Errorf("GitError", "%s", text).With("code", "permission")
}

func needsVariable(_ *Policy, r effect.Request) []Need {
	return []Need{{Kind: Env, Target: r.(*effect.Env).Name}}
}

func envRefused(_ effect.Request, n Need, text string) *effect.Error {
	return effect.Errorf("EnvError", "%s", text).With("name", n.Target)
}

func permittedVariables(p *Policy, r effect.Result) effect.Result {
	all, ok := r.(*effect.EnvVariables)
	if !ok {
		return r
	}
	out := &effect.EnvVariables{}
	for i, name := range all.Names {
		n := Need{Kind: Env, Target: name}
		if p.allows(&p.manifest, n) && p.callersAllow(n) {
			out.Names, out.Values = append(out.Names, name), append(out.Values, all.Values[i])
		}
	}
	return out
}

// callOf returns the model call of a request.
func callOf(r effect.Request) *effect.AgentCall {
	if s, ok := r.(*effect.StreamOpen); ok {
		return &s.AgentCall
	}
	return r.(*effect.AgentCall)
}

func needsModel(p *Policy, r effect.Request) []Need {
	return p.reach(p.config.Connections[callOf(r).Connection])
}

// reach returns the needs of the resources that a section of the manifest names. The manifest
// grants them.
func (p *Policy) reach(x Reach) []Need {
	var out []Need
	if x.Command != "" {
		out = append(out, Need{Kind: Run, Target: x.Command, Base: p.config.Root, Declared: true})
	}
	if host := hostOf(x.Address); host != "" {
		out = append(out, Need{Kind: Net, Target: host, Declared: true})
	}
	for _, name := range x.Env {
		out = append(out, Need{Kind: Env, Target: name, Declared: true})
	}
	return out
}

// RefuseConnection returns the reason why the connection of this name may not be used, or "".
func (p *Policy) RefuseConnection(name string) string {
	q := &effect.AgentCall{Connection: name}
	if err := p.checkRequest(&row{needs: needsModel, refused: envRefused}, q); err != nil {
		return err.Error()
	}
	return ""
}

func modelRefused(r effect.Request, _ Need, text string) *effect.Error {
	q := callOf(r)
	return effect.Errorf("AgentError", "agent '%s' (connection '%s'): %s", q.Agent, q.Connection, text).
		With("provider", q.Connection).With("model", q.Model).With("retryable", false).With("reason", "permission")
}

func needsHost(_ *Policy, r effect.Request) []Need {
	return []Need{{Kind: Host, Target: r.(*effect.ExchangeOpen).Host, Declared: true}}
}

func hostRefused(_ effect.Request, n Need, text string) *effect.Error {
	return effect.Errorf("HostError", "%s", text).With("host", n.Target).With("recoverable", false)
}

func needsGate(p *Policy, r effect.Request) []Need {
	if command := r.(*effect.ExchangeGate).Command; len(command) > 0 {
		return []Need{{Kind: Run, Target: command[0], Base: p.config.Root, Declared: true}}
	}
	return nil // it only reads the tree
}

func needsServer(p *Policy, r effect.Request) []Need {
	return p.reach(p.config.Servers[r.(*effect.MCPOpen).Server])
}

func serverRefused(r effect.Request, _ Need, text string) *effect.Error {
	q := r.(*effect.MCPOpen)
	return effect.Errorf("ToolError", "mcp server '%s': %s", q.Server, text).With("tool", q.Server+"."+q.Function())
}
