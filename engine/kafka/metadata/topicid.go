package metadata

import (
	"encoding/base64"
	"fmt"
)

// TopicID names a topic for good: a topic that is deleted and created again has another id (KIP-516). The zero id means none.
type TopicID [16]byte

// String is the id as Kafka writes it: 22 characters of base64url without padding.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// ParseTopicID reads String's form.
func ParseTopicID(text string) (TopicID, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != 16 {
		return TopicID{}, fmt.Errorf("topic id %q is not 22 characters of base64url", text)
	}
	return TopicID(raw), nil
}
