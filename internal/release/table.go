// Package release builds the files of a release: archives, packages, installers and the lists that
// describe them. The same commit always yields the same bytes. Only programs of the project use it:
// internal/release/run for `make release` and `make release-check`.
//
// It needs no module that the product does not, so it is not part of tools.
package release

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Target is a system for which a release has executables.
type Target struct {
	OS, Arch         string // as in GOOS and GOARCH
	NodeOS, NodeArch string // as in npm's keys os and cpu
	Kernel           string // output of `uname -s`; "" on Windows
	Machines         string // outputs of `uname -m` or, on Windows, values of PROCESSOR_ARCHITECTURE, separated by |
}

// Targets lists all targets.
var Targets = []Target{
	{"linux", "amd64", "linux", "x64", "Linux", "x86_64|amd64"},
	{"linux", "arm64", "linux", "arm64", "Linux", "aarch64|arm64"},
	{"darwin", "amd64", "darwin", "x64", "Darwin", "x86_64|amd64"},
	{"darwin", "arm64", "darwin", "arm64", "Darwin", "aarch64|arm64"},
	{"windows", "amd64", "win32", "x64", "", "AMD64"},
	{"windows", "arm64", "win32", "arm64", "", "ARM64"},
}

// Programs lists the executables of each target, which are the commands below cmd/.
var Programs = []string{"concerto", "concerto-relay"}

// shells maps each shell for which there is a completion script to the name of its file.
var shells = []struct{ name, file string }{
	{"bash", "concerto.bash"},
	{"zsh", "concerto.zsh"},
	{"fish", "concerto.fish"},
	{"powershell", "concerto.ps1"},
}

// format is a kind of files of a release, with one file for each target or one for all.
type format struct {
	kind  string // as in release.json
	name  func(r *release, t Target) string
	write func(r *release, p *parts, file string) error
	// once is set for a file that serves all targets. Its name and write have no target.
	once bool
	os   string // operating system of a file that serves several targets; "" for any
}

// formats lists the files of a release in the order in which they are written. A file may contain
// hashes of earlier ones. The names in a package manager are those in its files: npmName for npm.
var formats = []format{
	{kind: "archive", name: (*release).archiveName, write: (*release).writeArchive},
	{kind: "sbom", name: (*release).sbomName, write: (*release).writeSBOM},
	{kind: "npm", name: (*release).npmFileName, write: (*release).writeNPMPlatform},
	{kind: "npm", name: (*release).npmFileName, write: (*release).writeNPMWrapper, once: true},
	{kind: "installer", name: fixed("install.sh"), write: (*release).writeInstallSh, once: true},
	{kind: "installer", name: fixed("install.ps1"), write: (*release).writeInstallPs1, once: true, os: "windows"},
	{kind: "container", name: fixed("Containerfile"), write: (*release).writeContainerfile, once: true, os: "linux"},
	{kind: "page", name: fixed("PAGE_SHA256SUMS"), write: (*release).writePageHashes, once: true},
	{kind: checksumsKind, name: fixed(checksumsFile), write: (*release).writeChecksums, once: true},
}

// Files that are not of a format or that other code reads.
const (
	checksumsKind = "checksums"
	checksumsFile = "SHA256SUMS"
	signatureFile = checksumsFile + ".sig"
	listFile      = "release.json"
)

func fixed(name string) func(*release, Target) string {
	return func(*release, Target) string { return name }
}

// String returns the target as in TARGETS: OS/ARCH.
func (t Target) String() string { return t.OS + "/" + t.Arch }

// exe returns the file name of a program.
func (t Target) exe(program string) string {
	if t.OS == "windows" {
		return program + ".exe"
	}
	return program
}

// targets returns the targets that text lists, in the order of the table. An empty text selects all
// targets.
func targets(text string) ([]Target, error) {
	names := strings.Fields(text)
	if len(names) == 0 {
		return Targets, nil
	}
	var all []string
	for _, t := range Targets {
		all = append(all, t.String())
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, refuse("unknown target %q: the targets are %s", name, strings.Join(all, ", "))
		}
	}
	var selected []Target
	for _, t := range Targets {
		if slices.Contains(names, t.String()) {
			selected = append(selected, t)
		}
	}
	return selected, nil
}

// folder returns the directory in the archive of a target, which is also the name of the archive
// without its ending.
func (r *release) folder(t Target) string {
	return fmt.Sprintf("concerto_%s_%s_%s", r.version, t.OS, t.Arch)
}

func (r *release) archiveName(t Target) string {
	if t.OS == "windows" {
		return r.folder(t) + ".zip"
	}
	return r.folder(t) + ".tar.gz"
}

func (r *release) sbomName(t Target) string { return r.folder(t) + ".cdx.json" }

// npmScope and npmWrapper are the names of the packages in npm.
const (
	npmScope   = "@concerto-lang"
	npmWrapper = "concerto-lang"
)

// npmName returns the name of the package of a target, or of the wrapper for the zero Target.
func npmName(t Target) string {
	if t == (Target{}) {
		return npmWrapper
	}
	return npmScope + "/cli-" + t.NodeOS + "-" + t.NodeArch
}

// npmFileName returns the name that `npm pack` would use for the file of a package.
func (r *release) npmFileName(t Target) string {
	base := strings.ReplaceAll(strings.TrimPrefix(npmName(t), "@"), "/", "-")
	return path.Join("npm", base+"-"+r.version+".tgz")
}
