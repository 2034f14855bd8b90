package merge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/runtime/workspace"
)

// proposal creates the pull request of a change.
type proposal struct {
	target target
	store  *workspace.Store
	folder string // of the queue's files
	change change
	branch string
}

// errOpen means that it is not known whether there is a pull request.
var errOpen = errors.New("it is not known whether there is a pull request")

// run pushes the change's branch and creates the pull request, unless there is one. It returns its
// URL, or nil if the command has printed none. The error wraps errOpen after a failure.
func (p *proposal) run(ctx context.Context, step func(string)) (*string, error) {
	commands := p.target.rules.PullRequest
	url, found, err := p.find(ctx)
	if err != nil {
		return nil, err
	}
	step("push branch")
	if _, err := p.target.repo.Git.Run(ctx, p.target.repo.Main, "push", "--quiet", "--no-follow-tags", p.target.rules.remote(), p.change.commit+":refs/heads/"+p.branch); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%w: could not push %s: %w", errOpen, p.branch, err)
	}
	if found {
		return url, nil
	}
	step("create")
	exit, out, err := p.execute(ctx, commands.Create)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err == nil && exit == 0:
		step("created")
		return urlIn(out), nil
	}
	if url, found, findErr := p.find(ctx); findErr == nil && found {
		return url, nil
	}
	what := fmt.Sprintf("exited with status %d", exit)
	if err != nil {
		what = err.Error()
	}
	return nil, fmt.Errorf("%w: %s %s: %s", errOpen, commands.Create[0], what, strings.TrimSpace(out))
}

// find returns whether there is a pull request, if a command is configured that finds it.
func (p *proposal) find(ctx context.Context) (url *string, found bool, err error) {
	if len(p.target.rules.PullRequest.Find) == 0 {
		return nil, false, nil
	}
	exit, out, err := p.execute(ctx, p.target.rules.PullRequest.Find)
	switch {
	case ctx.Err() != nil:
		return nil, false, context.Cause(ctx)
	case err != nil:
		return nil, false, fmt.Errorf("%w: %w", errOpen, err)
	case exit > 1:
		return nil, false, fmt.Errorf("%w: %s exited with status %d: %s", errOpen, p.target.rules.PullRequest.Find[0], exit, strings.TrimSpace(out))
	}
	return urlIn(out), exit == 0, nil
}

// execute runs a command with its placeholders replaced, in the manifest's directory.
func (p *proposal) execute(ctx context.Context, command []string) (exit int, out string, err error) {
	limited, cancel := context.WithTimeout(ctx, p.target.rules.timeout)
	defer cancel()
	body, err := p.writeBody(ctx)
	if err != nil {
		return 0, "", err
	}
	values := map[string]string{"id": p.change.id, "branch": p.branch, "into": p.target.rules.Into, "title": p.change.title, "body": body, "commit": p.change.commit, "remote": p.target.rules.remote()}
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = expand(word, values)
	}
	text, err := newOutput(filepath.Join(p.folder, p.change.id+".pull-request.log"))
	if err != nil {
		return 0, "", err
	}
	exit, err = p.store.Execute(limited, p.store.Root(), words, nil, text)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s timed out after %g s", words[0], p.target.rules.timeout.Seconds())
	}
	out, closeErr := text.close()
	return exit, out, errors.Join(err, closeErr)
}

// writeBody writes the messages of the change's commits to a file, and returns its path.
func (p *proposal) writeBody(ctx context.Context) (string, error) {
	text, err := p.target.repo.Git.Run(ctx, p.target.repo.Main, "log", "--reverse", "--no-merges", "--format=%B", p.target.rules.ref()+".."+p.change.commit, "--")
	if err != nil {
		return "", workspace.Failure(err, "", "list the commits of "+p.change.id)
	}
	if err := os.MkdirAll(p.folder, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(p.folder, p.change.id+".md")
	return path, os.WriteFile(path, []byte(text+"\n"), 0o644)
}

// expand replaces the placeholders of a word. `{{` is `{`. The manifest has checked the names.
func expand(word string, values map[string]string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(word, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if after, escaped := strings.CutPrefix(rest, "{"); escaped {
			b.WriteByte('{')
			word = after
			continue
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteString(values[name])
		word = after
	}
}

// urlIn returns the last word of a text that begins with http, or nil.
func urlIn(text string) (url *string) {
	for _, word := range strings.Fields(text) {
		if strings.HasPrefix(word, "http") {
			url = &word
		}
	}
	return url
}

// propose creates the pull request of a change.
func (b *batch) propose(ctx context.Context, l layer) error {
	q := b.r.q
	q.m.step("landing")
	if err := q.update([]*Change{l.change}, func(c *Change) { c.State, c.old, c.new = Landing, b.old, l.merged.commit }); err != nil {
		return err
	}
	p := q.proposalOf(b.target, l.change)
	url, err := p.run(ctx, q.m.step)
	return b.r.recordProposal(ctx, l.change, url, err)
}

func (q *Queue) proposalOf(t target, c *Change) *proposal {
	return &proposal{target: t, store: q.m.o.Store, folder: q.m.folder(&q.rules), change: c.change(), branch: c.Branch}
}

// recordProposal records the outcome of a proposal.
func (r *runner) recordProposal(ctx context.Context, c *Change, url *string, err error) error {
	switch {
	case ctx.Err() != nil:
		return err // the next run finds out what has happened
	case err == nil:
		err := r.q.edit([]*Change{c}, Landing, func(c *Change) { c.State, c.URL, c.Message, c.run = Proposed, url, "", r.o.Token })
		if err == nil && r.o.Proposed != nil {
			r.o.Proposed(c)
		}
		return err
	case !errors.Is(err, errOpen):
		return errors.Join(err, r.q.edit([]*Change{c}, Landing, func(c *Change) { c.State = Queued }))
	}
	return r.recordUnknown(c, err.Error())
}

// recordUnknown records that it is not known whether a change was proposed.
func (r *runner) recordUnknown(c *Change, message string) error {
	if err := r.q.edit([]*Change{c}, Landing, func(c *Change) { c.State, c.Message, c.run = Unknown, message, r.o.Token }); err != nil {
		return err
	}
	r.reportFailed(c)
	return nil
}

// settleProposal finds out whether pull requests exist that an interrupted process was creating.
func (q *Queue) settleProposal(ctx context.Context, r *runner, t target, changes []*Change) error {
	for _, c := range changes {
		if len(q.rules.PullRequest.Find) == 0 {
			if err := r.recordUnknown(c, errOpen.Error()); err != nil {
				return err
			}
			continue
		}
		url, found, err := q.proposalOf(t, c).find(ctx)
		if err == nil && !found {
			err = q.edit([]*Change{c}, Landing, func(c *Change) { c.State = Queued })
		} else {
			err = r.recordProposal(ctx, c, url, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
