package lab

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// Variant is a value that differs from student to student. Exactly one of its three forms is given.
type Variant struct {
	// Name is a name of one's own: this stem, a hyphen and four letters.
	Name string `yaml:"name"`
	// Choices is one of these.
	Choices []string `yaml:"choices"`
	// Range is a whole number from its first to its second.
	Range []int64 `yaml:"range"`
}

var (
	variantName = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)
	// variantStem keeps a drawn name short enough, and right, for Kafka and Pulsar topics, znodes and consumer groups alike.
	variantStem = regexp.MustCompile(`^[a-z][a-z0-9-]{0,40}$`)
	variable    = regexp.MustCompile(`\$\{([^}\n]*)\}`)
)

func (v Variant) check() error {
	forms := 0
	for _, given := range []bool{v.Name != "", len(v.Choices) > 0, len(v.Range) > 0} {
		if given {
			forms++
		}
	}
	switch {
	case forms != 1:
		return errors.New("give one of name, choices and range")
	case v.Name != "" && !variantStem.MatchString(v.Name):
		return fmt.Errorf("the name %q is not made of a-z, 0-9 and -", v.Name)
	case len(v.Choices) == 1:
		return errors.New("one choice is no choice")
	case len(v.Range) > 0 && (len(v.Range) != 2 || v.Range[0] >= v.Range[1]):
		return fmt.Errorf("range is [least, most], not %v", v.Range)
	}
	return nil
}

// Seed draws the values of one student's lab. The nil seed gives everybody's: the plain name, the first choice, the least number. Those
// are what the notes and the course name; they are for who learns alone.
type Seed []byte

// SeedOf is the seed of a student of a class for a lab: the same always, another for every student. A class has a name that its students
// share; it may be empty.
func SeedOf(class, student, lab string) Seed {
	mac := hmac.New(sha256.New, []byte(class))
	fmt.Fprintf(mac, "%d:%s%s", len(student), student, lab)
	return mac.Sum(nil)
}

// draw gives a variant's value under its name.
func (s Seed) draw(name string, v Variant) string {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte(name))
	random := binary.BigEndian.Uint64(mac.Sum(nil))
	if s == nil {
		random = 0
	}
	switch {
	case len(v.Choices) > 0:
		return v.Choices[random%uint64(len(v.Choices))]
	case len(v.Range) > 0:
		return strconv.FormatInt(v.Range[0]+int64(random%uint64(v.Range[1]-v.Range[0]+1)), 10)
	case s == nil:
		return v.Name
	}
	const letters = "bcdfghjkmnpqrstvwxz" // no vowel: no word comes about by chance
	own := []byte(v.Name + "-")
	for range 4 {
		own = append(own, letters[random%uint64(len(letters))])
		random /= uint64(len(letters))
	}
	return string(own)
}

// fill puts the drawn values in the place of their ${name}. unknown is called for those that there are not.
func fill(source []byte, drawn map[string]string, unknown func(name string, line int)) []byte {
	line, from := 1, 0
	var filled []byte
	for _, at := range variable.FindAllSubmatchIndex(source, -1) {
		for _, b := range source[from:at[0]] {
			if b == '\n' {
				line++
			}
		}
		filled = append(filled, source[from:at[0]]...)
		name := string(source[at[2]:at[3]])
		value, known := drawn[name]
		if !known {
			unknown(name, line)
			value = "unknown"
		}
		filled, from = append(filled, value...), at[1]
	}
	return append(filled, source[from:]...)
}
