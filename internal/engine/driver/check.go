package driver

import (
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/codegen"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/compile/prefix"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// Parse parses the entry file.
func Parse(in *Input) (*ast.File, diag.List) { return in.parseFile(in.Entry) }

func (in *Input) parseFile(f *source.File) (*ast.File, diag.List) {
	if in.sources != nil {
		return in.sources.Parse(f)
	}
	return parser.Parse(f)
}

// mostVerified is the maximum number of lines of a program that Check also generates and verifies.
// This reports code that the VM cannot run before the program starts. Generating and verifying
// takes 70% of the time of checking, so a longer program is verified only when it is built or run.
const mostVerified = 2000

// Check parses and checks a program, and verifies its generated code if the program is not too
// long. The list contains all findings, the manifest's first. After a syntax error it omits the
// findings that the repair of that error would remove.
func Check(in *Input) diag.List {
	_, l := CheckProgram(in, nil)
	return l
}

// CheckEntry is like Check, and also warns if main is missing. Use it for a file that is about to
// be run.
func CheckEntry(in *Input) diag.List {
	p, l := CheckProgram(in, nil)
	return in.WithMain(p, l)
}

// WithMain adds the warning of CheckEntry to the diagnostics of a checked program.
func (in *Input) WithMain(p *sema.Program, l diag.List) diag.List {
	in.needsMain(p, &l)
	return in.applyLints(l)
}

// needsMain adds a warning if the entry file has neither main nor any other declaration that could
// be used.
func (in *Input) needsMain(p *sema.Program, l *diag.List) {
	if p == nil || p.Main != nil || l.HasErrors() || len(p.Files) == 0 || len(p.Tools) > 0 {
		return
	}
	project := in.Manifest != nil && in.Manifest.Project.Entry != "" && path.Clean(in.Manifest.Project.Entry) == in.EntryName
	if !project && path.Base(in.EntryName) != "main"+SourceExt {
		return
	}
	decls := p.Files[0].File.Decls
	var names []string
	for _, d := range decls {
		h := d.Head()
		if h.Pub || slices.ContainsFunc(h.Decorators, func(x *ast.Decorator) bool {
			return x.Name.Name == "test" || x.Name.Name == "eval" || x.Name.Name == "guard"
		}) {
			return
		}
		if fn, ok := d.(*ast.FnDecl); ok {
			names = append(names, fn.Name.Name)
		}
	}
	if len(decls) == 0 {
		return
	}
	d := diag.NoMain.At(source.Span{}, "the program has no function `main`, so it cannot be run").In(in.Entry)
	if near := suggest.Nearest("main", names); near != "" {
		for _, x := range decls {
			if fn, ok := x.(*ast.FnDecl); ok && fn.Name.Name == near {
				d.Span = fn.Name.Sp
				d.Repair(diag.Change(fn.Name.Sp, "main", "main", false), "rename `%s` to `main`", near)
			}
		}
	} else {
		end := decls[len(decls)-1].Span().End
		d.Span = source.Span{Start: end, End: end}
		d.Repair(diag.UnsafeFix(diag.Insert(end, "\n\nfn main() {\n}"), "Add `main`"), "a run begins with `fn main() { … }`")
	}
	l.Add(d)
}

// needsGuard adds an error if the manifest names the program as that of the guard, and it has no
// @guard function.
func (in *Input) needsGuard(p *sema.Program, l *diag.List) {
	if p == nil || p.Guard != nil || l.HasErrors() || in.Manifest == nil || in.Manifest.Guard == nil {
		return
	}
	if name := in.Manifest.Guard.Program(); name == "" || path.Clean(name) != in.EntryName {
		return
	}
	l.Add(diag.GuardMissing.At(source.Span{}, "no function decides about calls, although `guard.program` names this program").In(in.Entry).
		Hint("declare one: `@guard fn review(a: HostApproval) -> decide::Decision { decide::pass() }`"))
}

// Analyse parses and checks a program without generating its code. It returns the checked program,
// even if the program has errors. The program is nil if there is no entry, or if checking was
// stopped. The checker calls stopped, if not nil, between declarations and statements, and stops
// when it returns true; the list is then incomplete. If the request has a Previous, Analyse reuses
// its results in a program of any length.
func Analyse(in *Input, stopped func() bool) (*sema.Program, diag.List) {
	in.checks.withTests = true
	checked, l := in.checkEntry(sema.NoLibraryBodies, stopped)
	in.storeResults(checked)
	return checked, in.applyLints(l)
}

// GeneratesCode reports whether Check generates the code of a checked program if the program has no
// errors.
func GeneratesCode(p *sema.Program) bool { return p.OwnLines() <= mostVerified }

// CheckProgram is like Check, and returns and accepts the same as Analyse.
func CheckProgram(in *Input, stopped func() bool) (*sema.Program, diag.List) {
	in.checks.withTests = true
	most := mostVerified
	if in.needsProof() {
		most = 0 // a proof needs the bodies of library functions
	}
	checked, l := in.checkEntry(most, stopped)
	in.storeResults(checked)
	sound := checked != nil && !l.HasErrors() && !checked.Partial
	l = in.applyLints(l)
	if !sound {
		return checked, l
	}
	p, found := codegen.Generate(checked, in.embedded())
	l.Append(found)
	if !found.HasErrors() {
		in.mustVerify(p)
	}
	return checked, l
}

// sound returns the checked program for code generation, or nil if it has errors. If the results of
// an earlier check are available, sound first checks only the changed parts for errors. Code
// generation needs the tables of all function bodies, so sound checks the whole program again if
// there were no errors.
func (in *Input) sound() (*sema.Program, diag.List) {
	most := 0
	if in.previous != nil {
		most = mostVerified
	}
	p, l := in.checkEntry(most, in.checks.stopped)
	in.storeResults(p)
	if p != nil && p.Partial && !l.HasErrors() {
		p, l = in.checkEntry(0, in.checks.stopped)
	}
	l = in.applyLints(l)
	if l.HasErrors() {
		p = nil
	}
	return p, l
}

// earlier returns the results for function bodies of the previous check, or nil if the request has
// no Previous.
func (in *Input) earlier() *sema.Bodies {
	switch {
	case in.previous == nil:
		return nil
	case in.previous.Bodies == nil:
		return &sema.Bodies{}
	}
	return in.previous.Bodies
}

// storeResults stores the results for function bodies in the request's Previous.
func (in *Input) storeResults(p *sema.Program) {
	if p != nil && in.previous != nil {
		in.previous.Bodies = p.Bodies()
	}
}

// applyLints returns a list without the warnings that the manifest allows, in which the warnings
// that the manifest or the request denies are errors.
func (in *Input) applyLints(l diag.List) diag.List {
	var lints manifest.Lints
	if in.Manifest != nil {
		lints = in.Manifest.Lints
	}
	l = l.Without(lints.Allow)
	l.Deny(lints.Deny, in.checks.denies)
	return l
}

// checkEntry checks the program and returns its findings. most limits the number of lines for which
// the results of an earlier check are reused; see sema.Config.
func (in *Input) checkEntry(most int, stopped func() bool) (*sema.Program, diag.List) {
	var l diag.List
	l.Append(in.Diagnostics)
	if in.Entry == nil {
		return nil, l
	}
	file, found := in.parseFile(in.Entry)
	l.Append(found)
	dir, mods := path.Dir(in.EntryName), newModuleLoader(in, nil)
	mods.ahead(dir, file.Decls)
	packages, deps, found := in.semaPackages()
	in.checkedPackages = packages
	l.Append(found)
	var tests func(file string) []string
	if in.checks.withTests {
		tests = in.testFiles
	}
	p, found := sema.Check(sema.Config{
		TestFiles: tests,
		Packages:  packages, Deps: deps, FindPackage: in.findPackage,
		Name: in.programName(), Library: stdlib.Library(), Manifest: in.universe(),
		Dir: dir, Open: mods.openModule, LibraryBodiesUpToLines: most, Tests: in.checks.tests, Evals: in.checks.evals, AnyConnection: in.mock || in.allowsAnyParty(), AnyHost: in.allowsAnyParty(),
		Stopped: stopped, Bodies: in.earlier(), Line: in.line,
	}, file)
	l.Append(found)
	if p != nil && !l.HasErrors() {
		l.Append(prefix.Check(p, in.caches(p)))
	}
	if p != nil && !l.HasErrors() && !in.mock {
		in.reportMissingKeys(p, &l)
		in.reportMissingPrices(p, &l)
	}
	if p != nil && !l.HasErrors() && !p.Partial && in.needsProof() {
		in.provePermissions(p, &l)
	}
	in.needsGuard(p, &l)
	if p != nil && in.data != nil {
		in.data(p, in.readData, &l)
	}
	l.Merge()
	return p, l
}

// allowsAnyParty reports whether the program may use connections and hosts of any name.
func (in *Input) allowsAnyParty() bool { return in.checks.anyParty && in.Manifest == nil }

// testFiles returns the files with the tests of a file of the program: NAME_test.conc next to
// NAME.conc. The entry file of a project also has those without a NAME.conc. Names are relative to
// the root.
func (in *Input) testFiles(file string) (names []string) {
	isEntry := file == ""
	if isEntry {
		file = in.EntryName
	}
	absolute := func(name string) string { return filepath.Join(in.Root, filepath.FromSlash(name)) }
	own := strings.TrimSuffix(file, SourceExt) + testSuffix
	if in.isFile(absolute(own)) {
		names = append(names, own)
	}
	project := in.Manifest != nil && in.Manifest.Project.Entry != "" && path.Clean(in.Manifest.Project.Entry) == in.EntryName
	if !isEntry || !project && path.Base(file) != "main"+SourceExt {
		return names
	}
	dir := filepath.Dir(absolute(file))
	entries, err := os.ReadDir(dir)
	if err != nil {
		in.reads.add(readNames, dir, "")
		return names // the files are not on disk
	}
	in.reads.add(readNames, dir, hashOfNames(entries))
	for _, e := range entries {
		name := path.Join(path.Dir(file), e.Name())
		if stem, isTest := strings.CutSuffix(name, testSuffix); isTest && name != own && !in.isFile(absolute(stem+SourceExt)) {
			names = append(names, name)
		}
	}
	return names
}

// readData reads a dataset that a source file names.
func (in *Input) readData(from *source.File, name string) (*source.File, error) {
	name = filepath.FromSlash(name)
	if !filepath.IsAbs(name) {
		file := from.Name
		if rel, ok := in.names[file]; ok {
			file = rel
		}
		name = filepath.Join(in.Root, filepath.Dir(filepath.FromSlash(file)), name)
	}
	return in.readFile(name)
}

// caches returns a function that reports whether the provider of an agent's model has a cache, and
// the connection uses it.
func (in *Input) caches(p *sema.Program) func(*sema.Agent) bool {
	own := map[*sema.Agent]bool{}
	for _, u := range slices.Backward(in.ModelUses(p)) { // so that the connection replaces its fallbacks
		own[u.Agent] = u.Section.Cache != models.CacheOff && u.Row().Caches()
	}
	return func(a *sema.Agent) bool { return own[a] }
}

// programName returns the project's name, or the name of the entry file if there is no project.
func (in *Input) programName() string {
	if in.Manifest != nil && in.Manifest.Project.Name != "" {
		return in.Manifest.Project.Name
	}
	return strings.TrimSuffix(path.Base(in.EntryName), SourceExt)
}

// unread reports whether a manifest has a syntax error or an unknown key. Sections and keys that
// seem to be missing may then exist.
func unread(found diag.List) bool {
	for _, d := range found.Sorted() {
		if d.Info == diag.ManifestSyntax {
			return true
		}
	}
	return false
}

// universe returns the parts of the manifest that the checker uses, or nil without a manifest.
func (in *Input) universe() *sema.Manifest {
	m := in.Manifest
	if m == nil {
		return nil
	}
	u := &sema.Manifest{
		File:        m.File.Name,
		Source:      m.File,
		Unread:      unread(in.Diagnostics) || m.Nameless || in.isLenient,
		Connections: map[string]sema.ManifestConnection{manifest.Builtin: {DefaultModel: "scripted"}},
		Hosts:       map[string]sema.ManifestHost{},
		Mcp:         map[string]bool{},
	}
	for _, c := range m.Connections {
		u.Connections[c.Name] = connectionOf(c)
	}
	for _, h := range m.Hosts {
		u.Hosts[h.Name] = hostSection(h, m.Workspace.Config)
	}
	for _, s := range m.MCP {
		u.Mcp[s.Name] = true
	}
	return u
}

// connectionOf returns the parts of a connection that the checker uses.
func connectionOf(c *manifest.Connection) sema.ManifestConnection {
	conn := sema.ManifestConnection{DefaultModel: c.DefaultModel, Aliases: c.Models, Fallback: c.Fallback, Endpoint: c.Endpoint()}
	if c.Provider == "scripted" && c.DefaultModel == "" {
		conn.DefaultModel = "scripted" // a script ignores the model
	}
	return conn
}

// hostSection returns the parts of a host's section that the checker uses. workspace is
// [workspace].
func hostSection(h *manifest.Host, workspace json.RawMessage) sema.ManifestHost {
	var params map[string]json.RawMessage
	var decl struct {
		OutputFormat string   `json:"output_format"`
		MessageTypes []string `json:"message_types"`
		Assumed      []string `json:"assumed"`
		Background   string   `json:"background"`
		gateKeys
	}
	if err := errors.Join(json.Unmarshal(h.Config, &params), json.Unmarshal(h.Config, &decl)); err != nil {
		panic("driver: the section of host " + h.Name + ": " + err.Error())
	}
	out := sema.ManifestHost{OutputFormat: decl.OutputFormat, MessageTypes: decl.MessageTypes, Assumed: decl.Assumed, Found: map[string]bool{},
		Gate: len(decl.or(workspace).Gate) > 0, Detaches: decl.Background == "detach"}
	for key := range params {
		out.Found[key] = true
	}
	return out
}

// MessageTypes returns the message types that a host sends according to its section of the
// manifest.
func (in *Input) MessageTypes(section string) []string {
	if in.Manifest == nil {
		return nil
	}
	for _, h := range in.Manifest.Hosts {
		if h.Name == section {
			return hostSection(h, nil).MessageTypes
		}
	}
	return nil
}
