package replicalog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
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
// The new file is complete before it takes the old one's place, so that a crash of the process leaves one or the other. After a power cut
// that holds only when durable was asked for; else the file may be damaged or missing, and ReadCheckpoint says so.
func WriteCheckpoint(d disk.Disk, name string, lines []string, durable bool) error {
	var text strings.Builder
	fmt.Fprintf(&text, "0\n%d\n", len(lines))
	for _, line := range lines {
		text.WriteString(line)
		text.WriteByte('\n')
	}
	return replaceFile(d, name, []byte(text.String()), durable)
}

func replaceFile(d disk.Disk, name string, contents []byte, durable bool) error {
	temporary := name + ".tmp"
	err := writeFile(d, temporary, contents, durable)
	if err == nil {
		err = d.Rename(temporary, name)
	}
	if err == nil && durable {
		err = d.SyncDir(path.Dir(name))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func writeFile(d disk.Disk, name string, contents []byte, durable bool) error {
	file, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(contents, 0)
	if err == nil && durable {
		err = file.Sync()
	}
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
	return replaceFile(d, name, contents, false)
}

// ErrDamaged: a checkpoint file is not what was written. Only a power cut does that.
var ErrDamaged = errors.New("the checkpoint file is damaged")

// ReadCheckpoint reads the lines of a checkpoint file; none when the file is not there. ErrDamaged when it is not whole.
func ReadCheckpoint(d disk.Disk, name string) ([]string, error) {
	contents, err := ReadFile(d, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	lines := strings.Split(strings.TrimSuffix(string(contents), "\n"), "\n")
	if len(lines) < 2 || lines[0] != "0" || !strings.HasSuffix(string(contents), "\n") || lines[1] != strconv.Itoa(len(lines)-2) {
		return nil, fmt.Errorf("read %s: %w", name, ErrDamaged)
	}
	return lines[2:], nil
}
