package sim

import "testing"

// workerMutants are faults that the world of an engine finds. Those of the store in memory are
// faults of a database.
var workerMutants = []mutant{
	{"a writer with a lower epoch is admitted", "internal/testkit/memory/writer.go", `return c.epoch == w.epoch && c.owner != ""`, `return c.owner != ""`},
	{"a lease is renewed after it has expired", "internal/testkit/memory/engine.go", "if !s.isLive(id) {\n\t\treturn journal.ErrLost", "if s.workers[id] == nil {\n\t\treturn journal.ErrLost"},
	{"the run of a live worker is claimed", "internal/testkit/memory/engine.go", "w.until.Add(delay(c.crashes))", "w.until.Add(delay(c.crashes) - 3*time.Second)"},
	{"a claim does not count the runs in progress", "internal/testkit/memory/engine.go", "if !crashed && !c.stop && s.isAtLimit(c) {", "if false {"},
	{"a parked run with an answer is not claimed", "internal/testkit/memory/engine.go", "!now.Before(*c.wakeAt) || len(c.answers) > 0", "!now.Before(*c.wakeAt)"},
	{"a second answer replaces the first", "internal/testkit/memory/store.go", "if x, ok := c.answers[id]; ok {\n\t\t\tfirst = &x", "if x, ok := c.answers[id]; ok && false {\n\t\t\tfirst = &x"},
	{"a group whose response was lost is stored twice", "internal/testkit/memory/writer.go", "case c.at == g.upTo && g.upTo != g.after:\n\t\treturn nil\n\tcase c.at != g.after:", "case c.at != g.after && c.at != g.upTo:"},
	{"a worker claims more runs than it may execute", "internal/engine/worker/worker.go", "free, executing, refused := w.Row.Concurrency-len(w.live),", "free, executing, refused := w.Row.Concurrency,"},
	{"a claim whose response was lost is not looked for", "internal/engine/worker/worker.go", "if !w.unsure.IsZero() {", "if false {"},
	{"a worker that has lost its lease does not register again", "internal/engine/worker/worker.go", "if parent.Err() == nil {\n\t\t\t\treturn false\n\t\t\t}", "if parent.Err() == nil {\n\t\t\t\tcontinue\n\t\t\t}"},
	{"an answer is not removed", "internal/engine/durable/answers.go", "i.run.c.Writer.ConsumeAnswer(id)", "_ = id"},
	{"the key of an effect differs in each process", "internal/engine/durable/recorder.go", "return fmt.Sprintf(\"%s-%d\", r.c.ID, e)", "return fmt.Sprintf(\"%s-%d-%p\", r.c.ID, e, r)"},
}

// TestWorkerMutants is like TestMutants for the world of an engine.
func TestWorkerMutants(t *testing.T) {
	plant(t, workerMutants, "^Test(ReplayWorkers|Workers)$", "1500")
}
