// Package vm runs programs: it loads IR into its own instructions, keeps tasks
// as saved frames, and reaches the world through one door, effect.Performer.
package vm
