package labs

import (
	"strings"
	"unicode"

	"twinlog/labs/lab"
)

// words is what the terminal says around the texts of a lab.
type words struct {
	fresh, started, minutes           string
	verdicts                          map[string]string
	expected, observed, decided, hint string
	done                              map[string]string // by verb
}

var wordsIn = map[string]words{
	"en": {
		fresh: "new", started: "started", minutes: "min",
		verdicts: map[string]string{
			lab.Passed: "passed", lab.NotYet: "not yet", lab.Lost: "cannot pass any more", lab.Unknown: "could not tell", lab.Waiting: "waits for another task",
		},
		expected: "expected:", observed: "observed:", decided: "decided by event", hint: "hint:",
		done: map[string]string{
			"start": "The lab is set up. Check it with:", "reset": "The lab is set up anew. Check it with:", "solve": "The solution was played. Check it with:",
		},
	},
	"zh": {
		fresh: "未开始", started: "进行中", minutes: "分钟",
		verdicts: map[string]string{
			lab.Passed: "通过", lab.NotYet: "尚未通过", lab.Lost: "本次尝试已无法通过", lab.Unknown: "无法判断", lab.Waiting: "先完成前面的任务",
		},
		expected: "期望：", observed: "观察到：", decided: "决定性事件：", hint: "提示：",
		done: map[string]string{
			"start": "实验已就绪。检查：", "reset": "实验已重置。检查：", "solve": "答案已演示。检查：",
		},
	},
}

func (r *remote) words() words {
	if spoken, ok := wordsIn[r.language]; ok {
		return spoken
	}
	return wordsIn["en"]
}

// verdictWidth is the terminal columns that a verdict takes.
const verdictWidth = 22

// padded fills a text up to a number of terminal columns; a Chinese character takes two.
func padded(text string, width int) string {
	for _, r := range text {
		width--
		if unicode.Is(unicode.Han, r) {
			width--
		}
	}
	return text + strings.Repeat(" ", max(width, 0))
}
