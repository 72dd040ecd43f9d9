package chinese_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/yuin/goldmark"

	"twinlog/labs/chinese"
)

func TestLines(t *testing.T) {
	for source, want := range map[string]string{
		"日志只在\n末尾增长":          "日志只在末尾增长",
		"其中一个是\nleader":       "其中一个是\nleader",
		"每个 broker\n都有":       "每个 broker\n都有",
		"存为\n`orders.py`：":    "存为\n<code>orders.py</code>：",
		"`orders.py`\n里面":     "<code>orders.py</code>\n里面",
		"从\n  [`send`](s) 开始": "从\n<a href=\"s\"><code>send</code></a> 开始",
		"不动，\n`acks=1` 也是":    "不动，<code>acks=1</code> 也是",
		"**副本**\n（replica）":   "<strong>副本</strong>（replica）",
		"逐个\n**确认**":          "逐个<strong>确认</strong>",
		"one\ntwo":            "one\ntwo",
		"他说：\n“是”":            "他说：“是”",
	} {
		var html bytes.Buffer
		if err := goldmark.New(goldmark.WithExtensions(chinese.Lines)).Convert([]byte(source), &html); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(html.String()), "<p>"), "</p>"); got != want {
			t.Errorf("%q becomes %q, not %q", source, got, want)
		}
	}
}
