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
	// End removes the directory if nothing in it has changed. It reports whether the directory
	// remains.
	End(ctx context.Context) (remains bool, err error)
	// Layout returns the layout of a worktree, or nil for a copy.
	Layout(ctx context.Context) (*Layout, error)
	// SaveSession records that a conversation with a host took place in a directory that remains.
	SaveSession(host, session string) error
}

// Directories creates and finds the working directories of hosts. Store contains the workspaces of
// the program; nil for none.
type Directories struct{ Store *Store }

// Make creates a directory; see the function Make.
func (d Directories) Make(ctx context.Context, kind, name string, p Place) (Directory, error) {
	return found(Make(ctx, kind, name, d.shared(p)))
}

// Reopen returns an existing directory; see the function Reopen.
func (d Directories) Reopen(name, path, branch string, p Place) Directory {
	return Reopen(name, path, branch, d.shared(p))
}

// FindSession returns the directory of a conversation, or nil; see the function FindSession.
func (d Directories) FindSession(host, session string, p Place) Directory {
	return orNone(FindSession(host, session, d.shared(p)))
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
	return Reopen(w.Name, w.Dir, w.Branch, w.store.place), nil
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
		p.Uses = d.Store.place.Uses
	}
	return p
}

func found(d *Dir, err error) (Directory, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

func orNone(d *Dir) Directory {
	if d == nil {
		return nil
	}
	return d
}
