package dump

import (
	"bytes"
	"fmt"
	"io"

	"twinlog/engine/ensemble/server"
)

// textFiles are files that are text already; what their lines mean is said here.
var textFiles = map[string]string{
	"leader-epoch-checkpoint":       "after the version and the number of lines: a leader epoch, and the offset of the first record that its leader wrote",
	"replication-offset-checkpoint": "after the version and the number of lines: topic, partition, and the high watermark that the broker knew last",
	"partition.metadata":            "the id of the topic whose partition this is: a topic of the same name that is created later has another one",
	"VERSION":                       "the bookie's cookie, of which the ensemble has a copy: a bookie that finds another one here has lost or mixed up its disk",
}

func printText(out io.Writer, file source, meaning string) error {
	name := file.name
	content, err := file.readSmall()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %s\n", name, meaning)
	for line := range bytes.Lines(content) {
		if err != nil {
			break
		}
		_, err = fmt.Fprintf(out, "  %s\n", bytes.ToValidUTF8(bytes.TrimSuffix(line, []byte("\n")), []byte("?")))
	}
	return err
}

func printPromises(out io.Writer, file source) error {
	name := file.name
	content, err := file.readSmall()
	if err != nil {
		return err
	}
	text, err := server.DescribePromises(content)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(out, "%s: what an ensemble server must not forget: it %s\n", name, text)
	return nil
}

func printNonce(out io.Writer, file source) error {
	content, err := file.readSmall()
	if err != nil {
		return err
	}
	text, err := server.DescribeNonce(content)
	if err != nil {
		return fmt.Errorf("%s: %w", file.name, err)
	}
	_, err = fmt.Fprintf(out, "%s: a blank ensemble server: it %s\n", file.name, text)
	return err
}

func printSnapshot(out io.Writer, file source) error {
	name := file.name
	content, err := file.readSmall()
	if err != nil {
		return err
	}
	lines, err := server.DescribeSnapshot(content)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, err = fmt.Fprintf(out, "%s: a snapshot, %s\n", name, lines[0])
	for i := 1; i < len(lines) && err == nil; i++ {
		_, err = fmt.Fprintf(out, "  %s\n", lines[i])
	}
	return err
}
