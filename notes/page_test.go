package notes

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
)

func TestAPageIsRenderedWithLinksOfItsOwn(t *testing.T) {
	for _, language := range []string{"en", "zh"} {
		page, err := Read("06-isr-and-acks", language)
		if err != nil {
			t.Fatal(err)
		}
		if page.Title == "" || strings.Contains(page.HTML, "<h1") {
			t.Errorf("%s: the title %q stands apart from the text", language, page.Title)
		}
		for _, part := range []string{
			`href="?lab=06-isr-and-acks"`, `href="?note=10-ledgers-and-bookies"`, `href="?view=picture"`,
			`href="?source=engine%2Fkafka%2Freplica%2Fleader.go&amp;symbol=Partition.Fetched"`, "<table>", "<pre>",
		} {
			if !strings.Contains(page.HTML, part) {
				t.Errorf("%s: no %s", language, part)
			}
		}
		for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page.HTML, -1) {
			if !strings.HasPrefix(link[1], "?") {
				t.Errorf("%s: the link %s leaves the page", language, link[1])
			}
		}
	}
}

func TestNoPageShowsItsAsterisks(t *testing.T) {
	pages, err := fs.Glob(Pages, "*/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	for _, name := range pages {
		page, err := Read(path.Dir(name), strings.TrimSuffix(path.Base(name), ".md"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(page.HTML, "**") {
			t.Errorf("%s: ** must not stand between punctuation and a letter", name)
		}
	}
}

func TestALineBreakIsAGapInEnglishAlone(t *testing.T) {
	english, err := Read("06-isr-and-acks", "en")
	if err != nil || !strings.Contains(english.HTML, "losing anything?\nKafka's answer") {
		t.Errorf("words of two lines run together: %v", err)
	}
	chinese, err := Read("06-isr-and-acks", "zh")
	if err != nil || !strings.Contains(chinese.HTML, "Kafka 的回答是一个随时更新的集合") {
		t.Errorf("a gap within a sentence: %v", err)
	}
}

func TestThereIsNoOtherPage(t *testing.T) {
	for _, id := range []string{"", "11-nothing", "../notes/06-isr-and-acks", "06-isr-and-acks/en.md", "."} {
		if _, err := Read(id, "en"); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := Read("06-isr-and-acks", "../06-isr-and-acks/en"); err == nil {
		t.Error("a language is not a path")
	}
}
