package reactor

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// readBody decodes a body. The frame comes from outside, so a panic of the generated decoder would be an attack on the whole broker: it
// ends one connection instead.
func readBody(body kmsg.Request, bytes []byte) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the decoder gave up: %v", cause)
		}
	}()
	if body.Key() == int16(kmsg.Produce) {
		if err := guardProduce(body.GetVersion(), bytes); err != nil {
			return err
		}
	}
	return body.ReadFrom(bytes)
}
