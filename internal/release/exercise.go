package release

import (
	"archive/zip"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// exercise runs an installed program: it compares its version with the SBOM, and runs, tests and
// checks new projects.
func (c *checker) exercise(ctx context.Context, concerto string, env []string) error {
	dir := filepath.Dir(filepath.Dir(concerto))
	version, err := output(ctx, dir, env, concerto, "version", "--json")
	if err != nil {
		return err
	}
	if err := c.compareVersion(version); err != nil {
		return err
	}
	for _, step := range []struct{ arguments, want string }{
		{"init hello", "hello"},
		{"run hello", "Good morning, Ada."},
		{"test hello", "2 passed"},
		{"init host --template supervise", "host"},
		{"host test Worker -C host", " 0 failed"},
	} {
		out, err := output(ctx, dir, env, append([]string{concerto}, strings.Fields(step.arguments)...)...)
		if err != nil {
			return err
		}
		if !strings.Contains(out, step.want) {
			return fmt.Errorf("concerto %s printed %q, without %q", step.arguments, out, step.want)
		}
	}
	return nil
}

// compareVersion compares the output of `version --json` with the release and the SBOM.
func (c *checker) compareVersion(version string) error {
	var v struct {
		Version, Commit, Date, Go, OS, Arch string
		Modified                            bool
		Modules                             []struct{ Path, Version, Sum string }
	}
	if err := json.Unmarshal([]byte(version), &v); err != nil {
		return fmt.Errorf("version --json: %w", err)
	}
	text, err := os.ReadFile(c.file(c.name((*release).sbomName, c.host)))
	if err != nil {
		return err
	}
	var b bom
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	got, want := []string{"std " + v.Go}, []string{}
	for _, m := range v.Modules {
		got = append(got, m.Path+" "+m.Version+" "+m.Sum)
	}
	for _, component := range b.Components {
		if slices.Contains(component.Properties, bomProperty{programProperty, "concerto"}) {
			line := component.Name + " " + component.Version
			for _, p := range component.Properties {
				if p.Name == sumProperty {
					line += " " + p.Value
				}
			}
			want = append(want, line)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("version --json has the modules %q, and the SBOM %q", got, want)
	}
	gotRelease := fmt.Sprint(v.Version, v.Commit, v.Date, v.Modified, v.OS, v.Arch)
	if wantRelease := fmt.Sprint(c.list.Version, c.list.Commit, c.list.Date, c.list.dirty(), c.host.OS, c.host.Arch); gotRelease != wantRelease {
		return fmt.Errorf("version --json describes %s, and release.json %s", gotRelease, wantRelease)
	}
	return nil
}

// unpack extracts an archive into a directory.
func unpack(archive, dir string) error {
	if !strings.HasSuffix(archive, ".zip") {
		f, err := os.Open(archive)
		if err != nil {
			return err
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			return err
		}
		return extract(z, dir)
	}
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		name := filepath.FromSlash(strings.TrimSuffix(f.Name, "/"))
		if !filepath.IsLocal(name) {
			return fmt.Errorf("%s is outside of the directory", f.Name)
		}
		if err := unzipFile(f, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func unzipFile(f *zip.File, name string) error {
	if f.Mode().IsDir() {
		return os.MkdirAll(name, 0o777)
	}
	from, err := f.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
