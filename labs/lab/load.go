package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"twinlog/labs/chinese"
)

var (
	labName  = regexp.MustCompile(`^[0-9]{2}-[a-z0-9-]+$`)
	taskName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
)

// LoadAll loads every lab of a catalogue, by name, with everybody's values. Its errors name the file and the line.
func LoadAll(catalogue fs.FS) ([]*Lab, error) {
	entries, err := fs.ReadDir(catalogue, ".")
	if err != nil {
		return nil, err
	}
	var labs []*Lab
	var problems []error
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		loaded, err := Load(catalogue, entry.Name(), nil)
		labs, problems = append(labs, loaded), append(problems, err)
	}
	return labs, errors.Join(problems...)
}

// Load loads the lab in one folder of a catalogue: lab.yaml, en.md, zh.md, with the values that a seed draws.
func Load(catalogue fs.FS, id string, seed Seed) (*Lab, error) {
	name := path.Join(id, "lab.yaml")
	content, err := fs.ReadFile(catalogue, name)
	if err != nil {
		return nil, err
	}
	loaded := &Lab{ID: id, Body: Text{}, Drawn: map[string]string{}}
	if err := loaded.draw(name, content, seed); err != nil {
		return nil, err
	}
	var problems []error
	content = fill(content, loaded.Drawn, func(variable string, line int) {
		problems = append(problems, fmt.Errorf("%s:%d: ${%s} is not one of the variants", name, line, variable))
	})
	if err := yaml.UnmarshalWithOptions(content, loaded, yaml.Strict()); err != nil {
		return nil, errors.Join(append(problems, yamlProblem(name, err))...)
	}
	for _, language := range Languages {
		if err := loaded.loadText(catalogue, path.Join(id, language+".md"), language); err != nil {
			problems = append(problems, err)
		}
	}
	loaded.check(&source{name: name, content: content, problems: &problems})
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return loaded, nil
}

// draw reads the variants, before anything else: the rest of the file is made with them.
func (l *Lab) draw(name string, content []byte, seed Seed) error {
	var head struct {
		Variants map[string]Variant `yaml:"variants"`
	}
	if err := yaml.Unmarshal(variable.ReplaceAll(content, []byte("x")), &head); err != nil {
		return yamlProblem(name, err)
	}
	where := &source{name: name, content: content, problems: new([]error)}
	for _, each := range slices.Sorted(maps.Keys(head.Variants)) {
		if !variantName.MatchString(each) {
			where.problem("$.variants", "the variant %q is not named like topic or firstTopic", each)
		}
		if err := head.Variants[each].check(); err != nil {
			where.problem("$.variants."+each, "variant %s: %v", each, err)
		}
	}
	if err := errors.Join(*where.problems...); err != nil {
		return err
	}
	for each, variant := range head.Variants {
		l.Drawn[each] = seed.draw(each, variant)
	}
	return nil
}

func (l *Lab) loadText(catalogue fs.FS, name, language string) error {
	text, err := fs.ReadFile(catalogue, name)
	if err != nil {
		return err
	}
	var problems []error
	text = fill(text, l.Drawn, func(variable string, line int) {
		problems = append(problems, fmt.Errorf("%s:%d: ${%s} is not one of the variants", name, line, variable))
	})
	if unknown := unknownPlaceholder(text); unknown != "" {
		line := 1 + bytes.Count(text[:bytes.Index(text, []byte(unknown))], []byte("\n"))
		problems = append(problems, fmt.Errorf("%s:%d: %s is not one of %s", name, line, unknown, strings.Join(placeholders, ", ")))
	}
	extensions := []goldmark.Extender{extension.Table}
	if language == "zh" {
		extensions = append(extensions, chinese.Lines)
	}
	var html bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extensions...)).Convert(text, &html); err != nil {
		problems = append(problems, fmt.Errorf("%s: %w", name, err))
	}
	l.Body[language] = html.String()
	return errors.Join(problems...)
}

// What a text may hold in the place of an address of the classroom that it is read in.
const (
	KafkaPlaceholder    = "{{kafka}}"        // host:port of the Kafka-mode brokers, with commas
	PulsarPlaceholder   = "{{pulsar}}"       // pulsar://host:port,host:port of the Pulsar-mode brokers
	AdminPlaceholder    = "{{pulsar-admin}}" // http://host:port of one Pulsar-mode broker's admin API
	EnsemblePlaceholder = "{{ensemble}}"     // host:port of the ensemble's servers, with commas
	PagePlaceholder     = "{{page}}"         // http://host:port of the classroom's page, as the reader has reached it
)

var (
	placeholders = []string{KafkaPlaceholder, PulsarPlaceholder, AdminPlaceholder, EnsemblePlaceholder, PagePlaceholder}
	placeholder  = regexp.MustCompile(`\{\{[^}\n]*\}\}`)
)

func unknownPlaceholder(text []byte) string {
	for _, found := range placeholder.FindAll(text, -1) {
		if !slices.Contains(placeholders, string(found)) {
			return string(found)
		}
	}
	return ""
}
