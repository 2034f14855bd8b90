package vm

import "github.com/concerto-lang/concerto/ir"

// Going from line to line. For a Stepper the loader puts an opStep before the first instruction of
// each line of the program's own files. Without one there is none.

// Stepper is a Journal that is shown each line of the program's own files before it is run.
type Stepper interface {
	Onlooker
	// Step is called on the run's goroutine. The Scene is good until it returns; when it gives
	// false the run is left where it is, and its error is ErrSuspended.
	Step(Scene) (goOn bool)
}

// steps says before which instructions of a block a line begins.
func (m *loader) steps(f *function, b *ir.Block) map[int]bool {
	if _, is := m.config.Journal.(Stepper); !is {
		return nil
	}
	at := map[int]bool{}
	last, from := 0, -1
	for _, p := range b.Positions {
		file, within := m.fileAt(f, b, p.PC)
		if file < 0 || file >= len(m.program.Files) || m.program.Files[file].Text == "" {
			last = 0
			continue
		}
		if p.Line != last || within != from {
			at[p.PC] = true
		}
		last, from = p.Line, within
	}
	return at
}

// emitMarks puts before instruction i what stops there.
func (m *loader) emitMarks(i int, marked, stepped bool) {
	if marked {
		m.emitIns(ins{op: opMark}, i)
	}
	if stepped {
		m.emitIns(ins{op: opStep}, i)
	}
}

// fileAt is the file in which an instruction stands, and the inlined call, -1 for none.
func (m *loader) fileAt(f *function, b *ir.Block, pc int) (file, within int) {
	for i, x := range b.Inlined { // the inner ones first
		if x.From <= pc && pc < x.To && x.Function >= 0 && x.Function < len(m.program.Functions) {
			return m.program.Functions[x.Function].File, i
		}
	}
	return f.info.File, -1
}

// doStep shows where the run stands. It takes nothing of the budget, so that whoever looks on
// does not change what comes when.
func doStep(t *task, _ *ins) status {
	t.budget += slowCost
	if s, is := t.m.config.Journal.(Stepper); is && !s.Step(Scene{t}) {
		t.m.fatal = ErrSuspended
		panic(suspending{})
	}
	return running
}
