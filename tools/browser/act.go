package browser

import (
	"strings"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// point is the position at which to click.
type point struct{ x, y float64 }

// point waits until a click at the place would hit the element. The element must exist, be enabled,
// not move and not be covered. point returns the position to click.
func (b *Tab) point(place string) point {
	b.t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); {
		v, err := b.eval("__see.wait(() => __see.point(" + quote(place) + "), 1000)")
		if m, ok := v.(map[string]any); ok && err == nil {
			return point{m["x"].(float64), m["y"].(float64)}
		}
	}
	b.t.Fatalf("cannot click on %s\nThe page shows:\n%s", place, b.Text("body"))
	return point{}
}

// Click clicks the middle of a place. If the element moves while the button is pressed, Click
// releases the button elsewhere, where it has no effect, and clicks again.
func (b *Tab) Click(place string) {
	b.t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); {
		p := b.point(place)
		mouse := func(typ input.DispatchMouseEventType, button input.MouseButton, clicks int64) {
			b.t.Helper()
			call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: typ, X: p.x, Y: p.y, Button: button, ClickCount: clicks})
		}
		mouse(input.DispatchMouseEventTypeMouseMoved, input.MouseButtonNone, 0)
		mouse(input.DispatchMouseEventTypeMousePressed, input.MouseButtonLeft, 1)
		hit := b.wasHit("pressed")
		if !hit {
			p = point{}
			mouse(input.DispatchMouseEventTypeMouseMoved, input.MouseButtonLeft, 0)
		}
		mouse(input.DispatchMouseEventTypeMouseReleased, input.MouseButtonLeft, 1)
		if hit && b.wasHit("clicked") {
			return
		}
	}
	b.t.Fatalf("no click reaches %s\nThe page shows:\n%s", place, b.Text("body"))
}

// wasHit reports whether the event hit the element that point returned. It also returns true if the
// page has been replaced since then.
func (b *Tab) wasHit(what string) bool {
	v, err := b.eval("__see." + what + " ?? true")
	return err != nil || v == true
}

// Tap touches a place with a finger. The tab must emulate a phone.
func (b *Tab) Tap(place string) {
	b.t.Helper()
	p := b.point(place)
	call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: p.x, Y: p.y}}})
	call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}})
}

// Type types a text into the focused element, key by key.
func (b *Tab) Type(text string) {
	b.t.Helper()
	b.keys(text)
}

// Paste inserts a text at once, as a clipboard or an input method does.
func (b *Tab) Paste(text string) {
	b.t.Helper()
	call(b, input.InsertText, input.InsertTextParams{Text: text})
}

// named maps the names of keys that produce no character.
var named = map[string]string{
	"Enter": kb.Enter, "Tab": kb.Tab, "Escape": kb.Escape, "Backspace": kb.Backspace, "Delete": kb.Delete, "Space": " ",
	"ArrowUp": kb.ArrowUp, "ArrowDown": kb.ArrowDown, "ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight,
	"F1": kb.F1, "F2": kb.F2, "F5": kb.F5, "F6": kb.F6, "F9": kb.F9, "F10": kb.F10, "Home": kb.Home, "End": kb.End, "PageUp": kb.PageUp, "PageDown": kb.PageDown,
}

var modifiers = map[string]chromedp.Modifier{"Shift": chromedp.ModifierShift, "Ctrl": chromedp.ModifierCtrl, "Alt": chromedp.ModifierAlt}

// Press presses keys one after another: "a", "Enter", "Shift+Tab".
func (b *Tab) Press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		var held []chromedp.Modifier
		for {
			m, rest, ok := strings.Cut(key, "+")
			if !ok || rest == "" {
				break
			}
			mod, isModifier := modifiers[m]
			if !isModifier {
				b.t.Fatalf("unknown modifier key %s", m)
			}
			held, key = append(held, mod), rest
		}
		if k, ok := named[key]; ok {
			key = k
		} else if len([]rune(key)) != 1 {
			b.t.Fatalf("unknown key %s", key)
		}
		b.keys(key, held...)
	}
}

// keys sends each key as one event with the key's character, as a keyboard does. If the page
// handles the key, the character is not inserted either.
func (b *Tab) keys(keys string, held ...chromedp.Modifier) {
	b.t.Helper()
	for _, r := range keys {
		events := kb.Encode(r)
		var character *input.DispatchKeyEventParams
		for _, e := range events {
			if e.Type == kb.KeyChar {
				character = e
			}
		}
		for _, e := range events {
			if e.Type == kb.KeyChar {
				continue
			}
			for _, m := range held {
				e.Modifiers |= int64(m)
			}
			if e.Type != kb.KeyUp && character != nil && e.Modifiers&^int64(chromedp.ModifierShift) == 0 {
				e.Type, e.Text, e.UnmodifiedText = input.DispatchKeyEventTypeKeyDown, character.Text, character.UnmodifiedText
			}
			call(b, input.DispatchKeyEvent, *e)
		}
	}
}
