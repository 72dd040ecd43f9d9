package workload

import (
	"bytes"
	"fmt"
	"strconv"
)

// A message's value is text, so that a student who looks at it with any tool can read it:
//
//	twinlog 7f3a9c21 000000000012 ........................
//	        side     number       padding to the size asked for
//
// The side is a name drawn for one side of one workload, so that a consumer can tell its messages from everything else in the topic.
const (
	messageMark = "twinlog "
	sideDigits  = 8
	numberWidth = 12
	headerBytes = len(messageMark) + sideDigits + 1 + numberWidth + 1
)

func messageValue(side string, number int64, size int) []byte {
	value := make([]byte, 0, size)
	value = fmt.Appendf(value, "%s%s %0*d ", messageMark, side, numberWidth, number)
	for len(value) < size {
		value = append(value, '.')
	}
	return value
}

// readValue is the reverse of messageValue; ok is false for a message that somebody else has written.
func readValue(value []byte) (side string, number int64, ok bool) {
	if len(value) < headerBytes || !bytes.HasPrefix(value, []byte(messageMark)) {
		return "", 0, false
	}
	rest := value[len(messageMark):headerBytes]
	number, err := strconv.ParseInt(string(rest[sideDigits+1:sideDigits+1+numberWidth]), 10, 64)
	if err != nil || number < 0 || rest[sideDigits] != ' ' {
		return "", 0, false
	}
	return string(rest[:sideDigits]), number, true
}

// key is the key of a message when its workload asks for keys, and empty otherwise.
func (s Spec) key(number int64) string {
	if s.Keys == 0 {
		return ""
	}
	return "key-" + strconv.FormatInt(number%int64(s.Keys), 10)
}
