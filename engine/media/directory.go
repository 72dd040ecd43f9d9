package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
)

// Directory is a Medium in a directory, such as one on a larger or a shared disk. A file is written beside its place, as NAME.partial,
// synced and then renamed, so that a name always has a whole file.
type Directory struct{ root *os.Root }

// OpenDirectory returns the medium in a directory, which is made when missing. Nothing outside of it is ever touched.
func OpenDirectory(directory string) (*Directory, error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, fmt.Errorf("open the medium %s: %w", directory, err)
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, fmt.Errorf("open the medium %s: %w", directory, err)
	}
	return &Directory{root}, nil
}

// Close lets go of the directory.
func (d *Directory) Close() error { return d.root.Close() }

func (d *Directory) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	err := checkName(name)
	if err == nil {
		err = d.put(ctx, name, content, size)
	}
	if err != nil {
		return fmt.Errorf("put %s on the medium %s: %w", name, d.root.Name(), err)
	}
	return nil
}

func (d *Directory) put(ctx context.Context, name string, content io.Reader, size int64) (err error) {
	if err := d.makeDirectories(path.Dir(name)); err != nil {
		return err
	}
	file, err := d.root.Create(name + partial)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			d.root.Remove(name + partial)
		}
	}()
	_, err = io.Copy(file, &withContext{ctx, &exactly{content, size}})
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := d.root.Rename(name+partial, name); err != nil {
		return err
	}
	return d.sync(path.Dir(name))
}

// makeDirectories makes directories whose entries a crash does not lose.
func (d *Directory) makeDirectories(directory string) error {
	if _, err := d.root.Stat(directory); err == nil {
		return nil
	}
	if err := d.root.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	for directory != "." {
		directory = path.Dir(directory)
		if err := d.sync(directory); err != nil {
			return err
		}
	}
	return nil
}

func (d *Directory) sync(directory string) error {
	if runtime.GOOS == "windows" {
		return nil // a directory cannot be synced there
	}
	file, err := d.root.Open(directory)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

func (d *Directory) ReadAt(ctx context.Context, name string, p []byte, offset int64) (int, error) {
	if err := errors.Join(ctx.Err(), checkName(name)); err != nil {
		return 0, err
	}
	file, err := d.root.Open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return file.ReadAt(p, offset)
}

func (d *Directory) Size(ctx context.Context, name string) (int64, error) {
	if err := errors.Join(ctx.Err(), checkName(name)); err != nil {
		return 0, err
	}
	info, err := d.root.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (d *Directory) List(ctx context.Context, prefix string) (names []string, err error) {
	err = d.walk(ctx, prefix, func(name string) error {
		if !strings.HasSuffix(name, partial) {
			names = append(names, name)
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

// walk visits the files whose name begins with prefix.
func (d *Directory) walk(ctx context.Context, prefix string, visit func(name string) error) error {
	from := path.Dir(prefix + "x") // the deepest directory that has all of them
	err := fs.WalkDir(d.root.FS(), from, func(name string, entry fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil || entry.IsDir() || !strings.HasPrefix(name, prefix) {
			return err
		}
		return visit(name)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (d *Directory) Remove(ctx context.Context, name string) error {
	err := errors.Join(ctx.Err(), checkName(name))
	if err == nil {
		if err = d.root.Remove(name); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	if err == nil {
		err = d.sync(path.Dir(name))
	}
	return err
}

func (d *Directory) RemoveUnfinished(ctx context.Context, prefix string) error {
	return d.walk(ctx, prefix, func(name string) error {
		if !strings.HasSuffix(name, partial) {
			return nil
		}
		if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

type withContext struct {
	ctx    context.Context
	reader io.Reader
}

func (r *withContext) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.reader.Read(p)
}
