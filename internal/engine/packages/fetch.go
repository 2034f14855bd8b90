// Package packages fetches the packages of a project, selects their versions, and writes the
// manifest, the lock file and the vendor directory (spec/46-packages.md).
package packages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/packages/pkgcache"
	"github.com/concerto-lang/concerto/internal/process/git"
)

// stall is the time without a received byte after which a fetch fails.
const stall = 60 * time.Second

// atOnce is the number of packages that are fetched at the same time.
const atOnce = 8

// Fetcher fetches packages with git. It is safe for concurrent use after it is created.
type Fetcher struct {
	Environ []string
	Dir     string // directory in which git is started
	Cache   pkgcache.Cache
	Offline bool
	// Progress is called before a package is fetched, never concurrently; nil for no calls.
	Progress func(line string)
	// Stall replaces the time without a received byte after which a fetch fails; 0 for 60 s.
	Stall time.Duration

	mu     sync.Mutex
	remote *git.Remote
	sweep  sync.Once
}

// leftoverAge is the age from which temporary directories in the cache belong to a command that was
// killed.
const leftoverAge = 24 * time.Hour

// removeLeftovers removes temporary directories that killed commands have left in the cache.
func removeLeftovers(cache string) {
	for _, pattern := range []string{".fetch-*", "packages/.new-*", "packages/.old-*"} {
		found, _ := filepath.Glob(filepath.Join(cache, filepath.FromSlash(pattern))) // the pattern is valid
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > leftoverAge {
				_ = os.RemoveAll(path) // the next command tries again
			}
		}
	}
}

// fetched is a package that was fetched.
type fetched struct {
	files        []pkg.File
	commit, hash string
}

// want is a package to fetch. Its commit is known if it is in the lock file.
type want struct {
	name    string // name in messages
	address pkg.Address
	dir     string
	version string // CommitVersion for a required commit
	commit  string // "" if it is not known
}

func (w *want) tag() string { return pkg.TagOf(w.version, w.dir) }

// git returns the git of the user.
func (f *Fetcher) git(ctx context.Context) (*git.Remote, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.remote == nil {
		r, err := git.NewRemote(ctx, f.Environ, f.Dir)
		if err != nil {
			return nil, pkg.Errorf(pkg.Unavailable, "", "%v", err)
		}
		f.remote = r
	}
	return f.remote, nil
}

// report passes a line to Progress.
func (f *Fetcher) report(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Progress != nil {
		f.Progress(fmt.Sprintf(format, args...))
	}
}

// repository creates an empty repository in the cache. The caller removes its directory.
func (f *Fetcher) repository(ctx context.Context) (*git.Bare, error) {
	remote, err := f.git(ctx)
	if err != nil {
		return nil, err
	}
	cache, err := f.Cache.Dir()
	if err == nil {
		err = os.MkdirAll(cache, 0o755)
	}
	var dir string
	if err == nil {
		f.sweep.Do(func() { removeLeftovers(cache) })
		dir, err = os.MkdirTemp(cache, ".fetch-*")
	}
	if err != nil {
		return nil, pkg.Errorf(pkg.Unavailable, "set "+pkgcache.Variable+" to a directory that can be written", "cannot write to the cache of packages: %v", err)
	}
	b, err := remote.NewBare(dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, pkg.Errorf(pkg.Unavailable, "", "cannot write to the cache of packages: %v", err)
	}
	return b, nil
}

// run runs git in a repository, and stops it if it receives nothing for too long.
func (f *Fetcher) run(ctx context.Context, b *git.Bare, address pkg.Address, args ...string) (string, error) {
	limit := f.Stall
	if limit == 0 {
		limit = stall
	}
	watched, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	stalled := fmt.Errorf("%s sent nothing for %v", address.Text, limit)
	go func() {
		last, since := int64(-1), time.Now()
		ticker := time.NewTicker(limit / 60)
		defer ticker.Stop()
		for {
			select {
			case <-watched.Done():
				return
			case <-ticker.C:
			}
			if n := b.Received(); n != last {
				last, since = n, time.Now()
			} else if time.Since(since) > limit {
				stop(stalled)
				return
			}
		}
	}()
	out, err := b.Run(watched, address.Scheme, args...)
	if err != nil && errors.Is(context.Cause(watched), stalled) {
		err = stalled
	}
	return out, err
}

// reason returns the line of git that has the reason, without secrets.
func reason(err error) string {
	var failed *git.Error
	if !errors.As(err, &failed) {
		return redact(err.Error())
	}
	lines := strings.Split(strings.TrimSpace(failed.Stderr), "\n")
	for _, line := range lines {
		for _, prefix := range []string{"fatal: ", "error: ", "ERROR: "} {
			if rest, found := strings.CutPrefix(strings.TrimSpace(line), prefix); found {
				return redact(strings.TrimSuffix(rest, "."))
			}
		}
	}
	return redact(strings.TrimSpace(lines[len(lines)-1]))
}

var userInfo = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(://)[^/@\s']*@`) })

// redact removes user names and passwords from addresses, which settings of the user may have
// added.
func redact(text string) string { return userInfo().ReplaceAllString(text, "$1") }

// unavailable returns the error for a repository that could not be read.
func unavailable(address pkg.Address, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return pkg.Errorf(pkg.Unavailable, "", "could not fetch from %s: %s; nothing was changed", address.Text, reason(err))
}

// tag is a tag of a repository with the commit that it names.
type tag struct{ name, commit string }

// tags returns the tags of a repository.
func (f *Fetcher) tags(ctx context.Context, address pkg.Address) ([]tag, error) {
	if f.Offline {
		return nil, pkg.Errorf(pkg.Unavailable, "", "the versions of %s are not known, and --offline was given", address.Text)
	}
	b, err := f.repository(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(b.Dir()) }() // a leftover in the cache is harmless
	out, err := f.run(ctx, b, address, "ls-remote", "--tags", "--", address.Text)
	if err != nil {
		return nil, unavailable(address, err)
	}
	var all []tag
	for line := range strings.SplitSeq(out, "\n") {
		id, ref, found := strings.Cut(line, "\t")
		name, isTag := strings.CutPrefix(ref, "refs/tags/")
		if !found || !isTag {
			continue
		}
		if base, isPeeled := strings.CutSuffix(name, "^{}"); isPeeled && len(all) > 0 && all[len(all)-1].name == base {
			all[len(all)-1].commit = id // the commit of an annotated tag
			continue
		}
		all = append(all, tag{name, id})
	}
	return all, nil
}

// fetch fetches a package and checks its content.
func (f *Fetcher) fetch(ctx context.Context, w want) (*fetched, error) {
	if f.Offline {
		return nil, pkg.Errorf(pkg.Unavailable, "run the command once without --offline", "%s is not in the cache, and --offline was given", w.name)
	}
	f.report("fetching %s from %s", w.name, redact(w.address.Text))
	b, err := f.repository(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(b.Dir()) }() // a leftover in the cache is harmless
	if err := f.receive(ctx, b, &w); err != nil {
		return nil, err
	}
	objects, err := b.Objects(ctx)
	if err != nil {
		return nil, pkg.Errorf(pkg.Unavailable, "", "%v", err)
	}
	defer objects.Close()
	return readPackage(objects, &w)
}

// target is the ref of the commit or tag that was fetched.
const target = "refs/concerto/wanted"

// receive fetches the commit of a package, or its tag.
func (f *Fetcher) receive(ctx context.Context, b *git.Bare, w *want) error {
	get := func(ref string) error {
		args := []string{"fetch", "--quiet", "--no-tags", "--depth=1", "--", w.address.Text, "+" + ref + ":" + target}
		_, err := f.run(ctx, b, w.address, args...)
		if err != nil && isShallowRefused(err) {
			args = slices.Delete(args, 3, 4)
			_, err = f.run(ctx, b, w.address, args...)
		}
		return err
	}
	var err error
	if w.commit != "" {
		if err = get(w.commit); err == nil {
			return nil
		}
	}
	if w.version == pkg.CommitVersion || !isRefusal(err) {
		return f.explain(ctx, w, err)
	}
	if err = get("refs/tags/" + w.tag()); err != nil {
		return f.explain(ctx, w, err)
	}
	return nil
}

// isRefusal reports whether a server was reached and did not send a commit. err is nil if none was
// requested.
func isRefusal(err error) bool {
	var failed *git.Error
	if err == nil {
		return true
	}
	return errors.As(err, &failed) && (strings.Contains(failed.Stderr, "not our ref") || strings.Contains(failed.Stderr, "unadvertised object") ||
		strings.Contains(failed.Stderr, "couldn't find remote ref") || strings.Contains(failed.Stderr, "remote error"))
}

// isShallowRefused reports whether a server cannot send a part of the history.
func isShallowRefused(err error) bool {
	var failed *git.Error
	return errors.As(err, &failed) && strings.Contains(failed.Stderr, "shallow")
}

// explain returns the error for a fetch that has failed. A missing tag or commit is an error of the
// requirement.
func (f *Fetcher) explain(ctx context.Context, w *want, err error) error {
	if !isRefusal(err) {
		return unavailable(w.address, err)
	}
	if w.version == pkg.CommitVersion {
		return pkg.Errorf(pkg.Refused, "check the commit; a branch is not a version", "%s has no commit %s", w.address.Text, w.commit)
	}
	all, tagsErr := f.tags(ctx, w.address)
	if tagsErr != nil {
		return tagsErr
	}
	if w.commit == "" {
		return missingTag(w.address, w.tag(), w.dir, all)
	}
	for _, t := range all {
		if t.name == w.tag() && t.commit != w.commit {
			return moved(w.tag(), w.address, w.commit, t.commit)
		}
	}
	return pkg.Errorf(pkg.Changed, "require another version, and run `concerto update --lock`", "%s has no tag %s any more, and no commit %s", w.address.Text, w.tag(), w.commit)
}

// moved returns the error for a tag that names another commit than the lock file.
func moved(tag string, address pkg.Address, locked, found string) error {
	return pkg.Errorf(pkg.Changed, "ask the owner of the repository; to accept the new content, remove the package and add it again",
		"tag %s of %s was moved: %s has commit %s, the repository has %s", tag, address.Text, pkg.LockFile, locked, found)
}

// missingTag returns the error for a tag that does not exist. It lists the nearest ones.
func missingTag(address pkg.Address, name, dir string, all []tag) error {
	versions := releases(all, dir, true)
	if len(versions) == 0 {
		return pkg.Errorf(pkg.Refused, "a package needs a tag such as `"+pkg.TagOf("v1.0.0", dir)+"`; or require a commit", "%s has no tag %s, and no other version", address.Text, name)
	}
	hint := "its versions are "
	if len(versions) > 5 {
		hint = "its newest versions are "
	}
	var names []string
	for _, v := range slices.Backward(versions) {
		if names = append(names, pkg.TagOf(v.Text, dir)); len(names) == 5 {
			break
		}
	}
	return pkg.Errorf(pkg.Refused, hint+strings.Join(names, ", "), "%s has no tag %s", address.Text, name)
}

// releases returns the versions that tags name, in order. Pre-releases are included if all is true.
func releases(tags []tag, dir string, all bool) []pkg.Version {
	var out []pkg.Version
	for _, t := range tags {
		if v, ok := pkg.VersionOfTag(t.name, dir); ok && (all || !v.IsPrerelease()) {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, pkg.Version.Compare)
	return out
}

// each calls do for the numbers below n, at most atOnce at the same time. It returns the error of
// the lowest number.
func each(n int, do func(i int) error) error {
	errs := make([]error, n)
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(i)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Missing stores packages of the lock file that are not in the cache.
func (f *Fetcher) Missing(ctx context.Context, all []*pkg.Package) error {
	return each(len(all), func(i int) error { return f.restore(ctx, all[i].Locked, all[i].Name()) })
}

// restore fetches a package of the lock file and stores it.
func (f *Fetcher) restore(ctx context.Context, p *pkg.Locked, name string) error {
	_, err := f.store(ctx, want{name, p.Address(), p.Dir, p.Version, p.Commit}, p)
	return err
}

// store fetches a package and stores it. If it is in the lock file, its content must be the same.
func (f *Fetcher) store(ctx context.Context, w want, locked *pkg.Locked) (*fetched, error) {
	got, err := f.fetch(ctx, w)
	if err != nil {
		return nil, err
	}
	switch {
	case locked == nil:
	case got.commit != locked.Commit:
		return nil, moved(w.tag(), w.address, locked.Commit, got.commit)
	case got.hash != locked.Hash:
		return nil, pkg.Errorf(pkg.Changed, "restore "+pkg.LockFile+" from version control, or ask the owner of the repository",
			"%s serves other content than %s expects for %s: expected %s, found %s", w.address.Text, pkg.LockFile, w.name, locked.Hash, got.hash)
	}
	_, err = f.Cache.Write(got.files)
	return got, err
}
