package release

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options are the settings of `make release`. Empty texts select the defaults.
type Options struct {
	Root       string // directory of the repository
	Out        string // directory of the release, relative to Root; by default bin/release
	Version    string // by default the tag of the commit
	BaseURL    string // address from which the installers download by default
	Targets    string // as OS/ARCH, separated by spaces; by default all
	Sign       string // command that is run with the path of SHA256SUMS and writes its signature
	Dirty      bool   // permit sources that differ from the commit
	Playground string // directory of the built playground; by default it is built
	Epoch      string // SOURCE_DATE_EPOCH: the time of the files in archives, in seconds; by default that of the commit
	Log        io.Writer
}

// Environment returns the options that the variables of `make release` set. root is the directory
// of the repository.
func Environment(root string, log io.Writer) Options {
	return Options{Root: root, Out: os.Getenv("OUT"), Version: os.Getenv("VERSION"), BaseURL: os.Getenv("BASE_URL"), Targets: os.Getenv("TARGETS"),
		Sign: os.Getenv("SIGN"), Dirty: os.Getenv("DIRTY") == "1", Playground: os.Getenv("PLAYGROUND"), Epoch: os.Getenv("SOURCE_DATE_EPOCH"), Log: log}
}

// RefusedError is an error in the options or in their surroundings. Nothing was built.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// stagingMark follows the name of the release in the name of the directory in which it is built.
const stagingMark = ".new-"

// release is a release that is being built.
type release struct {
	version string
	commit  string
	date    time.Time // of the commit
	dirty   bool      // the sources differ from the commit

	modified time.Time // of all files in archives
	base     string    // address of the archives
	sign     string
	targets  []Target

	source string   // directory with the sources
	work   string   // directory for temporary files
	out    string   // directory of the release until it is complete
	env    []string // of commands that build

	common     []entry // files that the archives of all targets contain
	pageDir    string  // built playground, or empty
	playground []entry
	licence    entry // of the project

	list []File            // written files
	sums map[string]string // their hashes, by name
	mu   sync.Mutex        // protects list and sums
	log  io.Writer
}

// parts are what formats need of a target.
type parts struct {
	target     Target
	programs   []entry
	licences   []entry
	components []*component
}

// Make builds a release. The directory of the release is complete when Make returns, and unchanged
// if it fails. A RefusedError means that nothing was built.
func Make(ctx context.Context, o Options) (err error) {
	r, repository, out, err := prepare(o)
	if err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "concerto-release"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	if r.out, err = os.MkdirTemp(filepath.Dir(out), filepath.Base(out)+stagingMark); err != nil {
		return refuse("create the release next to %s: %v", out, err)
	}
	defer os.RemoveAll(r.out)
	if err := os.Chmod(r.out, 0o755); err != nil {
		return err
	}
	if err := r.build(ctx, repository); err != nil {
		return err
	}
	return replace(out, r.out)
}

// prepare checks the options and the repository, and returns the absolute path of the release.
func prepare(o Options) (*release, *repository, string, error) {
	out := o.Out
	if out == "" {
		out = filepath.Join("bin", "release")
	}
	if !filepath.IsAbs(out) {
		out = filepath.Join(o.Root, out)
	}
	out = filepath.Clean(out)
	selected, err := targets(o.Targets)
	if err != nil {
		return nil, nil, "", err
	}
	if err := checkBase(o.BaseURL); err != nil {
		return nil, nil, "", err
	}
	repository, err := openRepository(o.Root, out)
	if err != nil {
		return nil, nil, "", err
	}
	if repository.dirty && !o.Dirty {
		return nil, nil, "", refuse("the working tree has uncommitted changes: commit them, or build with DIRTY=1, which marks the version %s", dirtyMark)
	}
	version, err := versionOf(o.Version, repository.tags, repository.commit, repository.dirty)
	if err != nil {
		return nil, nil, "", err
	}
	r := &release{version: version, commit: repository.commit, date: repository.date, dirty: repository.dirty, modified: repository.date,
		base: strings.TrimRight(o.BaseURL, "/"), sign: o.Sign, targets: selected, sums: map[string]string{}, log: o.Log}
	if r.log == nil {
		r.log = io.Discard
	}
	if o.Epoch != "" {
		seconds, err := strconv.ParseInt(o.Epoch, 10, 64)
		if err != nil || seconds < 0 {
			return nil, nil, "", refuse("SOURCE_DATE_EPOCH=%s is not a number of seconds", o.Epoch)
		}
		r.modified = time.Unix(seconds, 0).UTC()
	}
	if o.Playground != "" {
		if r.pageDir = o.Playground; !filepath.IsAbs(r.pageDir) {
			r.pageDir = filepath.Join(o.Root, r.pageDir)
		}
		if _, err := os.Stat(filepath.Join(r.pageDir, "index.html")); err != nil {
			return nil, nil, "", refuse("PLAYGROUND=%s has no index.html: `make playground OUT=%[1]s` builds it", o.Playground)
		}
	}
	if err := checkOut(out, len(selected)); err != nil {
		return nil, nil, "", err
	}
	return r, repository, out, nil
}

// checkBase checks the default address of the installers.
func checkBase(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	switch {
	case err != nil, u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "", strings.ContainsAny(base, "'\"`$\\ \t\n@"):
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http":
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
			return nil
		}
	}
	return refuse("BASE_URL=%s is not an https address", base)
}

// Estimated sizes of what a release writes next to its directory and in the directory for temporary
// files.
const (
	spaceForTarget    = 90 << 20
	workForTarget     = 130 << 20
	workForAllTargets = 300 << 20
)

// checkOut checks that the release can be written to out: out is new, empty or an earlier release,
// and there is space for it.
func checkOut(out string, targets int) error {
	entries, err := os.ReadDir(out)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return refuse("OUT cannot be used: %v", err)
	case len(entries) > 0 && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == listFile }):
		return refuse("%s has other files than a release: choose another OUT", out)
	}
	parent := filepath.Dir(out)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return refuse("OUT cannot be created: %v", err)
	}
	for _, place := range []struct {
		dir  string
		need uint64
	}{{parent, spaceForTarget * uint64(targets)}, {os.TempDir(), workForAllTargets + workForTarget*uint64(targets)}} {
		if free, ok := freeSpace(place.dir); ok && free < place.need {
			return refuse("%s has %d MB of free space: this release requires %d MB there", place.dir, free>>20, place.need>>20)
		}
	}
	return nil
}

// build writes all files of the release into r.out.
func (r *release) build(ctx context.Context, repository *repository) error {
	r.source = filepath.Join(r.work, "source")
	if err := os.Mkdir(r.source, 0o777); err != nil {
		return err
	}
	if err := repository.export(r.source); err != nil {
		return err
	}
	var err error
	if r.env, err = buildEnvironment(ctx, r.source); err != nil {
		return err
	}
	if err := r.prepareCommon(ctx); err != nil {
		return err
	}
	web, err := webComponents(os.DirFS(r.source))
	if err != nil {
		return err
	}
	// While the archives of a target are compressed, the next target is compiled.
	var packing sync.WaitGroup
	failures := make(chan error, len(r.targets))
	for _, t := range r.targets {
		fmt.Fprintf(r.log, "building %s for %s\n", r.version, t)
		p, err := r.prepareTarget(ctx, t, web)
		if err != nil {
			packing.Wait()
			return fmt.Errorf("%s: %w", t, err)
		}
		packing.Wait() // one target at a time, which limits the memory
		packing.Go(func() {
			if err := r.writeFormats(p); err != nil {
				failures <- fmt.Errorf("%s: %w", t, err)
			}
			_ = os.RemoveAll(filepath.Join(r.work, r.folder(t))) // Make removes what stays
		})
	}
	packing.Wait()
	select {
	case err := <-failures:
		return err
	default:
	}
	if err := r.writeFormats(nil); err != nil {
		return err
	}
	return r.writeList()
}

// writeFormats writes the files of a target or, if p is nil, those for all targets.
func (r *release) writeFormats(p *parts) error {
	for _, f := range formats {
		if f.once != (p == nil) {
			continue
		}
		file := File{Kind: f.kind, OS: f.os}
		var t Target
		if p != nil {
			t, file.OS, file.Arch = p.target, p.target.OS, p.target.Arch
		}
		file.Name = f.name(r, t)
		if err := f.write(r, p, r.path(file.Name)); err != nil {
			return fmt.Errorf("write %s: %w", file.Name, err)
		}
		if err := r.record(file); err != nil {
			return err
		}
		if f.kind == checksumsKind {
			if err := r.writeSignature(); err != nil {
				return err
			}
		}
	}
	return nil
}

// path returns the path of a file of the release.
func (r *release) path(name string) string { return filepath.Join(r.out, filepath.FromSlash(name)) }

// record adds a written file to the list.
func (r *release) record(file File) error {
	f, err := os.Open(r.path(file.Name))
	if err != nil {
		return err
	}
	defer f.Close()
	hash := sha256.New()
	if file.Size, err = io.Copy(hash, f); err != nil {
		return err
	}
	file.SHA256 = hex.EncodeToString(hash.Sum(nil))
	if err := os.Chmod(r.path(file.Name), fileMode); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list, r.sums[file.Name] = append(r.list, file), file.SHA256
	return nil
}

func (r *release) writeArchive(p *parts, file string) error {
	entries := slices.Concat(p.programs, p.licences, r.common, r.playground, []entry{r.licence, {name: "README.md", data: r.readme(p.target)}})
	entries = below(r.folder(p.target), entries)
	if p.target.OS == "windows" {
		return writeZip(file, entries, r.modified)
	}
	return writeTar(file, entries, r.modified, true)
}

// readme returns the README.md of the archive of a target.
func (r *release) readme(t Target) []byte {
	return fill("README.md", "VERSION", r.version, "CONCERTO", t.exe("concerto"), "RELAY", t.exe("concerto-relay"))
}

// prepareTarget builds the programs of a target and lists their components.
func (r *release) prepareTarget(ctx context.Context, t Target, web []*component) (*parts, error) {
	dir := filepath.Join(r.work, r.folder(t))
	if err := r.compile(ctx, t, dir); err != nil {
		return nil, err
	}
	linked, goVersion, err := modules(t, dir)
	if err != nil {
		return nil, err
	}
	packages, err := r.linkedPackages(ctx, t)
	if err != nil {
		return nil, err
	}
	goRoot, err := r.run(ctx, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	components, err := goComponents(linked, packages, strings.TrimSpace(string(goRoot)), goVersion)
	if err != nil {
		return nil, err
	}
	p := &parts{target: t, components: slices.Concat(components, web)}
	for _, program := range Programs {
		p.programs = append(p.programs, entry{name: t.exe(program), executable: true, from: filepath.Join(dir, t.exe(program))})
	}
	for _, c := range p.components {
		for name, text := range c.texts {
			p.licences = append(p.licences, entry{name: strings.Join([]string{"licenses", c.ecosystem, c.path, name}, "/"), data: text})
		}
	}
	return p, nil
}

// prepareCommon writes the files that do not depend on the target: manual pages, completions and
// the playground. Its programs run on this machine.
func (r *release) prepareCommon(ctx context.Context) error {
	host := Target{OS: runtime.GOOS, Arch: runtime.GOARCH}
	dir := filepath.Join(r.work, r.folder(host)) // prepareTarget finds the programs there
	if err := r.compile(ctx, host, dir); err != nil {
		return err
	}
	concerto, pages := filepath.Join(dir, host.exe("concerto")), filepath.Join(r.work, "man")
	// Texts must not depend on the user's directories.
	clean := []string{"HOME=" + r.work, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "XDG_RUNTIME_DIR="}
	if _, err := r.run(ctx, clean, concerto, "man", pages); err != nil {
		return err
	}
	found, err := entriesOf(pages, "")
	if err != nil {
		return err
	}
	for _, e := range found {
		e.name = "man/man" + strings.TrimPrefix(filepath.Ext(e.name), ".") + "/" + e.name
		r.common = append(r.common, e)
	}
	for _, s := range shells {
		script, err := r.run(ctx, clean, concerto, "completion", s.name)
		if err != nil {
			return err
		}
		r.common = append(r.common, entry{name: "completions/" + s.file, data: script})
	}
	text, err := os.ReadFile(filepath.Join(r.source, "LICENSE"))
	if err != nil {
		return err
	}
	r.licence = entry{name: "LICENSE", data: text}
	return r.preparePlayground(ctx)
}

// preparePlayground finds the files of the directory playground in archives. It builds them if the
// options do not name a directory.
func (r *release) preparePlayground(ctx context.Context) (err error) {
	dir := r.pageDir
	if dir == "" {
		fmt.Fprintln(r.log, "building the playground")
		dir = filepath.Join(r.work, "playground")
		if _, err := r.run(ctx, []string{"GOWORK=", "GOFLAGS=-buildvcs=false -trimpath"}, "make", "playground", "OUT="+dir, "VERSION="+r.version); err != nil {
			return err
		}
	}
	r.playground, err = entriesOf(dir, "playground")
	return err
}

// writeSignature runs the command that signs the checksums.
func (r *release) writeSignature() error {
	if r.sign == "" {
		return nil
	}
	c := exec.Command("sh", "-c", r.sign+` "$1"`, "sh", r.path(checksumsFile))
	c.Stdout, c.Stderr = r.log, r.log
	if err := c.Run(); err != nil {
		return fmt.Errorf("SIGN=%s: %w", r.sign, err)
	}
	if err := r.record(File{Name: signatureFile, Kind: checksumsKind}); err != nil {
		return fmt.Errorf("SIGN=%s did not write %s: %w", r.sign, signatureFile, err)
	}
	return nil
}
