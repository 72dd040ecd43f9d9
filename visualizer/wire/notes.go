package wire

import "twinlog/notes"

// Notes is the answer to GET notes: the concept pages without their texts.
type Notes struct {
	Notes []notes.Page `json:"notes"`
}

// Source is the answer to GET source: a piece of the engines' code.
type Source struct {
	File   string `json:"file"`
	Symbol string `json:"symbol"` // empty: the whole file
	Line   int    `json:"line"`   // of the first line of Text, from 1
	Text   string `json:"text"`
}
