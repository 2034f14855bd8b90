package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packageCount is the number of packages of a project: a chain in which each also requires two
// others, so that most are required in several ways.
const packageCount = 100

// requiredBy returns the numbers of the packages that a package requires.
func requiredBy(i int) (out []int) {
	for _, j := range []int{i + 1, i + 2, i + 7} {
		if j < packageCount {
			out = append(out, j)
		}
	}
	return out
}

// packageSource returns the code of a package. Its modules are those of packages, or of files.
func packageSource(i int) string {
	var b strings.Builder
	sum := "f1(n)"
	for _, j := range requiredBy(i) {
		fmt.Fprintf(&b, "use p%d::f0 as g%d;\n", j, j)
		sum += fmt.Sprintf(" + g%d(n)", j)
	}
	for k := range 10 {
		fmt.Fprintf(&b, "/// Adds %d.\npub fn f%d(n: Int) -> Int { if n > %d { n + %d } else { n * 2 } }\n", k, k, k, k)
	}
	fmt.Fprintf(&b, "pub fn all(n: Int) -> Int { %s }\n", sum)
	return b.String()
}

// packaged writes the repositories of the packages, a project that requires the first, and the same
// sources as one project. It returns the directories of the projects.
func (l *lab) packaged() (project, one string, err error) {
	project, one = l.bin("packages/project"), l.bin("packages/one")
	if _, err := os.Stat(one); err == nil {
		return project, one, nil
	}
	address := func(i int) string { return "file://" + l.bin(fmt.Sprintf("packages/p%d", i)) }
	single := map[string]string{"Concerto.toml": "[project]\nname = \"one\"\n"}
	main := "fn main() { println(p0::all(3)); }\n"
	mods := ""
	for i := range packageCount {
		manifest := fmt.Sprintf("[project]\nname = \"p%d\"\n[dependencies]\n", i)
		for _, j := range requiredBy(i) {
			manifest += fmt.Sprintf("p%d = { git = %q, tag = \"v1.0.0\" }\n", j, address(j))
		}
		dir := l.bin(fmt.Sprintf("packages/p%d", i))
		if err := writeProject(dir, map[string]string{"Concerto.toml": manifest, "lib.conc": packageSource(i)}); err != nil {
			return "", "", err
		}
		c := exec.Command("sh", "-c", "git init -q . && git add -A && git -c user.name=b -c user.email=b@example.com commit -qm 1 && git tag v1.0.0")
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("a repository: %w: %s", err, out)
		}
		mods += fmt.Sprintf("mod p%d;\n", i)
		single[fmt.Sprintf("p%d.conc", i)] = packageSource(i)
	}
	single["main.conc"] = mods + main
	manifest := fmt.Sprintf("[project]\nname = \"project\"\n[dependencies]\np0 = { git = %q, tag = \"v1.0.0\" }\n", address(0))
	if err := writeProject(project, map[string]string{"Concerto.toml": manifest, "main.conc": main}); err != nil {
		return "", "", err
	}
	return project, one, writeProject(one, single)
}

// packageMeasures measures packages: fetching all of them, and checking a project that has them.
func packageMeasures() []measure {
	command := func(l *lab, dir string, args ...string) (outcome, error) {
		return l.process(dir, append([]string{"env", "CONCERTO_CACHE=" + l.bin("packages/cache"), l.bin("concerto")}, args...)...)
	}
	checked := func(l *lab, inOne bool) (float64, error) {
		project, one, err := l.packaged()
		if err != nil {
			return 0, err
		}
		if inOne {
			project = one
		}
		if _, err := command(l, project, "update", "--lock"); err != nil {
			return 0, err
		}
		p, err := command(l, project, "check")
		return p.wall, err
	}
	return []measure{
		{name: "packages-fetch", title: fmt.Sprintf("`update --lock` that fetches %d packages, with process start", packageCount), unit: "s", fixed: 2, ours: func(l *lab) (float64, error) {
			project, _, err := l.packaged()
			if err != nil {
				return 0, err
			}
			for _, path := range []string{l.bin("packages/cache"), filepath.Join(project, "concerto.lock")} {
				if err := os.RemoveAll(path); err != nil {
					return 0, err
				}
			}
			p, err := command(l, project, "update", "--lock")
			return p.wall / 1e3, err
		}},
		{name: "packages-check", title: fmt.Sprintf("`check` of a project with %d packages in the cache, above that of the same sources in one project", packageCount), unit: "ms", fixed: 20, ours: func(l *lab) (float64, error) {
			packages, err := best(7, func() (float64, error) { return checked(l, false) })
			if err != nil {
				return 0, err
			}
			one, err := best(7, func() (float64, error) { return checked(l, true) })
			return packages - one, err
		}},
	}
}
