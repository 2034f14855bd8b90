package graph

import "fmt"

// shape is the form of a node's box.
type shape struct {
	radius  int                         // of the corners of a rectangle, in pixels
	inner   func(x, y, w, h int) string // path inside of the rectangle
	outline func(x, y, w, h int) string // path of a shape that is not a rectangle
}

// slant is the width of the sides of a shape that is not a rectangle.
const slant = 10

// inset returns the distance between the text and the left and right side of the box.
func (s *shape) inset() int {
	if s.inner != nil || s.outline != nil || s.radius > slant {
		return 12 + slant
	}
	return 12
}

// path returns the path of the shape, or "" for a rectangle.
func (s *shape) path(x, y, w, h int) string {
	switch {
	case s.inner != nil:
		return s.inner(x, y, w, h)
	case s.outline != nil:
		return s.outline(x, y, w, h)
	}
	return ""
}

func bars(x, y, w, h int) string {
	return fmt.Sprintf("M%d %dV%dM%d %dV%d", x+6, y, y+h, x+w-6, y, y+h)
}

func parallelogram(x, y, w, h int) string {
	return fmt.Sprintf("M%d %dH%dL%d %dH%dZ", x+slant, y, x+w, x+w-slant, y+h, x)
}

func tag(x, y, w, h int) string {
	return fmt.Sprintf("M%d %dH%dV%dH%dL%d %dZ", x, y, x+w, y+h, x, x+slant, y+h/2)
}

func hexagon(x, y, w, h int) string {
	return fmt.Sprintf("M%d %dH%dL%d %dL%d %dH%dL%d %dZ", x+slant, y, x+w-slant, x+w, y+h/2, x+w-slant, y+h, x+slant, x, y+h/2)
}

func octagon(x, y, w, h int) string {
	return fmt.Sprintf("M%d %dH%dL%d %dV%dL%d %dH%dL%d %dV%dZ",
		x+slant, y, x+w-slant, x+w, y+slant, y+h-slant, x+w-slant, y+h, x+slant, x, y+h-slant, y+slant)
}

func cylinder(x, y, w, h int) string {
	const lid = 4
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %dV%dC%d %d %d %d %d %dZM%d %dC%d %d %d %d %d %d",
		x, y+lid, x, y-1, x+w, y-1, x+w, y+lid, y+h-lid, x+w, y+h+1, x, y+h+1, x, y+h-lid,
		x, y+lid, x, y+2*lid, x+w, y+2*lid, x+w, y+lid)
}

func arrow(x, y, w, h int) string {
	return fmt.Sprintf("M%d %dH%dL%d %dL%d %dH%dZ", x, y, x+w-slant, x+w, y+h/2, x+w-slant, y+h, x)
}

func folder(x, y, w, h int) string {
	const tab = 5
	return fmt.Sprintf("M%d %dH%dL%d %dH%dV%dH%dZ", x, y, x+w/2, x+w/2+tab, y+tab, x+w, y+h, x)
}
