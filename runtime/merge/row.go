package merge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/runtime/world/sqlitestore"
)

// State is the state of a change.
type State string

// The states.
const (
	Queued   State = "queued"
	Landing  State = "landing" // the target, or a pull request, is about to change
	Merged   State = "merged"
	Proposed State = "proposed" // there is a pull request
	InConfl  State = "conflict" // it conflicts with the target
	Red      State = "red"      // it does not pass the gate
	Semantic State = "semantic" // it does not pass the gate together with another change
	Failed   State = "failed"   // its files cannot be prepared, or a commit of a submodule is missing
	Unknown  State = "unknown"  // whether there is a pull request is unknown
	Dropped  State = "dropped"
)

// HasFailed reports whether a change needs a correction before it can be merged.
func (s State) HasFailed() bool {
	return s == InConfl || s == Red || s == Semantic || s == Failed || s == Unknown || s == Dropped
}

// Change is a change in a queue. Merged is the target's commit that contains it, and URL the
// address of its pull request.
type Change struct {
	ID            string   `json:"id"`
	Title         string   `json:"title"`
	Branch        string   `json:"branch"`
	Commit        string   `json:"commit"`
	State         State    `json:"state"`
	Priority      int      `json:"priority"`
	After         []string `json:"after"`
	Merged        *string  `json:"merged"`
	URL           *string  `json:"url"`
	Message       string   `json:"message"`
	Paths         []string `json:"paths"`
	ConflictsWith []string `json:"conflicts_with"`

	workspace string // name of its workspace, or ""
	front     bool   // it is before all others
	place     int64  // changes with the same priority are in the order of places
	old, new  string // of a change that lands
	fixes     int64  // how often a problem was resolved
	run       string // Run.Token of the run that has merged, proposed or failed it, or ""
}

func (c *Change) change() change { return change{c.ID, c.Title, c.Commit} }

const columns = `id, title, branch, workspace, commit_id, state, priority, after, front, place, merged, url, message, paths, conflicts_with, old, new, fixes, run`

// changes returns the changes of a queue in the order in which they are tried. It must be called in
// a transaction.
func (d *database) changes(t *tx, queue string) (all []*Change, err error) {
	return all, t.Run(`SELECT `+columns+` FROM change WHERE queue = ? ORDER BY front DESC, priority DESC, place`, func(r sqlitestore.Row) error {
		c := &Change{ID: r.Text(0), Title: r.Text(1), Branch: r.Text(2), workspace: r.Text(3), Commit: r.Text(4), State: State(r.Text(5)), Priority: int(r.Int(6)), front: r.Int(8) != 0, place: r.Int(9),
			Merged: r.TextOrNil(10), URL: r.TextOrNil(11), Message: r.Text(12), old: r.Text(15), new: r.Text(16), fixes: r.Int(17), run: r.Text(18)}
		for i, to := range map[int]*[]string{7: &c.After, 13: &c.Paths, 14: &c.ConflictsWith} {
			*to = []string{}
			if err := json.Unmarshal([]byte(r.Text(i)), to); err != nil {
				return fmt.Errorf("%w: %s: the change %s has an invalid list", ErrFile, d.path, c.ID)
			}
		}
		all = append(all, c)
		return nil
	}, queue)
}

// save stores a change. It must be called in a transaction.
func save(t *tx, queue string, c *Change) error {
	list := func(words []string) string {
		text, _ := json.Marshal(append([]string{}, words...)) // texts
		return string(text)
	}
	return t.Run(`INSERT OR REPLACE INTO change (queue, `+columns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, nil,
		queue, c.ID, c.Title, c.Branch, c.workspace, c.Commit, string(c.State), int64(c.Priority), list(c.After), c.front, c.place, c.Merged, c.URL, c.Message, list(c.Paths), list(c.ConflictsWith), c.old, c.new, c.fixes, c.run)
}

// errChanged means that a change was replaced, dropped or moved since it was read.
var errChanged = errors.New("the change was replaced or dropped")

// update changes rows of a queue. The error is errChanged if one of them is no longer queued with
// the same commit; then none is changed.
func (q *Queue) update(of []*Change, set func(*Change)) error {
	return q.edit(of, Queued, set)
}

// edit is update for changes in a state.
func (q *Queue) edit(of []*Change, state State, set func(*Change)) error {
	d, err := q.database()
	if err != nil {
		return err
	}
	return d.transaction(func(t *tx) error {
		now, err := d.changes(t, q.rules.name)
		if err != nil {
			return err
		}
		for _, c := range of {
			i := slices.IndexFunc(now, func(x *Change) bool { return x.ID == c.ID })
			if i < 0 || now[i].State != state || now[i].Commit != c.Commit {
				return errChanged
			}
			*c = *now[i]
			set(c)
			if err := save(t, q.rules.name, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// requeue makes a change wait for its turn, after all others.
func requeue(c *Change, all []*Change) {
	c.State, c.front, c.place = Queued, false, 1
	for _, x := range all {
		c.place = max(c.place, x.place+1)
	}
	c.Message, c.Paths, c.ConflictsWith, c.old, c.new, c.fixes = "", []string{}, []string{}, "", "", 0
	c.Merged, c.URL, c.run = nil, nil, ""
}
