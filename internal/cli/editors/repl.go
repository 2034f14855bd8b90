package editors

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/help"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/editor/doc"
	"github.com/concerto-lang/concerto/internal/editor/repl"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/vm"
)

const replCommands = `  :type EXPR     print the type of an expression without running it
  :doc NAME      show the documentation of a name
  :load FILE     run the text of a file as if you typed it
  :time INPUT    run the input and print how long it took
  :save FILE     write the input so far to a file, as a program
  :reset         start again with an empty session
  :help          show these commands
  :quit          end the session, as Ctrl-D, exit and quit do
`

// replCommand is the command repl with its options.
type replCommand struct {
	console *console.Console

	world   program.WorldFlags
	emit    string
	noInput bool
}

func NewRepl(a *console.Console) *cobra.Command {
	cmd := replCommand{console: a}
	c := &cobra.Command{
		Use:   "repl [PATH]",
		Short: "Run code interactively",
		Long: `Runs statements, declarations and expressions as you type them; _ is the last value. An open
bracket continues the input on the next line. Tab completes, Ctrl-C interrupts, Ctrl-D ends the
session. A declaration replaces the one with the same name. Without a terminal, repl prints no
prompt and exits with code 1 at the first error.

  > let xs = [3, 1, 2];
  > xs.sort()
  [1,2,3]
  > _.len()
  3

Commands:
` + strings.TrimSuffix(replCommands, "\n"),
		Example: `  concerto repl                use the manifest in this directory or above, if there is one
  concerto repl triage.conc    load the declarations of a program
  concerto repl --mock         let agents answer without a model`,
		Args: console.OnePath(true),
		RunE: func(c *cobra.Command, args []string) error {
			p, rest := console.Path(c, args)
			return cmd.startSession(c.Context(), p, rest)
		},
	}
	c.Flags().StringVar(&cmd.emit, "emit", "text", "print emits as `FORM`: text, ndjson or none (default text)")
	cmd.world.Add(c)
	c.Flags().BoolVar(&cmd.noInput, "no-input", false, "never prompt on the terminal")
	cmdline.Group(c, "Answers and prompts", "answers", "answer", "emit-handler", "pass-env", "no-input")
	cmdline.Group(c, "Permissions", "permissions", append(program.PermissionRows(), "trust")...)
	return c
}

// lineSource returns the lines of a session.
type lineSource interface {
	// next returns a line. The error is io.EOF at the end of the input, and console.ErrInterrupted
	// if the user pressed Ctrl-C.
	next(ctx context.Context, prompt string) (string, error)
	// interactive reports whether a user types the lines. Then an error does not end the session.
	interactive() bool
	// setSession sets the session that completes the input.
	setSession(*repl.Session)
	// remember adds an entry, which may have several lines, to the history.
	remember(entry string)
}

// The prompts of the first line of an input and of further lines.
const (
	firstPrompt   = "> "
	furtherPrompt = ". "
)

// errReset requests a new session.
var errReset = errors.New("reset")

func (cmd *replCommand) startSession(parent context.Context, path string, args []string) error {
	if strings.HasSuffix(path, driver.IRExt) {
		return console.Usage("name the source file or the project", "`concerto repl` requires source files")
	}
	if err := console.OneOf("--emit", cmd.emit, program.ModeNames); err != nil {
		return err
	}
	cmd.console.NoInput = cmd.noInput
	ctx, signals := catchLines(parent)
	defer signals.Stop()
	lines, end := openLines(cmd.console)
	defer end()
	signals.endsSession = !lines.interactive()
	for {
		err := cmd.replSession(ctx, path, args, lines, signals)
		if !errors.Is(err, errReset) {
			return err
		}
	}
}

// replSource returns the program whose declarations a session can use.
func replSource(a *console.Console, path string) driver.Request {
	s := driver.Request{Path: path, Dir: a.Dir, Plain: true, Packages: a.Packages()}
	if path == "" {
		s.Inline = &driver.Inline{Name: repl.Name, Text: []byte(repl.Empty)}
	}
	return s
}

// replSession runs a session until it ends or the user requests a new one.
func (cmd *replCommand) replSession(ctx context.Context, path string, args []string, lines lineSource, signals *lineInterrupts) error {
	s := replSource(cmd.console, path)
	p, o, err := program.Prepare(ctx, cmd.console, s, &cmd.world, signals.Handler)
	if err != nil {
		return err
	}
	s.Mock = cmd.world.Mock
	o.Args = args
	endTools, err := program.RegisterTools(ctx, cmd.console, &cmd.world.Tools, p, &o)
	if err != nil {
		return err
	}
	endAudit, err := program.OpenAudit(cmd.console, p, &o, &cmd.world.Audit)
	if err != nil {
		return endTools(err)
	}
	o.Answers.Prompter = cmd.console.Prompter()
	o.Log = cmd.console.LogWriter()
	out := &lineEnds{w: cmd.console.Stdout}
	o.Output = engine.Output{To: out, Mode: emit.Modes[cmd.emit], Terminal: cmd.console.TTY.Out}
	err = p.Interactive(ctx, o, func(m *engine.Machine) error {
		session, err := repl.New(s, m)
		if err != nil {
			return console.SourceError(err)
		}
		lines.setSession(session)
		return (&replLoop{console: cmd.console, session: session, lines: lines, signals: signals, out: out}).loop(ctx)
	})
	return endTools(endAudit(err))
}

// replLoop executes the inputs of a session.
type replLoop struct {
	console *console.Console
	session *repl.Session
	lines   lineSource
	signals *lineInterrupts
	out     *lineEnds
}

// loop reads and executes inputs until the session ends.
func (t *replLoop) loop(ctx context.Context) error {
	<-t.signals.Ready
	for {
		text, err := t.input(ctx)
		switch {
		case errors.Is(err, console.ErrInterrupted) && ctx.Err() == nil:
			continue
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF):
			t.out.endLine()
			return nil
		case err != nil:
			return fmt.Errorf("read standard input: %w", err)
		}
		err = t.execute(ctx, text)
		switch {
		case errors.Is(err, io.EOF):
			t.out.endLine()
			return nil
		case errors.As(err, new(*vm.Exit)):
			t.out.endLine()
			return err
		case errors.Is(err, errReset), ctx.Err() != nil:
			return err
		case err != nil && !t.lines.interactive():
			if code := t.printError(err); code == console.ExitInterrupted {
				return console.ExitError(code)
			}
			return console.ExitError(console.ExitFailed)
		case err != nil:
			t.printError(err)
		}
	}
}

// printError prints an error and returns its exit code.
func (t *replLoop) printError(err error) int {
	t.out.endLine()
	var wrong *repl.CompileError
	if errors.As(err, &wrong) {
		var l diag.List
		for _, d := range wrong.Found {
			l.Add(d)
		}
		_ = t.console.ShowDiagnostics(l) // the returned exit code is only for other commands
		return console.ExitFailed
	}
	return t.console.Fail(err)
}

// input reads an entry: a line, and further lines while a bracket or a string is open.
func (t *replLoop) input(ctx context.Context) (string, error) {
	text, err := t.lines.next(ctx, firstPrompt)
	if err != nil {
		return "", err
	}
	if _, _, is := sessionCommand(text); is {
		t.lines.remember(text)
		return text, nil
	}
	for repl.IsIncomplete(text) {
		line, err := t.lines.next(ctx, furtherPrompt)
		if errors.Is(err, io.EOF) {
			break // the parser reports the missing part
		}
		if err != nil {
			return "", err
		}
		text += "\n" + line
	}
	t.lines.remember(text)
	return text, nil
}

// sessionCommand splits a line into a command of the session and its argument. is is false if the
// line is not such a command.
func sessionCommand(text string) (name, rest string, is bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, ":") {
		return "", "", false
	}
	name, rest, _ = strings.Cut(text[1:], " ")
	return name, strings.TrimSpace(rest), true
}

// execute executes an input.
func (t *replLoop) execute(ctx context.Context, text string) error {
	name, rest, is := sessionCommand(text)
	if !is && t.isExit(text) {
		return io.EOF
	}
	if !is {
		return t.run(ctx, repl.Name, text)
	}
	for _, c := range sessionActions {
		if c.name == name {
			if c.argument != "" && rest == "" {
				return console.Usage("write `:"+name+" <"+strings.ToLower(c.argument)+">`", ":%s requires an argument", name)
			}
			return c.do(t, ctx, rest)
		}
	}
	var names []string
	for _, c := range sessionActions {
		names = append(names, c.name)
	}
	hint := "`:help` lists the commands"
	if near := suggest.Nearest(name, names); near != "" {
		hint = "did you mean `:" + near + "`?"
	}
	return console.Usage(hint, "unknown command `:%s`", name)
}

// isExit reports whether an input is `exit` or `quit`, which end the session, as in other
// languages. A name that the program declares is not an exit.
func (t *replLoop) isExit(text string) bool {
	name := strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(text), ";"), "()")
	if name != "exit" && name != "quit" {
		return false
	}
	_, err := t.session.Type(name)
	return err != nil
}

// sessionActions are the commands of the session.
var sessionActions []sessionAction

type sessionAction struct {
	name, argument string
	do             func(t *replLoop, ctx context.Context, rest string) error
}

func init() {
	sessionActions = []sessionAction{
		{"type", "EXPR", func(t *replLoop, _ context.Context, rest string) error {
			text, err := t.session.Type(rest)
			return t.printLine(text, err)
		}},
		{"doc", "NAME", func(t *replLoop, ctx context.Context, rest string) error {
			found, _ := doc.Find(rest)
			ofLibrary := len(found) > 0 && strings.ContainsAny(rest, ".:") // such as String.len
			if text := t.session.Doc(ctx, rest); text != "" && !ofLibrary {
				return t.printLine(text, nil)
			}
			t.out.endLine()
			return help.WriteTopic(t.console.Stdout, rest)
		}},
		{"load", "FILE", func(t *replLoop, ctx context.Context, rest string) error {
			text, err := userfile.Read(t.console.Abs(rest), userfile.MaxText)
			if err != nil {
				return console.Usage("name a file of statements and declarations", "read %s: %v", rest, console.Cause(err))
			}
			return t.run(ctx, rest, string(text))
		}},
		{"time", "INPUT", func(t *replLoop, ctx context.Context, rest string) error {
			began := time.Now()
			err := t.run(ctx, repl.Name, rest)
			return t.printLine("took "+time.Since(began).Round(time.Microsecond).String(), err)
		}},
		{"save", "FILE", func(t *replLoop, _ context.Context, rest string) error {
			if err := console.WriteFile(t.console.Abs(rest), []byte(t.session.Save())); err != nil {
				return console.Usage("name a writable file", "write %s: %v", rest, err)
			}
			return nil
		}},
		{"reset", "", func(*replLoop, context.Context, string) error { return errReset }},
		{"help", "", func(t *replLoop, _ context.Context, _ string) error {
			return t.printLine(strings.TrimSuffix(replCommands, "\n"), nil)
		}},
		{"quit", "", func(*replLoop, context.Context, string) error { return io.EOF }},
	}
}

// printLine prints text as a line of stdout. If err is not nil, it only returns err.
func (t *replLoop) printLine(text string, err error) error {
	if err != nil {
		return err
	}
	t.out.endLine()
	_, err = fmt.Fprintln(t.out, console.Printable(text))
	return err
}

// run runs an input and prints its result.
func (t *replLoop) run(ctx context.Context, name, text string) error {
	ctx, done := t.signals.line(ctx)
	defer done()
	r, err := t.session.Run(ctx, name, text)
	if err != nil {
		if cut := context.Cause(ctx); cut != nil {
			err = cut
		}
		return err
	}
	if len(r.Found) > 0 {
		t.out.endLine()
		var l diag.List
		for _, d := range r.Found {
			l.Add(d)
		}
		_ = t.console.ShowDiagnostics(l) // the diagnostics are only warnings, so there is no error
	}
	if len(r.Dropped) > 0 {
		t.out.endLine()
		_, _ = fmt.Fprintf(t.console.Stderr, "concerto: removed, because a declaration that it uses was replaced: %s\n", strings.Join(r.Dropped, ", "))
	}
	if r.Shown == "" {
		return nil
	}
	return t.printLine(r.Shown, nil)
}

// lineEnds is a writer that records whether the last written line is complete.
type lineEnds struct {
	w    io.Writer
	open bool
}

// Write writes to the output.
func (l *lineEnds) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.open = p[len(p)-1] != '\n'
	}
	return l.w.Write(p)
}

// endLine completes the last line.
func (l *lineEnds) endLine() {
	if l.open {
		_, _ = l.Write([]byte("\n")) // the next write returns the error
	}
}

// piped reads lines from an input that is not a terminal.
type piped struct{ in *bufio.Reader }

func (p *piped) next(ctx context.Context, _ string) (string, error) {
	type read struct {
		line string
		err  error
	}
	c := make(chan read, 1)
	go func() { // a line that is read after the session has ended is lost
		line, err := p.in.ReadString('\n')
		c <- read{line, err}
	}()
	select {
	case r := <-c:
		if r.line != "" {
			return strings.TrimRight(r.line, "\r\n"), nil
		}
		return "", r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (p *piped) interactive() bool        { return false }
func (p *piped) setSession(*repl.Session) {}
func (p *piped) remember(string)          {}
