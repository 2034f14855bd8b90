package workspace

import (
	"context"
	"fmt"
)

// Directory is the working directory of a host's process. *Dir implements it. It is an interface so
// that a program whose hosts have no directories of their own does not link git.
type Directory interface {
	// Names returns the name of the directory, its path, and the branch of a worktree.
	Names() (name, path, branch string)
	// Ending notes that the exchange has ended, and that End will follow.
	Ending()
	// End removes the directory of an exchange if nothing in it has changed. It reports whether the
	// directory remains.
	End(ctx context.Context) (remains bool, err error)
	// Leave releases the directory of an exchange that continues in another process of the run.
	Leave()
	// Layout returns the layout of a worktree, or nil for a copy.
	Layout(ctx context.Context) (*Layout, error)
	// SaveSession records that a conversation with a host took place in the directory.
	SaveSession(host, session string) error
}

// Directories creates and finds the working directories of hosts. Store contains the workspaces of
// the program; nil for none.
type Directories struct{ Store *Store }

// Make creates a directory; see the function Make.
func (d Directories) Make(ctx context.Context, kind, name string, x Exchange, p Place) (Directory, error) {
	return found(Make(ctx, kind, name, x, d.shared(p)))
}

// Adopt returns an existing directory; see the function Adopt.
func (d Directories) Adopt(ctx context.Context, name string, x Exchange, p Place) (Directory, error) {
	return found(Adopt(ctx, name, x, d.shared(p)))
}

// Owned returns the directories of the run's exchanges with a host; see the function Owned.
func (d Directories) Owned(host string, p Place) map[string]string { return Owned(host, d.shared(p)) }

// FindSession returns the name of the directory of a conversation, or ""; see the function
// FindSession.
func (d Directories) FindSession(host, session string, p Place) string {
	return FindSession(host, session, d.shared(p))
}

// Use returns the directory of a workspace of the program.
func (d Directories) Use(ctx context.Context, name string) (Directory, error) {
	if d.Store == nil {
		return nil, fmt.Errorf("there are no workspaces")
	}
	w, err := d.Store.useAny(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Dir{Name: w.Name, Path: w.Dir, Branch: w.Branch, place: w.store.place, store: w.store}, nil
}

// Session returns the conversation with a host that took place last in a workspace of the program,
// or "".
func (d Directories) Session(name, host string) string {
	if d.Store == nil {
		return ""
	}
	r, err := d.Store.place.read(name)
	if err != nil || r == nil {
		return ""
	}
	return r.Sessions[host]
}

// shared returns a place whose workspaces this process shares with the program.
func (d Directories) shared(p Place) Place {
	if d.Store != nil {
		of := &d.Store.place
		p.Uses, p.Run, p.Journal, p.IsPending = of.Uses, of.Run, of.Journal, of.IsPending
	}
	return p
}

func found(d *Dir, err error) (Directory, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}
