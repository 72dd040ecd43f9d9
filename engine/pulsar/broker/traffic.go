package broker

// traffic counts messages and bytes, and how fast they came over the last interval that was measured. It belongs to its topic.
type traffic struct {
	messages int64
	bytes    int64
	entries  int64

	lastMessages int64
	lastBytes    int64
	messageRate  float64 // a second
	byteRate     float64
}

func (t *traffic) add(messages, bytes int) {
	t.messages += int64(messages)
	t.bytes += int64(bytes)
	t.entries++
}

// measure sets the rates from what came in the seconds since the last call.
func (t *traffic) measure(seconds float64) {
	t.messageRate = float64(t.messages-t.lastMessages) / seconds
	t.byteRate = float64(t.bytes-t.lastBytes) / seconds
	t.lastMessages, t.lastBytes = t.messages, t.bytes
}

func (t *traffic) averageSize() float64 {
	if t.entries == 0 {
		return 0
	}
	return float64(t.bytes) / float64(t.entries)
}
