package console

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"
	"rsc.io/qr/coding"
)

// NoQRFlag adds the flag --no-qr.
func NoQRFlag(f *pflag.FlagSet, into *bool) {
	f.BoolVar(into, "no-qr", false, "print no QR code of the link")
}

// quietZone is the number of light modules around a QR code, as ISO/IEC 18004 requires.
const quietZone = 4

// PrintQR prints the QR code of a link for the camera of a phone. It prints nothing if w is not a
// terminal with room for the whole code and a line after it.
func PrintQR(a *Console, w io.Writer, link string) {
	out, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) {
		return
	}
	cols, rows, err := term.GetSize(int(out.Fd()))
	if err != nil {
		return
	}
	plain := a.Env("NO_COLOR") != "" || a.Env("TERM") == "dumb"
	if lines, width := qrLines(link, plain); len(lines) > 0 && len(lines) < rows && width <= cols {
		_, _ = io.WriteString(w, strings.Join(lines, "")) // the link itself is printed
	}
}

// qrLines returns the lines of the QR code of a text. A character shows two modules, one above the
// other, and light modules are drawn. The colours make the code dark on light in every terminal; a
// plain code has none, and is dark on light in terminals with a dark background. width is the
// number of columns. lines is nil if the text is too long.
func qrLines(text string, plain bool) (lines []string, width int) {
	code := encodeQR(text)
	if code == nil {
		return nil, 0
	}
	begin, end := "\x1b[97;40m", "\x1b[0m\n"
	if plain {
		begin, end = "", "\n"
	}
	halves := map[[2]bool]string{{false, false}: "█", {false, true}: "▀", {true, false}: "▄", {true, true}: " "}
	for y := -quietZone; y < code.Size+quietZone; y += 2 {
		var b strings.Builder
		for x := -quietZone; x < code.Size+quietZone; x++ {
			b.WriteString(halves[[2]bool{code.Black(x, y), code.Black(x, y+1)}]) // modules outside of the code are light
		}
		lines = append(lines, begin+b.String()+end)
	}
	return lines, code.Size + 2*quietZone
}

// encodeQR returns the smallest QR code of a text with the lowest error correction, because a
// screen has no dirt. The result is nil if the text is too long.
func encodeQR(text string) *coding.Code {
	all := coding.String(text)
	for v := coding.Version(coding.MinVersion); v <= coding.MaxVersion; v++ {
		if all.Bits(v) > v.DataBytes(coding.L)*8 {
			continue
		}
		plan, err := coding.NewPlan(v, coding.L, 0)
		if err != nil {
			return nil
		}
		code, err := plan.Encode(all)
		if err != nil {
			return nil
		}
		return code
	}
	return nil
}
