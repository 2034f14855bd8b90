// Package receiver has the test that exports a run to the receiver of OpenTelemetry's collector. It
// is a module of its own, because the collector needs many others.
package receiver
