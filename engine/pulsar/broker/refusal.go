package broker

import "fmt"

// refusal is an error of a known kind whose text is for the caller alone: "Namespace does not exist", not "…: not found".
type refusal struct {
	kind error
	text string
}

// Error is the text.
func (r *refusal) Error() string { return r.text }

// Unwrap makes errors.Is find the kind.
func (r *refusal) Unwrap() error { return r.kind }

// Refuse makes an error of a kind (ErrNotFound, ErrExists, ErrPreconditionFailed, …) with a text of its own.
func Refuse(kind error, format string, arguments ...any) error {
	return &refusal{kind: kind, text: fmt.Sprintf(format, arguments...)}
}
