package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// shared is the directory of the release that tests inspect.
var shared string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(secondBuild) != "" { // this process is the second build of TestReproducible
		root, err := os.Getwd()
		if err == nil {
			err = Make(context.Background(), Environment(root, os.Stderr))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	var err error
	if shared, err = os.MkdirTemp("", "concerto-release-test"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(shared)
	return m.Run()
}

// build builds a release for this machine once. It has the files of the working tree.
var build = sync.OnceValues(func() (*checker, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	// tools/playground tests the page. Compressing its module takes minutes.
	page := filepath.Join(shared, "playground")
	if err := os.Mkdir(page, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(page, "index.html"), []byte("page"), 0o644); err != nil {
		return nil, err
	}
	c := &checker{options: Options{Root: root, Playground: page, Out: filepath.Join(shared, "first"), Version: "1.2.3-rc.1", BaseURL: "https://example.com/concerto/",
		Targets: runtime.GOOS + "/" + runtime.GOARCH, Dirty: true, Sign: "sh -c 'echo signed >\"$1.sig\"' sign"}}
	c.dir, c.first, c.log = shared, c.options.Out, io.Discard
	for _, t := range Targets {
		if t.OS == runtime.GOOS && t.Arch == runtime.GOARCH {
			c.host = t
		}
	}
	if err := Make(context.Background(), c.options); err != nil {
		return nil, err
	}
	c.list, err = ReadList(c.first)
	return c, err
})

// built returns the release of build. By day it skips the test, because a release compiles all
// packages once more, with its own flags.
func built(t *testing.T) *checker {
	t.Helper()
	if !randtest.Night() {
		t.Skip("make night and make release-check build a release")
	}
	requireRepository(t)
	c, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// requireRepository skips a test in a copy of the sources without the repository.
func requireRepository(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("../../.git"); err != nil {
		t.Skipf("a release requires the repository: %v", err)
	}
}

// entryList reads a compressed tar archive.
func entryList(t *testing.T, file string) (headers []*tar.Header, contents map[string][]byte) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if z.Name != "" || z.Comment != "" || !z.ModTime.IsZero() {
		t.Errorf("the gzip header of %s has name %q, comment %q, time %v", filepath.Base(file), z.Name, z.Comment, z.ModTime)
	}
	contents = map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return headers, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		headers = append(headers, h)
		if contents[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// checkEntries checks the order, the modes, the owners and the times of the entries of an archive.
func checkEntries(t *testing.T, c *checker, headers []*tar.Header, executables ...string) {
	t.Helper()
	if !slices.IsSortedFunc(headers, func(a, b *tar.Header) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the entries are not sorted by name")
	}
	for _, h := range headers {
		mode, kind := int64(0o644), byte(tar.TypeReg)
		if strings.HasSuffix(h.Name, "/") {
			mode, kind = 0o755, tar.TypeDir
		} else if slices.Contains(executables, h.Name) {
			mode = 0o755
		}
		if h.Mode != mode || h.Typeflag != kind || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || h.Linkname != "" {
			t.Errorf("%s has mode %o, type %q, owner %d:%d %q:%q, link %q", h.Name, h.Mode, h.Typeflag, h.Uid, h.Gid, h.Uname, h.Gname, h.Linkname)
		}
		if got := h.ModTime.UTC().Format("2006-01-02T15:04:05Z"); got != c.list.Date {
			t.Errorf("%s has the time %s, want %s", h.Name, got, c.list.Date)
		}
		if len(h.PAXRecords) > 0 {
			t.Errorf("%s has additional records: %v", h.Name, h.PAXRecords)
		}
	}
}

// TestArchive checks the content of the archive.
func TestArchive(t *testing.T) {
	c := built(t)
	if c.host.OS == "windows" {
		t.Skip("TestZip tests the archives of Windows")
	}
	headers, contents := entryList(t, c.file(c.name((*release).archiveName, c.host)))
	top := c.name((*release).folder, c.host) + "/"
	checkEntries(t, c, headers, top+"concerto", top+"concerto-relay")
	places := map[string]int{} // number of files by their first directory or name
	for name := range contents {
		if !strings.HasPrefix(name, top) {
			t.Errorf("%s is outside of %s", name, top)
		}
		if !strings.HasSuffix(name, "/") {
			first, _, _ := strings.Cut(strings.TrimPrefix(name, top), "/")
			places[first]++
		}
	}
	want := []string{"LICENSE", "README.md", "completions", "concerto", "concerto-relay", "licenses", "man", "playground"}
	if got := slices.Sorted(maps.Keys(places)); !slices.Equal(got, want) {
		t.Errorf("the archive has %q, want %q", got, want)
	}
	if places["completions"] != 4 || places["man"] < 40 {
		t.Errorf("the archive has %d completion scripts and %d manual pages", places["completions"], places["man"])
	}
	day := c.list.Date[:10]
	title := fmt.Sprintf(".TH CONCERTO-RUN 1 %q \"concerto %s\" \"Concerto\"\n", day, c.list.Version)
	if page := string(contents[top+"man/man1/concerto-run.1"]); !strings.HasPrefix(page, title) {
		t.Errorf("the manual page begins with %q, want %q", page[:min(80, len(page))], title)
	}
	if len(contents[top+"man/man7/concerto-permissions.7"]) == 0 {
		t.Error("the archive has no page concerto-permissions(7)")
	}
	for name, part := range map[string]string{"LICENSE": "Apache License", "README.md": "# Concerto " + c.list.Version, "completions/concerto.zsh": "#compdef concerto",
		"completions/concerto.fish": "complete -c concerto", "completions/concerto.ps1": "Register-ArgumentCompleter", "licenses/golang/std/LICENSE": "Redistribution"} {
		if !strings.Contains(string(contents[top+name]), part) {
			t.Errorf("%s does not contain %q", name, part)
		}
	}
	bash := exec.Command("bash", "-n")
	bash.Stdin = bytes.NewReader(contents[top+"completions/concerto.bash"])
	if _, err := exec.LookPath("bash"); err != nil {
		t.Log("the script for bash was not checked: bash is not in PATH")
	} else if out, err := bash.CombinedOutput(); err != nil {
		t.Errorf("bash -n: %v\n%s", err, out)
	}
}

// TestLists checks release.json and SHA256SUMS against the files.
func TestLists(t *testing.T) {
	c := built(t)
	var onDisk, listed []string
	err := filepath.WalkDir(c.first, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != listFile {
			rel, _ := filepath.Rel(c.first, file)
			onDisk = append(onDisk, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, f := range c.list.Files {
		listed = append(listed, f.Name)
		kinds[f.Kind]++
		if info, err := os.Stat(c.file(f.Name)); err != nil || info.Size() != f.Size || info.Mode().Perm() != fileMode {
			t.Errorf("%s is not as listed: %v", f.Name, err)
		}
	}
	slices.Sort(onDisk)
	if !slices.Equal(onDisk, listed) {
		t.Errorf("release.json lists %q, and the release has %q", listed, onDisk)
	}
	if want := map[string]int{"archive": 1, "sbom": 1, "npm": 2, "installer": 2, "container": 1, "page": 1, "checksums": 2}; !maps.Equal(kinds, want) {
		t.Errorf("kinds of files = %v, want %v", kinds, want)
	}
	head, err := exec.Command("git", "show", "--no-patch", "--format=%H %cI", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	if commit := strings.Fields(string(head))[0]; c.list.Commit != commit {
		t.Errorf("commit = %s, want %s", c.list.Commit, commit)
	}
	if !regexp.MustCompile(`^1\.2\.3-rc\.1(-dirty)?$`).MatchString(c.list.Version) {
		t.Errorf("version = %s", c.list.Version)
	}
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip("sha256sum is not in PATH")
	}
	sums := exec.Command("sha256sum", "--check", "--strict", checksumsFile)
	sums.Dir = c.first
	out, err := sums.CombinedOutput()
	if n := bytes.Count(out, []byte(": OK\n")); err != nil || n != len(listed)-2 {
		t.Errorf("sha256sum checked %d files: %v\n%s", n, err, out)
	}
	if signature, err := os.ReadFile(c.file(signatureFile)); err != nil || string(signature) != "signed\n" {
		t.Errorf("the signature is %q, error %v", signature, err)
	}
}

// TestSBOM compares the SBOM with the output of `go version -m` for both programs, and with the
// folder of the modules for pages.
func TestSBOM(t *testing.T) {
	c := built(t)
	text, err := os.ReadFile(c.file(c.name((*release).sbomName, c.host)))
	if err != nil {
		t.Fatal(err)
	}
	var b bom
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := unpack(c.file(c.name((*release).archiveName, c.host)), dir); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, program := range Programs {
		file := filepath.Join(dir, c.name((*release).folder, c.host), c.host.exe(program))
		out, err := exec.Command("go", "version", "-m", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(out), "\n")
		want["pkg:golang/std@"+strings.TrimSpace(lines[0][strings.LastIndex(lines[0], ": ")+1:])] = true
		for _, line := range lines {
			if f := strings.Fields(line); len(f) >= 3 && f[0] == "dep" {
				want["pkg:golang/"+f[1]+"@"+f[2]] = true
			}
		}
	}
	for _, vendored := range []string{"pkg:npm/htm@3.1.1", "pkg:npm/preact@11.2.0", "pkg:npm/%40xterm/xterm@6.0.0", "pkg:npm/%40xterm/addon-fit@0.11.0"} {
		want[vendored] = true
	}
	_, contents := entryList(t, c.file(c.name((*release).archiveName, c.host)))
	got := map[string]bool{}
	for _, component := range b.Components {
		got[component.PURL] = true
		if len(component.Licenses) != 1 || (component.Licenses[0].License == nil) == (component.Licenses[0].Expression == "") {
			t.Errorf("%s has the licences %v", component.PURL, component.Licenses)
		}
		ecosystem, _, _ := strings.Cut(strings.TrimPrefix(component.PURL, "pkg:"), "/")
		folder := path.Join(c.name((*release).folder, c.host), "licenses", ecosystem, component.Name) + "/"
		if !slices.ContainsFunc(slices.Collect(maps.Keys(contents)), func(name string) bool {
			return strings.HasPrefix(name, folder) && licenceFile.MatchString(path.Base(name))
		}) {
			t.Errorf("the archive has no licence of %s", component.PURL)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("components = %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	if b.Format != "CycloneDX" || b.SpecVersion != "1.6" || b.Version != 1 || b.Metadata.Timestamp != c.list.Date || b.Metadata.Component.Version != c.list.Version {
		t.Errorf("the SBOM has %s %s, version %d, time %s, of %s", b.Format, b.SpecVersion, b.Version, b.Metadata.Timestamp, b.Metadata.Component.Version)
	}
	if !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(b.SerialNumber) {
		t.Errorf("serial number = %s", b.SerialNumber)
	}
	serials := map[string]bool{}
	for _, version := range []string{"1.0.0", "1.0.1"} {
		for _, target := range Targets {
			for _, commit := range []string{strings.Repeat("a", 40), strings.Repeat("b", 40)} {
				serials[serialNumber(version, target, commit)] = true
			}
		}
	}
	if len(serials) != 2*2*len(Targets) {
		t.Errorf("%d of %d serial numbers differ", len(serials), 2*2*len(Targets))
	}
}

// TestReproducible builds the release again: in another directory, with another umask, home, time
// zone and locale.
func TestReproducible(t *testing.T) {
	c := built(t)
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	again := *c
	again.dir, again.cache = t.TempDir(), strings.TrimSpace(string(out)) // `make release-check` has an empty cache
	if err := again.rebuild(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestInstalled installs the release and runs the installed programs.
func TestInstalled(t *testing.T) {
	c := built(t)
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{{"archive", c.checkArchive}, {"install.sh", c.checkInstallSh}, {"npm", c.checkNPM}} {
		t.Run(step.name, func(t *testing.T) {
			err := step.do(context.Background())
			if reason, ok := errors.AsType[skipped](err); ok {
				t.Skip(string(reason))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCompare checks that a difference between two releases is reported.
func TestCompare(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		write(t, filepath.Join(dir, "npm", "a.tgz"), "a", 0o644)
		write(t, filepath.Join(dir, listFile), `{"files": [{"name": "a"}]}`, 0o644)
	}
	write(t, filepath.Join(first, signatureFile), "1", 0o644)
	write(t, filepath.Join(second, listFile), `{"files": [{"name": "SHA256SUMS.sig"}, {"name": "a"}]}`, 0o644)
	if err := Compare(first, second); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(second, "b"), "", 0o644)
	write(t, filepath.Join(second, "npm", "a.tgz"), "b", 0o644)
	write(t, filepath.Join(second, listFile), `{"files": []}`, 0o644)
	if err := Compare(first, second); err == nil || err.Error() != "the releases differ in b, npm/a.tgz, release.json" {
		t.Errorf("error = %v", err)
	}
}

// write writes a file and creates its directory.
func write(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
