// Command site builds the website: static pages with the guide, the manual, the library, the
// diagnostics and the examples, each with its Markdown next to it, a search that works without a
// server, and the playground. All links are relative, so the pages work at any address and from
// files.
//
//	site [-o DIR] [-playground DIR] [-version VERSION]
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/playground/server"
)

func main() {
	out := flag.String("o", "bin/site", "the `directory` that is written")
	playground := flag.String("playground", "bin/playground", "the `directory` with a built playground; without one, the page of the playground states how to build it")
	version := flag.String("version", "", "the `version` that the pages show; by default the tag of the commit, else 0.0.0-dev.COMMIT")
	flag.Parse()
	if *version == "" {
		*version = commitVersion(".")
	}
	if err := run(".", *out, *playground, *version); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// run builds the site of the repository in root into a directory.
func run(root, out, playground, version string) error {
	s, err := read(root, version)
	if err != nil {
		return err
	}
	files, err := s.files()
	if err != nil {
		return err
	}
	if err := addPlayground(files, s, playground); err != nil {
		return err
	}
	return write(out, files)
}

// commitVersion returns the version of the commit in a directory: its tag, or a version with the
// first digits of the commit.
func commitVersion(dir string) string {
	git := func(args ...string) string {
		c := exec.Command("git", args...)
		c.Dir = dir
		text, err := c.Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	if tag := git("describe", "--tags", "--exact-match", "--match", "v[0-9]*"); tag != "" {
		return strings.TrimPrefix(tag, "v")
	}
	if commit := git("rev-parse", "HEAD"); len(commit) > 12 {
		return "0.0.0-dev." + commit[:12]
	}
	return "0.0.0-dev"
}

// addPlayground adds the files of a built playground, or a page that states how to build one. This
// is the only place that depends on the playground's build.
func addPlayground(files map[string][]byte, s *site, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "index.html")); dir == "" || err != nil {
		page, err := s.render(s.noPlayground())
		if err != nil {
			return err
		}
		files["playground/index.html"] = page
		return nil
	}
	return filepath.WalkDir(dir, func(file string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if name == server.Index { // its links lead to the site
			text = bytes.Replace(text, []byte(`data-docs=""`), []byte(`data-docs="../"`), 1)
		}
		files["playground/"+filepath.ToSlash(name)] = text
		return err
	})
}

// write writes the files and removes those of an earlier build. The directory must be empty or
// contain a site.
func write(dir string, files map[string][]byte) error {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, "llms.txt")); err != nil {
			return fmt.Errorf("%s contains other files: remove it, or choose another directory", dir)
		}
	}
	for name, data := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(file string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		if _, current := files[filepath.ToSlash(name)]; !current {
			return os.Remove(file)
		}
		return nil
	})
}
