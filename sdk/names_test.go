package sdk_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

var (
	sends    = regexp.MustCompile(`\b_?(?:sendNote|notify|request|write|send|end)\((?:\w+, )?"([a-z_]+)"`)
	receives = regexp.MustCompile(`\b(?:case|type ==) "([a-z_]+)":`)
)

// TestNames compares the types of messages that each SDK sends and receives with the table of
// messages.
func TestNames(t *testing.T) {
	of := func(sender hostmsg.Sender) []string {
		types := hostmsg.Types(func(m *hostmsg.Message) bool { return m.Sender == sender })
		slices.Sort(types)
		return types
	}
	for file, reader := range map[string]string{ // by file: the function that handles received messages
		"go/host/host.go": "\nfunc (s *server) handleLine(", "python/concerto_host/__init__.py": "\n    def dispatch(",
		"typescript/concerto-host.ts": "\n  private dispatch(", "typescript/concerto-host.js": "\n    dispatch(",
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, read, found := strings.Cut(string(text), reader)
		if !found {
			t.Fatalf("%s has no %q", file, reader)
		}
		read, _, _ = strings.Cut(read, "\n\n")
		names := func(in *regexp.Regexp, text string) []string {
			var all []string
			for _, m := range in.FindAllStringSubmatch(text, -1) {
				all = append(all, m[1])
			}
			slices.Sort(all)
			return slices.Compact(all)
		}
		if d := cmp.Diff(of(hostmsg.Host), names(sends, string(text))); d != "" {
			t.Errorf("%s sends (-table +SDK):\n%s", file, d)
		}
		if d := cmp.Diff(of(hostmsg.Concerto), names(receives, read)); d != "" {
			t.Errorf("%s receives (-table +SDK):\n%s", file, d)
		}
	}
}
