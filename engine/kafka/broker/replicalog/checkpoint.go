package replicalog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"twinlog/engine/disk"
)

// WriteCheckpoint replaces a checkpoint file. Its form is Kafka's: a version, how many lines follow, the lines.
//
//	0
//	2
//	orders 0 1532
//	orders 1 1498
//
// The new file is complete before it takes the old one's place, so a crash leaves one or the other.
func WriteCheckpoint(d disk.Disk, name string, lines []string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "0\n%d\n", len(lines))
	for _, line := range lines {
		text.WriteString(line)
		text.WriteByte('\n')
	}
	return replaceFile(d, name, []byte(text.String()))
}

func replaceFile(d disk.Disk, name string, contents []byte) error {
	temporary := name + ".tmp"
	if err := writeFile(d, temporary, contents); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := d.Rename(temporary, name); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func writeFile(d disk.Disk, name string, contents []byte) error {
	file, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(contents, 0)
	return errors.Join(err, file.Close())
}

// maxCheckpointSize bounds a small file that is read whole, in bytes.
const maxCheckpointSize = 64 << 20

// ReadFile reads a small file whole.
func ReadFile(d disk.Disk, name string) ([]byte, error) {
	file, err := d.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	if size > maxCheckpointSize {
		return nil, fmt.Errorf("%s has %d bytes, at most %d are expected", name, size, maxCheckpointSize)
	}
	contents := make([]byte, size)
	if _, err := file.ReadAt(contents, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return contents, nil
}

// WriteFile replaces a small file.
func WriteFile(d disk.Disk, name string, contents []byte) error {
	return replaceFile(d, name, contents)
}

// ReadCheckpoint reads the lines of a checkpoint file; none when the file is not there.
func ReadCheckpoint(d disk.Disk, name string) ([]string, error) {
	contents, err := ReadFile(d, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	scanner := bufio.NewScanner(strings.NewReader(string(contents)))
	var version, count int
	if !scanner.Scan() {
		return nil, nil // an empty file: the crash came before its contents were durable
	}
	if _, err := fmt.Sscan(scanner.Text(), &version); err != nil || version != 0 {
		return nil, fmt.Errorf("read %s: version %q is not 0", name, scanner.Text())
	}
	if !scanner.Scan() {
		return nil, fmt.Errorf("read %s: the number of lines is missing", name)
	}
	if _, err := fmt.Sscan(scanner.Text(), &count); err != nil {
		return nil, fmt.Errorf("read %s: the number of lines: %w", name, err)
	}
	var lines []string
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	if len(lines) != count {
		return nil, fmt.Errorf("read %s: it says %d lines and has %d", name, count, len(lines))
	}
	return lines, nil
}
