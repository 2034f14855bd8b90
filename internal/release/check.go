package release

import (
	"bytes"
	"context"
	"debug/pe"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// checker checks a release.
type checker struct {
	options Options
	dir     string // for everything that the check writes
	first   string // the release
	list    *List
	host    Target // this machine
	cache   string // GOCACHE of the second build
	log     io.Writer
}

// Check builds the release twice and compares both. Then it installs each format in an empty
// directory and runs the installed programs.
func Check(ctx context.Context, o Options) error {
	dir, err := os.MkdirTemp("", "concerto-release-check")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := &checker{options: o, dir: dir, first: filepath.Join(dir, "first"), cache: filepath.Join(dir, "cache"), log: o.Log}
	if c.log == nil {
		c.log = io.Discard
	}
	selected, err := targets(o.Targets)
	if err != nil {
		return err
	}
	for _, t := range selected {
		if t.OS == runtime.GOOS && t.Arch == runtime.GOARCH {
			c.host = t
		}
	}
	if c.host == (Target{}) {
		return refuse("TARGETS must contain %s/%s, which this machine can run", runtime.GOOS, runtime.GOARCH)
	}
	o.Out = c.first
	if err := Make(ctx, o); err != nil {
		return err
	}
	if c.list, err = ReadList(c.first); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"a build in another directory has the same bytes", c.rebuild},
		{"the archive", c.checkArchive},
		{"install.sh", c.checkInstallSh},
		{"the npm packages", c.checkNPM},
		{"the zip archives", c.checkZips},
	} {
		err := step.do(ctx)
		if skip, ok := errors.AsType[skipped](err); ok {
			fmt.Fprintf(c.log, "skipped: %s: %s\n", step.name, string(skip))
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(c.log, "ok: %s\n", step.name)
	}
	return nil
}

// skipped is the reason why a check was not made.
type skipped string

func (s skipped) Error() string { return string(s) }

// secondBuild is set in the environment of the second build, which is a process of this program.
const secondBuild = "CONCERTO_RELEASE_SECOND"

// rebuild builds the release again, with other settings of the user and without cached packages.
func (c *checker) rebuild(ctx context.Context) error {
	root := filepath.Join(c.dir, "another directory", "sources")
	if c.list.dirty() {
		root = c.options.Root // a clone would not have the changes
	} else if out, err := exec.CommandContext(ctx, "git", "clone", "--quiet", "--no-hardlinks", c.options.Root, root).CombinedOutput(); err != nil {
		return fmt.Errorf("git clone: %s", bytes.TrimSpace(out))
	}
	settings, err := buildEnvironment(ctx, root)
	if err != nil {
		return err
	}
	second, home := filepath.Join(c.dir, "second"), filepath.Join(c.dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	command := []string{"sh", "-c", `umask 077; exec "$0"`, exe}
	if runtime.GOOS == "windows" {
		command = []string{exe}
	}
	b := exec.CommandContext(ctx, command[0], command[1:]...)
	b.Dir, b.Stdout, b.Stderr = root, c.log, c.log
	b.Env = append(slices.DeleteFunc(settings, func(kv string) bool { return slices.Contains(goSettings, kv) }),
		"HOME="+home, "GOCACHE="+c.cache, secondBuild+"=1", "TZ=Pacific/Auckland", "LC_ALL=C.UTF-8", "OUT="+second, "VERSION="+c.version(), "BASE_URL="+c.options.BaseURL,
		"TARGETS="+c.options.Targets, "PLAYGROUND="+c.options.Playground, "SOURCE_DATE_EPOCH="+c.options.Epoch)
	if c.list.dirty() {
		b.Env = append(b.Env, "DIRTY=1")
	}
	if err := b.Run(); err != nil {
		return fmt.Errorf("the second build: %w", err)
	}
	return Compare(c.first, second)
}

// version returns the value of VERSION that the release had or would have had.
func (c *checker) version() string { return strings.TrimSuffix(c.list.Version, dirtyMark) }

func (l *List) dirty() bool { return strings.HasSuffix(l.Version, dirtyMark) }

// Compare returns an error that names the files which differ between two releases. Signatures may
// differ.
func Compare(first, second string) error {
	var differences []string
	names := map[string]bool{}
	for _, dir := range []string{first, second} {
		err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && d.Name() != signatureFile {
				rel, _ := filepath.Rel(dir, file) // file is below dir
				names[rel] = true
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for name := range names {
		a, errA := contentOf(filepath.Join(first, name))
		b, errB := contentOf(filepath.Join(second, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			differences = append(differences, filepath.ToSlash(name))
		}
	}
	if len(differences) > 0 {
		slices.Sort(differences)
		return fmt.Errorf("the releases differ in %s", strings.Join(differences, ", "))
	}
	return nil
}

// contentOf returns the content of a file of a release. The list is without the signature.
func contentOf(file string) ([]byte, error) {
	if filepath.Base(file) != listFile {
		return os.ReadFile(file)
	}
	l, err := ReadList(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	l.Files = slices.DeleteFunc(l.Files, func(f File) bool { return f.Name == signatureFile })
	return json.Marshal(l)
}

// emptyRoot returns a new directory with the given name, and the environment of a user whose home
// it is.
func (c *checker) emptyRoot(name string) (dir string, env []string, err error) {
	dir = filepath.Join(c.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", nil, err
	}
	for _, name := range []string{"PATH", "TMPDIR", "TMP", "TEMP", "SystemRoot", "COMSPEC", "PATHEXT"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return dir, append(env, "HOME="+dir, "USERPROFILE="+dir), nil
}

func (c *checker) file(name string) string { return filepath.Join(c.first, filepath.FromSlash(name)) }

// name returns a name of the host's files, as the table forms it.
func (c *checker) name(of func(*release, Target) string, t Target) string {
	return of(&release{version: c.list.Version}, t)
}

func (c *checker) checkArchive(ctx context.Context) error {
	root, env, err := c.emptyRoot("archive")
	if err != nil {
		return err
	}
	archive := c.file(c.name((*release).archiveName, c.host))
	if err := unpack(archive, root); err != nil {
		return err
	}
	folder := c.name((*release).folder, c.host)
	return c.exercise(ctx, filepath.Join(root, folder, c.host.exe("concerto")), env)
}

func (c *checker) checkInstallSh(ctx context.Context) error {
	if c.host.Kernel == "" {
		return skipped("this system has no sh")
	}
	root, env, err := c.emptyRoot("script")
	if err != nil {
		return err
	}
	if _, err := output(ctx, root, env, "sh", c.file("install.sh"), "--from", c.first); err != nil {
		return err
	}
	return c.exercise(ctx, filepath.Join(root, ".local", "bin", "concerto"), env)
}

func (c *checker) checkNPM(ctx context.Context) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return skipped("npm is not in PATH")
	}
	root, env, err := c.emptyRoot("npm")
	if err != nil {
		return err
	}
	wrapper, platform := c.file(c.name((*release).npmFileName, Target{})), c.file(c.name((*release).npmFileName, c.host))
	if _, err := output(ctx, root, env, "npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", wrapper, platform); err != nil {
		return err
	}
	return c.exercise(ctx, filepath.Join(root, "node_modules", ".bin", "concerto"), env)
}

// checkZips unpacks the archives for Windows. On another system it inspects their programs.
func (c *checker) checkZips(ctx context.Context) error {
	checked := 0
	for _, f := range c.list.Files {
		if f.Kind != "archive" || f.OS != "windows" {
			continue
		}
		root, _, err := c.emptyRoot("zip-" + f.Arch)
		if err != nil {
			return err
		}
		if err := unpack(c.file(f.Name), root); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		machine := map[string]uint16{"amd64": pe.IMAGE_FILE_MACHINE_AMD64, "arm64": pe.IMAGE_FILE_MACHINE_ARM64}[f.Arch]
		for _, program := range Programs {
			p, err := pe.Open(filepath.Join(root, strings.TrimSuffix(f.Name, ".zip"), program+".exe"))
			if err != nil {
				return err
			}
			if p.Close(); p.Machine != machine {
				return fmt.Errorf("%s is for the machine %#x", program, p.Machine)
			}
		}
		checked++
	}
	if checked == 0 {
		return skipped("the release has none")
	}
	return nil
}

// output runs a command and returns its standard output.
func output(ctx context.Context, dir string, env []string, command ...string) (string, error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir, c.Env = dir, env
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(command, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String(), nil
}
