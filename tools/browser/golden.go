package browser

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/page"

	"github.com/concerto-lang/concerto/internal/testkit/golden"
)

// The tolerance for a picture that is compared with its golden. A pixel is different if one of its
// colours differs by more than farPixel. At most farShare of all pixels may be different.
const (
	farPixel = 40
	farShare = 0.002
)

// goldens is the directory of the pictures. fonts is the file that records the browser version and
// fonts with which the pictures were made.
const (
	goldens = "testdata/golden"
	fonts   = goldens + "/fonts.txt"
)

// measured is a JavaScript expression. Its value contains the browser's version and the widths of a
// text in the fonts that pages use. If these differ, every picture differs too.
const measured = `(() => {
	const c = document.createElement("canvas").getContext("2d");
	const widths = ["16px system-ui", "bold 16px system-ui", "16px sans-serif", "16px ui-monospace", "16px monospace", "16px emoji"].map((f) => {
		c.font = f;
		return f + " " + c.measureText("Sphinx of black quartz ✓ ⟦ │ ␛ 🔔").width.toFixed(2);
	});
	return [navigator.userAgentData.brands.find((b) => b.brand === "Chromium").version, ...widths].join("\n") + "\n";
})()`

// Screenshot returns a PNG of a place, or of the window for "".
func (b *Tab) Screenshot(place string) []byte {
	b.t.Helper()
	b.Eval("document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0)))))")
	p := page.CaptureScreenshotParams{}
	if place != "" {
		r, ok := b.Eval("(() => { const r = __see.one(" + quote(place) + ").getBoundingClientRect(); return { x: r.x + scrollX, y: r.y + scrollY, w: r.width, h: r.height } })()").(map[string]any)
		if !ok {
			b.t.Fatalf("no element for %s", place)
		}
		beyond := true
		p.CaptureBeyondViewport = &beyond
		p.Clip = &page.Viewport{X: r["x"].(float64), Y: r["y"].(float64), Width: r["w"].(float64), Height: r["h"].(float64), Scale: 1}
	}
	return call(b, page.CaptureScreenshot, p).Data
}

// repaints is the number of further screenshots of a place that differs from its golden.
const repaints = 20

// Golden compares a picture of a place, or of the window for "", with testdata/golden/NAME.png. `go
// test -update` writes the golden. If the browser or fonts are not those of the goldens, Golden
// logs this and does not compare. It writes a picture that differs to NAME.got.png.
func (b *Tab) Golden(name, place string) {
	b.t.Helper()
	got := b.Screenshot(place)
	file := filepath.Join(goldens, name+".png")
	here, _ := b.Eval(measured).(string)
	if golden.Updating() {
		b.write(fonts, []byte(here))
		if want, err := os.ReadFile(file); err != nil || differs(got, want) != "" {
			b.write(file, got)
		}
		return
	}
	there, err := os.ReadFile(fonts)
	if err != nil {
		b.t.Fatalf("no goldens: run go test -update (%v)", err)
	}
	if string(there) != here {
		b.t.Logf("%s is not compared: the goldens were made with another browser or other fonts:\n%s\nhere:\n%s", name, there, here)
		return
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		b.t.Errorf("no file %s: run go test -update, and check the picture", file)
		return
	}
	if err != nil {
		b.t.Fatal(err)
	}
	// On a busy machine the browser may take the picture before it has painted the last change.
	for range repaints {
		if differs(got, want) == "" {
			return
		}
		b.Eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
		got = b.Screenshot(place)
	}
	if how := differs(got, want); how != "" {
		seen := strings.TrimSuffix(file, ".png") + ".got.png"
		b.write(seen, got)
		b.t.Errorf("%s: %s; compare it with %s", name, how, seen)
	}
}

func (b *Tab) write(name string, data []byte) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o666); err != nil {
		b.t.Fatal(err)
	}
}

// differs describes how a picture differs from the expected one. It returns "" if the difference is
// within the tolerance.
func differs(got, want []byte) string {
	g, err := png.Decode(bytes.NewReader(got))
	if err != nil {
		return "it is no PNG: " + err.Error()
	}
	w, err := png.Decode(bytes.NewReader(want))
	if err != nil {
		return "the golden is no PNG: " + err.Error()
	}
	if g.Bounds() != w.Bounds() {
		return "it is " + g.Bounds().Size().String() + " large, not " + w.Bounds().Size().String()
	}
	far := 0
	for y := range g.Bounds().Dy() {
		for x := range g.Bounds().Dx() {
			if distance(g, w, x, y) > farPixel {
				far++
			}
		}
	}
	if share := float64(far) / float64(g.Bounds().Dx()*g.Bounds().Dy()); share > farShare {
		return "the picture has changed"
	}
	return ""
}

// distance returns the largest difference between two pixels in any colour, at most 255.
func distance(a, b image.Image, x, y int) int {
	p, q := color.NRGBAModel.Convert(a.At(x, y)).(color.NRGBA), color.NRGBAModel.Convert(b.At(x, y)).(color.NRGBA)
	apart := func(m, n uint8) int { return max(int(m), int(n)) - min(int(m), int(n)) }
	return max(apart(p.R, q.R), apart(p.G, q.G), apart(p.B, q.B))
}
