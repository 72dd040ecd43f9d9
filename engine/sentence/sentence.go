// Package sentence is how the engines and the server say things to people who may read another language. A sentence is English text with
// places for what differs each time, under a key:
//
//	return sentence.Error(ErrNotFound, "noTopic", `there is no topic "{topic}"`, name)
//
// The page has all keys in every language it speaks: `go generate ./visualizer/typescript` collects them from the calls, so key and
// pattern are literals there, and one key has one pattern. {count|one|many} is the word that goes with the number {count}.
package sentence

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// Sentence is what was said: the English text, and as JSON the key and the parameters from which it can be said in another language.
type Sentence struct {
	Key string `json:"key"`
	// Params by the names in the pattern: a string, a number, a list of strings, or a Sentence within this one.
	Params map[string]any `json:"params,omitempty" ts:"Record<string, unknown>"`

	text string
}

func (s Sentence) String() string { return s.text }

// Of fills the places of a pattern with arguments, in the order in which they stand there. A name that comes again takes none.
func Of(key, pattern string, args ...any) Sentence { return of(key, pattern, args) }

func of(key, pattern string, args []any) Sentence {
	s := Sentence{Key: key, Params: map[string]any{}}
	for _, place := range Places(pattern) {
		var value any = ""
		if len(args) > 0 {
			value, args = args[0], args[1:]
		}
		s.Params[place] = param(value)
	}
	s.text = places.ReplaceAllStringFunc(pattern, func(place string) string { return fill(place, s.Params) })
	return s
}

var places = regexp.MustCompile(`\{(\w+)(?:\|([^|{}]*)\|([^|{}]*))?\}`)

// Places are the names of a pattern's places, each once, in the order in which the arguments go to them.
func Places(pattern string) (names []string) {
	seen := map[string]bool{}
	for _, found := range places.FindAllStringSubmatch(pattern, -1) {
		if !seen[found[1]] {
			seen[found[1]] = true
			names = append(names, found[1])
		}
	}
	return names
}

func fill(place string, params map[string]any) string {
	found := places.FindStringSubmatch(place)
	value := params[found[1]]
	if !strings.Contains(place, "|") {
		if list, is := value.([]string); is {
			return strings.Join(list, ", ")
		}
		return fmt.Sprint(value)
	}
	if value == int64(1) {
		return found[2]
	}
	return found[3]
}

// longest is how many bytes of a string a sentence quotes: what it is about may come from outside.
const longest = 300

func param(value any) any {
	switch value := value.(type) {
	case Sentence:
		return value
	case error:
		said, ok := In(value)
		switch {
		case ok:
			said.text = value.Error() // with what else is around it
			return said
		case errors.Is(value, context.DeadlineExceeded):
			return Of("timedOut", "context deadline exceeded")
		}
		return quotable(value.Error())
	case string:
		return quotable(value)
	case []string:
		list := []string{}
		for _, one := range value {
			list = append(list, quotable(one))
		}
		return list
	case []int32:
		list := []string{}
		for _, one := range value {
			list = append(list, fmt.Sprint(one))
		}
		return list
	case int:
		return int64(value)
	case int32:
		return int64(value)
	case int64, uint64:
		return value
	case time.Duration:
		return value.String()
	}
	return quotable(fmt.Sprint(value))
}

func quotable(text string) string {
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// failure is an error that says itself as a sentence.
type failure struct {
	Sentence
	causes []error
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return f.causes }

// Error is an error that is a sentence. It is of the kind given (errors.Is; nil: of none) and of the kinds of the errors that it quotes.
func Error(kind error, key, pattern string, args ...any) error {
	f := &failure{Sentence: of(key, pattern, args)}
	if kind != nil {
		f.causes = append(f.causes, kind)
	}
	for _, arg := range args {
		if cause, is := arg.(error); is {
			f.causes = append(f.causes, cause)
		}
	}
	return f
}

// Repeat is the error that another process told of: its kind (nil: none), its text, and the sentence that it was if it was one.
func Repeat(kind error, text string, said *Sentence) error {
	f := &failure{}
	if kind != nil {
		f.causes = append(f.causes, kind)
	}
	if said != nil {
		f.Sentence = *said
	}
	f.text = text
	return f
}

// Why is what a trace event says of an error besides its text: the sentence, or nil where it is none.
func Why(err error) *Sentence {
	if said, is := In(err); is {
		return &said
	}
	return nil
}

// In is the sentence that an error says, or the first one among those that it wraps.
func In(err error) (Sentence, bool) {
	if said := (*failure)(nil); errors.As(err, &said) && said.Key != "" {
		return said.Sentence, true
	}
	return Sentence{}, false
}
