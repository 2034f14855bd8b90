package release

import (
	"archive/zip"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestZip checks the archives for Windows.
func TestZip(t *testing.T) {
	r, dir := smallRelease(t, working)
	z, err := zip.OpenReader(filepath.Join(dir, "concerto_1.2.3_windows_arm64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	const top = "concerto_1.2.3_windows_arm64/"
	var names []string
	for _, f := range z.File {
		names = append(names, strings.TrimPrefix(f.Name, top))
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(f.Name, "/") {
			mode = fs.ModeDir | 0o755
		} else if strings.HasSuffix(f.Name, ".exe") {
			mode = 0o755
		}
		if f.Mode() != mode || !f.Modified.Equal(r.modified) || f.Comment != "" {
			t.Errorf("%s has mode %v, time %v, comment %q", f.Name, f.Mode(), f.Modified, f.Comment)
		}
	}
	want := []string{"", "LICENSE", "README.md", "completions/", "completions/concerto.bash", "completions/concerto.fish", "completions/concerto.ps1",
		"completions/concerto.zsh", "concerto-relay.exe", "concerto.exe", "licenses/", "licenses/golang/", "licenses/golang/std/", "licenses/golang/std/LICENSE",
		"man/", "man/man1/", "man/man1/concerto.1", "man/man7/", "man/man7/concerto-paths.7", "playground/", "playground/index.html"}
	if !slices.Equal(names, want) {
		t.Errorf("entries = %q, want %q", names, want)
	}
	old := filepath.Join(t.TempDir(), "old.zip")
	if err := writeZip(old, []entry{{name: "a"}}, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	o, err := zip.OpenReader(old)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if year := o.File[0].Modified.Year(); year != firstZipYear {
		t.Errorf("year = %d", year)
	}
}

// TestDuplicates checks that an archive has no name twice.
func TestDuplicates(t *testing.T) {
	err := writeTar(filepath.Join(t.TempDir(), "a.tar.gz"), []entry{{name: "a"}, {name: "a"}}, time.Unix(0, 0), true)
	if err == nil || !strings.Contains(err.Error(), "two files of the archive are a") {
		t.Errorf("error = %v", err)
	}
}

// TestInstallPs1 checks the text of install.ps1, and runs it if PowerShell is available.
func TestInstallPs1(t *testing.T) {
	r, dir := smallRelease(t, working)
	text, err := os.ReadFile(filepath.Join(dir, "install.ps1"))
	if err != nil {
		t.Fatal(err)
	}
	script := string(text)
	for _, part := range []string{
		"'AMD64' = @('concerto_1.2.3_windows_amd64', '" + r.sums["concerto_1.2.3_windows_amd64.zip"] + "')",
		"'ARM64' = @('concerto_1.2.3_windows_arm64', '" + r.sums["concerto_1.2.3_windows_arm64.zip"] + "')",
		"foreach ($program in 'concerto-relay.exe', 'concerto.exe')",
		"it requires one of: windows/amd64, windows/arm64",
	} {
		if !strings.Contains(script, part) {
			t.Errorf("install.ps1 does not contain %q", part)
		}
	}
	if strings.Contains(script, "@VERSION@") || !strings.HasSuffix(script, "\n& { Install-Concerto @args } @args\n") {
		t.Errorf("install.ps1 ends with %q", script[len(script)-80:])
	}
	outside := 0 // lines outside of the function
	for line := range strings.Lines(script) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, " ") && strings.TrimSpace(line) != "" {
			outside++
		}
	}
	if outside != 3 {
		t.Errorf("install.ps1 has %d lines outside of its function, want its first, its last and the call", outside)
	}
	pwsh, err := exec.LookPath("pwsh")
	if err != nil {
		t.Skip("the script was not run: pwsh is not in PATH")
	}
	c := exec.Command(pwsh, "-NoProfile", "-File", filepath.Join(dir, "install.ps1"), "-From", filepath.Join(dir, "missing"))
	c.Env = append(os.Environ(), "PROCESSOR_ARCHITECTURE=AMD64")
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "is not a directory") {
		t.Errorf("error = %v\n%s", err, out)
	}
}

// TestContainerfile checks the text of the Containerfile.
func TestContainerfile(t *testing.T) {
	_, dir := smallRelease(t, working)
	text, err := os.ReadFile(filepath.Join(dir, "Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"FROM ${BASE}", "ADD concerto_1.2.3_linux_${TARGETARCH}.tar.gz /", "USER 65532:65532", `ENTRYPOINT ["/opt/concerto/concerto"]`} {
		if !strings.Contains(string(text), "\n"+line+"\n") {
			t.Errorf("the Containerfile has no line %q", line)
		}
	}
	if strings.Contains(string(text), "\nRUN ") || strings.Contains(string(text), "@") {
		t.Errorf("the Containerfile needs a shell or is incomplete:\n%s", text)
	}
}

// TestSign checks that a release without its signature fails.
func TestSign(t *testing.T) {
	for command, reason := range map[string]string{"false": "SIGN=false: exit status 1", "true": "SIGN=true did not write SHA256SUMS.sig"} {
		r := &release{out: t.TempDir(), sign: command, sums: map[string]string{}}
		if err := r.writeSignature(); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("error = %v, want %q", err, reason)
		}
	}
}

// TestVersions checks the version of a release.
func TestVersions(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, x := range []struct {
		asked, tags, commit string
		dirty               bool
		want                string
	}{
		{"", "", commit, false, "0.0.0-dev.0123456789ab"},
		{"", "", commit, true, "0.0.0-dev.0123456789ab-dirty"},
		{"", "", "012345678901" + commit[12:], false, "0.0.0-dev.g012345678901"},
		{"", "", "112345678901" + commit[12:], false, "0.0.0-dev.112345678901"},
		{"", "latest v1 v1.2 v1.2.3+4 1.2.3", commit, false, "0.0.0-dev.0123456789ab"},
		{"", "v1.2.3", commit, false, "1.2.3"},
		{"", "v1.2.3", commit, true, "1.2.3-dirty"},
		{"", "v1.9.0 v1.10.0-rc.1 v1.10.0-rc.10 v1.10.0-rc.9", commit, false, "1.10.0-rc.10"},
		{"", "v2.0.0-rc.1 v2.0.0 v2.0.0-alpha", commit, false, "2.0.0"},
		{"", "v2.0.0-1 v2.0.0-a v2.0.0-a.b v2.0.0-a.1", commit, false, "2.0.0-a.b"},
		{"", "v2.0.0-18446744073709551616 v2.0.0-9", commit, false, "2.0.0-18446744073709551616"},
		{"3.0.0", "v1.2.3", commit, false, "3.0.0"},
		{"3.0.0-x-y.0", "", commit, true, "3.0.0-x-y.0-dirty"},
	} {
		got, err := versionOf(x.asked, strings.Fields(x.tags), x.commit, x.dirty)
		if err != nil || got != x.want || !semver.MatchString(got) {
			t.Errorf("versionOf(%q, %q, %v) = %q, error %v, want %q", x.asked, x.tags, x.dirty, got, err, x.want)
		}
	}
	for _, bad := range []string{"1", "1.2", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3-ä", "1.2.3\n", " 1.2.3", "1.2.3/x", "1.2.3+b"} {
		if got, err := versionOf(bad, nil, commit, false); err == nil {
			t.Errorf("versionOf(%q) = %q", bad, got)
		}
	}
}

// TestEpoch checks that SOURCE_DATE_EPOCH is the time of the files in archives, and of nothing
// else.
func TestEpoch(t *testing.T) {
	r, repository, _, err := prepare(Options{Root: repositoryIn(t), Epoch: "86400", Targets: "windows/arm64  linux/amd64 windows/arm64"})
	if err != nil {
		t.Fatal(err)
	}
	if r.modified.Unix() != 86400 || !r.date.Equal(repository.date) {
		t.Errorf("files have the time %v, and the commit %v", r.modified, r.date)
	}
	if len(r.targets) != 2 || r.targets[0].String() != "linux/amd64" || r.targets[1].String() != "windows/arm64" {
		t.Errorf("targets = %v", r.targets)
	}
}

// TestLicences checks which licence a text contains.
func TestLicences(t *testing.T) {
	const mit = "Permission is hereby granted, free of charge, to any person\n obtaining a copy\n"
	for text, want := range map[string]string{
		mit + "The above copyright notice and this permission\nnotice shall be included in all copies": "MIT",
		mit: "MIT-0",
		"Apache License\n   Version 2.0, January 2004\n":                                                        "Apache-2.0",
		"Redistribution and use in source and binary forms\n":                                                   "BSD-2-Clause",
		"Redistribution and use in source and binary forms\n Neither the name of":                               "BSD-3-Clause",
		"/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */\nRedistribution and":                       "BSD-3-Clause OR GPL-2.0-only",
		"Permission to use, copy, modify, and distribute this software for any purpose with\nor without fee is": "ISC",
		"All rights reserved.": "",
	} {
		if got := strings.Join(identify([]byte(text)), " AND "); got != want {
			t.Errorf("the licence of %q is %q, want %q", text, got, want)
		}
	}
	c := &component{path: "example.com/x", version: "v1.0.0+incompatible", ecosystem: "golang", texts: map[string][]byte{"LICENSE": []byte("All rights reserved.")}}
	if err := c.identifyAll(); err == nil || !strings.Contains(err.Error(), "LICENSE of pkg:golang/example.com/x@v1.0.0%2Bincompatible has an unknown licence") {
		t.Errorf("error = %v", err)
	}
	c.texts = map[string][]byte{"NOTICE": nil}
	if err := c.identifyAll(); err == nil || !strings.Contains(err.Error(), "has no file with a licence") {
		t.Errorf("error = %v", err)
	}
	c.texts = map[string][]byte{"LICENSE": []byte("SPDX-License-Identifier: A OR B"), "sub/COPYING": []byte(mit)}
	if err := c.identifyAll(); err != nil || c.licence != "(A OR B) AND MIT-0" {
		t.Errorf("licence = %q, error %v", c.licence, err)
	}
}

// TestCheckRequiresThisSystem checks that a release which this machine cannot run is not checked.
func TestCheckRequiresThisSystem(t *testing.T) {
	foreign := "windows/arm64"
	if runtime.GOOS == "windows" {
		foreign = "linux/amd64"
	}
	err := Check(context.Background(), Options{Root: repositoryIn(t), Targets: foreign})
	if _, ok := errors.AsType[*RefusedError](err); !ok || !strings.Contains(err.Error(), "TARGETS must contain "+runtime.GOOS+"/"+runtime.GOARCH) {
		t.Errorf("error = %v", err)
	}
}
