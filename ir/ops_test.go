package ir

import (
	"fmt"
	"go/format"
	"hash/fnv"
	"os"
	"testing"
)

// TestInstructionTableIsComplete checks that every row is complete, and that its text can be
// parsed.
func TestInstructionTableIsComplete(t *testing.T) {
	for n := range Table {
		info := &Table[n]
		wrong := func(format string, args ...any) {
			t.Errorf("row %d, %s: %s", n, info.Name, fmt.Sprintf(format, args...))
		}
		if info.Name == "" || info.Doc == "" || info.Traits == 0 {
			wrong("name, traits (Plain when there is nothing to say) and doc are needed")
		}
		if info.Traits.Has(Plain) && info.Traits != Plain {
			wrong("Plain, and yet it has other traits")
		}
		s := &Shapes[n]
		if one := s.Writes != Unset && !s.Frame; (info.Traits.Has(Fact) || info.Traits.Has(New)) && !one {
			wrong("a fact, or a new object, is what register A is set to")
		}
		if m := info.Traits.Reads(); m != 0 && (!info.Traits.Has(Fact) || m&(m-1) != 0) {
			wrong("a fact is read from one kind of memory; of what is no fact it is not asked")
		}
		if info.Traits.Has(Acts) && info.Traits>>changesShift != 0 {
			wrong("what acts may change all memory")
		}
		if s.Frame && !info.Traits.Has(Acts) {
			wrong("a call acts")
		}
		i := Instr{Op: Op(n)}
		for k, o := range info.Operands {
			if written := o.Role == RoleWrite || o.Role == RoleModify || o.Role == RoleFrame; written && o.Field != A {
				wrong("operand %s sets another register than A", o.Name)
			}
			if target := o.Role == RoleTarget || o.Role == RoleBack; target && o.Field != Imm {
				wrong("operand %s is a target outside Imm", o.Name)
			}
			if !i.Set(o.Field, int64(k+1)) {
				wrong("operand %s does not take %d", o.Name, k+1)
			}
		}
		if back, err := ParseInstr(i.String()); err != nil || back != i {
			wrong("%s reads back as %v, %v", i, back, err)
		}
	}
}

// TestInstructionsOfOldVersions compares the checksum of the rows of each version with the stored
// one, because existing files of the version depend on its rows.
func TestInstructionsOfOldVersions(t *testing.T) {
	_, minor, _ := splitVersion(Version)
	sums := make([]uint32, minor+1)
	for since := range sums {
		h := fnv.New32a()
		for n := range Table {
			if info := &Table[n]; info.Since == since {
				fmt.Fprintln(h, info.Name, operands(info), info.Traits.Has(Ends), info.Traits.Has(Returns))
				for _, o := range info.Operands {
					fmt.Fprintln(h, o.Field, o.Count, o.Preserve)
				}
			}
		}
		sums[since] = h.Sum32()
	}
	for n := range Table {
		if info := &Table[n]; info.Since > minor {
			t.Errorf("%s has Since = 1.%d, but Version is %s: increase Version", info.Name, info.Since, Version)
		}
	}
	if len(rowSums) != len(sums) {
		t.Fatalf("rowSums has %d checksums, but Version is %s: the checksum of the rows of its last minor version is %#x", len(rowSums), Version, sums[minor])
	}
	for since, sum := range sums {
		if sum != rowSums[since] {
			t.Errorf("the rows of 1.%d differ from those of existing files of that version (%#x): give a new row the next minor version in Since; a changed row requires the next major version", since, sum)
		}
	}
}

// TestGenerated checks that the reference and the constants are up to date with the table.
func TestGenerated(t *testing.T) {
	opcodes, err := format.Source([]byte(Opcodes()))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"../spec/bytecode.md": Reference(), "opcodes.go": string(opcodes)} {
		written, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(written) != want {
			t.Errorf("%s is out of date: run go generate ./ir", file)
		}
	}
}

// TestVerifySince checks that Verify rejects an operation that is newer than the version of the
// program.
func TestVerifySince(t *testing.T) {
	p := sample(t, "LoadNil r1\nNewErr r1 r1\nLeave r1\nReturn r1")
	wantError(t, Verify(p), "")
	p.Version = "1.4"
	wantError(t, Verify(p), "it came with 1.5")
}
