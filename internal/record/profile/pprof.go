package profile

import (
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// The format is a gzipped protocol buffer, defined in proto/profile.proto of
// github.com/google/pprof. That package is not imported, because it would delay every start of the
// process by 0.25 ms. Only the tests use it, to read profiles.

// Write writes the profile after the run has ended.
func (r *Recorder) Write(w io.Writer) error {
	z := gzip.NewWriter(w)
	_, err := z.Write(r.encode(time.Since(r.begun)))
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return fmt.Errorf("write the profile: %w", err)
	}
	return nil
}

// encode encodes the protocol buffer message Profile. The comments contain the names of its fields.
func (r *Recorder) encode(lasted time.Duration) []byte {
	var e encoder
	e.texts.numberOf("") // number 0 of the string table
	for _, t := range [values][2]string{{"samples", "count"}, {"cpu", "nanoseconds"}, {"waits", "count"}, {"wait", "nanoseconds"}} {
		e.message(1, func() { e.kind(t[0], t[1]) }) // sample_type
	}
	for _, s := range r.samples {
		e.message(2, func() { // sample
			for _, l := range s.at {
				e.number(1, l) // location_id
			}
			for _, v := range s.values {
				e.number(2, uint64(v)) // value
			}
		})
	}
	e.message(3, func() { // mapping
		e.number(1, 1)       // id
		e.text(5, r.program) // filename
		for has := range 3 { // has_functions, has_filenames, has_line_numbers
			e.number(7+has, 1)
		}
	})
	for i, l := range r.locations.all {
		e.message(4, func() { // location
			e.number(1, uint64(i)+1) // id
			e.number(2, 1)           // mapping_id
			e.message(4, func() {    // line
				e.number(1, l.function)
				e.number(2, l.line)
			})
		})
	}
	for i, f := range r.functions.all {
		e.message(5, func() { // function
			e.number(1, uint64(i)+1) // id
			e.text(2, f.name)
			e.text(3, f.name) // system_name
			e.text(4, f.file)
		})
	}
	e.number(9, uint64(r.begun.UnixNano()))                // time_nanos
	e.number(10, uint64(lasted))                           // duration_nanos
	e.message(11, func() { e.kind("cpu", "nanoseconds") }) // period_type
	e.number(12, uint64(Period))
	e.text(14, "cpu") // default_sample_type
	for _, t := range e.texts.all {
		e.bytes(6, []byte(t)) // string_table
	}
	return e.out
}

// encoder encodes fields of protocol buffer messages.
type encoder struct {
	out   []byte
	texts numbered[string]
}

// number encodes a varint field.
func (e *encoder) number(field int, n uint64) {
	e.out = binary.AppendUvarint(e.out, uint64(field)<<3)
	e.out = binary.AppendUvarint(e.out, n)
}

// text encodes a string field, as the index in the string table.
func (e *encoder) text(field int, t string) { e.number(field, e.texts.numberOf(t)-1) }

// kind encodes a ValueType message.
func (e *encoder) kind(name, unit string) {
	e.text(1, name)
	e.text(2, unit)
}

func (e *encoder) bytes(field int, b []byte) {
	e.out = binary.AppendUvarint(e.out, uint64(field)<<3|2)
	e.out = binary.AppendUvarint(e.out, uint64(len(b)))
	e.out = append(e.out, b...)
}

// message encodes a field whose value is a message. fill encodes the fields of that message.
func (e *encoder) message(field int, fill func()) {
	outer := e.out
	e.out = nil
	fill()
	inner := e.out
	e.out = outer
	e.bytes(field, inner)
}
