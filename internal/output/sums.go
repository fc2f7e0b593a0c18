package output

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	slashed "path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// SumsName is the name of the file in an output directory with the SHA-256 sums of the files that runs
// wrote there, in the format of sha256sum. The sum of a symbolic link is that of its path.
const SumsName = ".preadmit-sums"

// Sums are the sums of the files in an output directory. While the files are replaced, the file of sums has
// those of before and of now, so that a later run knows what an interrupted one wrote.
type Sums struct {
	file *File
	// dir is the output directory, without symbolic links.
	dir    string
	ledger *Ledger
	// prune says that files which this run does not write are removed.
	prune bool
	// before and now have the sums by the paths of the files, which have slashes.
	before, now map[string][]string
	// written are the files that the run writes, by their real paths in lower case.
	written map[string]*File
	// inWay are files and directories to remove before files are replaced, each after what it is in.
	inWay []string
	// Removed counts the files that are removed. Kept are warnings about files that are not, although nothing
	// is written there any more.
	Removed int
	Kept    []source.Diagnostic
}

// SumsIn returns the sums of an output directory, whose name for messages is given, too. Without pruning, it returns
// nil for a directory that has none.
func SumsIn(l *Ledger, dir, name string, prune bool) (*Sums, []source.Diagnostic) {
	s := &Sums{dir: input.RealPath(dir), ledger: l, prune: prune}
	s.file = &File{Name: filepath.ToSlash(filepath.Join(name, SumsName)), Real: filepath.Join(s.dir, SumsName), Within: dir}
	if _, err := os.Lstat(s.file.Real); err != nil && !prune {
		return nil, nil
	}
	if err := l.Claim("the sums of --prune", s.file.Real); err != nil {
		return nil, []source.Diagnostic{Unwritable(s.file.Name, err)}
	}
	return s, nil
}

// begin locks the output directory, reads the sums, and adds those of the files that the run writes.
func (s *Sums) begin(ctx context.Context, places places, written []*File, say io.Writer) (problems []source.Diagnostic) {
	if problems = places.open(ctx, []*File{s.file}, say); len(problems) > 0 {
		return problems
	}
	if err := s.file.look(); err != nil {
		return s.file.note(nil, err)
	}
	s.before, problems = readSums(s.file.Name, string(s.file.before))
	s.now, s.written = map[string][]string{}, map[string]*File{}
	both := maps.Clone(s.before)
	for _, f := range written {
		name, err := s.nameOf(f.Real)
		if err != nil {
			return append(problems, Unwritable(f.Name, err))
		}
		s.written[strings.ToLower(f.Real)] = f
		s.now[name] = []string{sumOf(f.Data)}
		both[name] = append(slices.Clone(both[name]), s.now[name]...)
	}
	s.file.Data = sumsText(both)
	return problems
}

// nameOf returns the path that a file has in the sums.
func (s *Sums) nameOf(full string) (string, error) {
	name, err := filepath.Rel(s.dir, full)
	return filepath.ToSlash(name), err
}

// giveWay notes the obstacle of a file for makeWay. It fails if there is anything that no run wrote, that has
// changed since or that this run writes, or if nobody has asked for pruning.
func (s *Sums) giveWay(f *File) error {
	switch {
	case f.obstacle == "":
		return nil
	case s == nil || !s.prune || s.before == nil:
		return f.errInWay()
	}
	return filepath.WalkDir(filepath.Join(f.dir, f.obstacle), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := s.nameOf(path)
		if err == nil && !e.IsDir() && !strings.HasPrefix(e.Name(), stagedPrefix) {
			err = s.mayRemove(name)
		}
		if err != nil {
			return Refuse(fmt.Sprintf("%s is in the way: %v", source.Name(slashed.Join(slashed.Dir(s.file.Name), name)), err), "remove it yourself")
		}
		s.inWay = append(s.inWay, name)
		return nil
	})
}

// makeWay removes what is in the way of files.
func (s *Sums) makeWay() (problems []source.Diagnostic) {
	root := s.file.place.Root
	for _, name := range slices.Backward(s.inWay) {
		info, err := root.Lstat(filepath.FromSlash(name))
		switch {
		case errors.Is(err, fs.ErrNotExist): // several files may have the same obstacle
			continue
		case err == nil:
			err = root.Remove(filepath.FromSlash(name))
		}
		if err != nil {
			return append(problems, Unwritable(slashed.Join(slashed.Dir(s.file.Name), name), err))
		}
		if s.before[name] != nil && !info.IsDir() {
			s.Removed++
		}
	}
	return nil
}

// end removes the files that the run has not written, if it may, and writes the sums of those that are left.
func (s *Sums) end() (problems []source.Diagnostic) {
	left := maps.Clone(s.now)
	for _, name := range slices.Sorted(maps.Keys(s.before)) {
		if _, isWritten := s.now[name]; isWritten {
			continue
		}
		err := errNotAsked
		if s.prune {
			err = s.remove(name)
		}
		switch {
		case err == nil:
			s.Removed++
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, errNotAsked):
			left[name] = s.before[name]
		default:
			left[name] = s.before[name]
			d := source.Diagnostic{Severity: source.Warning, Code: "file-kept", Message: "nothing is written there any more, and the file was not removed: " + err.Error()}
			d.At.File = slashed.Join(slashed.Dir(s.file.Name), name)
			s.Kept = append(s.Kept, d.With("remove it yourself, or take its line out of "+s.file.Name+" to keep it"))
		}
	}
	last := &File{Name: s.file.Name, below: s.file.below, Data: sumsText(left), place: s.file.place}
	if err := last.look(); err != nil || slices.Equal(last.before, last.Data) {
		return last.note(problems, err)
	}
	defer last.discard()
	err := last.stage()
	if err == nil {
		err = last.replace()
	}
	return last.note(problems, err)
}

// errNotAsked says that a file stays because nobody has asked for pruning.
var errNotAsked = errors.New("it is not to be removed")

// remove removes a file that an earlier run wrote and that has not changed since, and the directories that
// become empty. What killed runs have left there is removed, too.
func (s *Sums) remove(name string) error {
	if s.isBelowFile(name) {
		return fs.ErrNotExist
	}
	root := s.file.place.Root
	s.sweep(slashed.Dir(name))
	err := s.mayRemove(name)
	if err == nil {
		err = root.Remove(filepath.FromSlash(name))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for dir := slashed.Dir(name); dir != "."; dir = slashed.Dir(dir) {
		if root.Remove(filepath.FromSlash(dir)) != nil {
			break // it is not empty
		}
	}
	return err
}

// mayRemove returns an error unless an earlier run wrote a file and it has not changed since.
func (s *Sums) mayRemove(name string) error {
	full := filepath.Join(s.dir, filepath.FromSlash(name))
	info, err := s.file.place.Root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, syscall.ENOTDIR) || err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return err
	}
	if s.before[name] == nil {
		return errors.New("no earlier run wrote it")
	}
	data, err := s.contents(full, name, info)
	switch {
	case err != nil:
		return err
	case !slices.Contains(s.before[name], sumOf(data)):
		return errors.New("it has changed since a run wrote it")
	case s.isInUse(full, info):
		return errors.New("this run has read or written it")
	}
	return nil
}

// isBelowFile reports whether the run has written a file or link that has the path of a directory of name.
func (s *Sums) isBelowFile(name string) bool {
	for dir := slashed.Dir(name); dir != "."; dir = slashed.Dir(dir) {
		if s.now[dir] != nil {
			return true
		}
	}
	return false
}

// sweep removes the temporary files of killed runs from a directory, unless a run is at work there, such as this
// one, which has done it before.
func (s *Sums) sweep(name string) {
	root, err := s.file.place.Root.OpenRoot(filepath.FromSlash(name))
	if err != nil {
		return // without the directory there is nothing to remove
	}
	dir := &Directory{Root: root}
	defer dir.Close()
	if dir.lock, err = root.Open("."); err != nil {
		return
	}
	if isLocked, err := tryLock(dir.lock); isLocked && err == nil {
		_ = dir.clean()
	}
}

// contents returns what a file has that is to be removed: its data, or the path of a link.
func (s *Sums) contents(full, name string, info fs.FileInfo) ([]byte, error) {
	root, isOwn := s.file.place.Root, input.RealPath(filepath.Dir(full)) == filepath.Dir(full)
	if isOwn && info.Mode().IsRegular() {
		return root.ReadFile(filepath.FromSlash(name))
	}
	if isOwn && info.Mode().Type() == fs.ModeSymlink {
		text, err := root.Readlink(filepath.FromSlash(name))
		if err != nil || slices.Contains(s.before[name], sumOf([]byte(text))) {
			return []byte(text), err
		}
	}
	return nil, errors.New("it is a link, or no regular file")
}

// isInUse reports whether the run has read or written a file, perhaps by another name: a file system may
// ignore the case of letters.
func (s *Sums) isInUse(full string, info fs.FileInfo) bool {
	for _, key := range keysOf(full) {
		if _, isRead := s.ledger.read[key]; isRead {
			return true
		}
	}
	same := s.written[strings.ToLower(full)]
	if same == nil {
		return false
	}
	other, err := os.Stat(same.Real)
	return err == nil && os.SameFile(info, other)
}

func sumOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

var (
	// sumsLine is a line of sha256sum. A backslash says that the path has escapes.
	sumsLine = lazyregexp.New(`^(\\?)([0-9a-f]{64})  (.+)$`)
	escapes  = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\f", `\f`)
	original = strings.NewReplacer(`\\`, "\\", `\n`, "\n", `\f`, "\f")
)

// readSums reads the sums of files by their paths. Other lines are errors, each of them.
func readSums(name, text string) (of map[string][]string, problems []source.Diagnostic) {
	of = map[string][]string{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		found := sumsLine().FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		file := ""
		if found != nil {
			file = found[3]
			if found[1] != "" {
				file = original.Replace(file)
			}
		}
		if file == "" || file != slashed.Clean(file) || !filepath.IsLocal(filepath.FromSlash(file)) {
			d := source.Errorf(source.Position{File: name, Line: n, Column: 1}, "sums-malformed", "this is not the sum of a file in the directory, as sha256sum prints it")
			problems = append(problems, d.With("restore the file; without it, --prune removes nothing that earlier runs wrote"))
			continue
		}
		of[file] = append(of[file], found[2])
	}
	return of, problems
}

// sumsText returns the lines of sums, sorted by path.
func sumsText(of map[string][]string) []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(of)) {
		escaped, mark := escapes.Replace(name), ""
		if escaped != name {
			mark = `\`
		}
		for _, sum := range slices.Compact(slices.Sorted(slices.Values(of[name]))) {
			fmt.Fprintf(&b, "%s%s  %s\n", mark, sum, escaped)
		}
	}
	return []byte(b.String())
}
