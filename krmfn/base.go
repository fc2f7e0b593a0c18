package krmfn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
)

// base is the state of the repository that diff --base compares the working tree with.
type base struct {
	// name is the commit or directory as the user named it.
	name string
	// root is the directory whose files differ between the states, and tree has its files in the
	// base. Both are paths without symbolic links. dir is the working directory in tree.
	root, tree, dir string
}

// mergeBase ends the name of a commit if its merge base with HEAD is meant, as in git diff.
const mergeBase = "..."

// base finds a directory, or checks out a commit. remove deletes what it has checked out.
func (p *Process) base(ctx context.Context, name string) (b *base, remove func(), err error) {
	if full := p.absolute(name); isDirectory(full) {
		full = input.RealPath(full)
		return &base{name, input.RealPath(p.Dir), full, full}, func() {}, nil
	}
	b = &base{name: name}
	if b.root, err = p.git(ctx, "rev-parse", "--show-toplevel"); err != nil {
		return nil, nil, fmt.Errorf("--base: %q is no directory, and commits are only in a git repository: %w", name, err)
	}
	b.root = input.RealPath(filepath.FromSlash(b.root))
	commit, err := p.commit(ctx, name)
	if err != nil {
		return nil, nil, p.unknownBase(ctx, name, err)
	}
	parent, err := os.MkdirTemp("", "preadmit-base-")
	if err != nil {
		return nil, nil, err
	}
	clean := func() { _ = os.RemoveAll(parent) }
	defer func() {
		if err != nil {
			clean()
		}
	}()
	b.tree = filepath.Join(input.RealPath(parent), "tree")
	if err := p.checkOut(ctx, commit, b.root, b.tree); err != nil {
		return nil, nil, fmt.Errorf("--base: %q cannot be checked out: %w", name, err)
	}
	if b.dir, err = b.inTree(p.Dir); err == nil {
		err = os.MkdirAll(b.dir, 0o777) // the base need not have it
	}
	return b, clean, err
}

// unknownBase says why a commit cannot be the base, and what to do. err has what git says.
func (p *Process) unknownBase(ctx context.Context, name string, err error) error {
	other := strings.TrimRight(name, ".")
	refs, _ := p.git(ctx, "for-each-ref", "--format=%(refname:short)")
	shallow, _ := p.git(ctx, "rev-parse", "--is-shallow-repository")
	advice := "git log --all lists the commits"
	switch near := source.Misspelt(other, strings.Fields(refs)); {
	case shallow == "true":
		advice = "this clone is shallow, it has only the newest commits: fetch the others with git fetch --unshallow (in GitHub Actions: fetch-depth: 0)"
	case near != "" && other != name:
		advice = "did you mean " + near + mergeBase + "?"
	case near != "":
		advice = "did you mean " + near + "?"
	}
	if _, unknown := p.commit(ctx, other); strings.HasSuffix(name, mergeBase) && unknown == nil {
		if shallow != "true" {
			advice = "--base " + other + " compares with its tip"
		}
		return fmt.Errorf("--base: %s and HEAD have no commit in common; %s", other, advice)
	}
	if isRegular(p.absolute(name)) {
		return fmt.Errorf("--base: %q is a file; expected a commit or a directory", name)
	}
	said := ""
	for line := range strings.SplitSeq(err.Error(), "\n") { // what begins with "fatal:" says no more than we do
		if text, isError := strings.CutPrefix(line, "error: "); isError {
			said += ": " + text
		}
	}
	return fmt.Errorf("--base: %q is neither a directory nor a commit of this repository%s; %s", name, said, advice)
}

// checkOut writes the files of a commit to a directory that is new or empty, and nothing to the repository: a worktree
// that is added to it is read by other runs of git while it is half written, and stays if we are killed. root is the
// working tree. options say which repository it is, if it is another one than that of the process.
func (p *Process) checkOut(ctx context.Context, commit, root, tree string, options ...string) error {
	if err := os.MkdirAll(tree, 0o777); err != nil {
		return err
	}
	index, err := os.MkdirTemp(filepath.Dir(tree), ".preadmit-index-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(index) }()
	in := []string{"GIT_INDEX_FILE=" + filepath.Join(index, "index")}
	options = append(
		options, "-c", "core.hooksPath="+os.DevNull, // hooks would run programs, for files that only we read
		"-c", "core.fsmonitor=false", "-c", "core.splitIndex=false", // both write to the repository
		"--work-tree="+tree)
	if _, err := p.gitWith(ctx, in, append(options, "read-tree", "--no-recurse-submodules", "--reset", "-u", commit)...); err != nil {
		return err
	}
	if !exists(filepath.Join(tree, ".gitmodules")) {
		return nil
	}
	entries, err := p.gitWith(ctx, in, append(options, "ls-files", "--stage", "--full-name", "-z", "--", tree)...)
	if err != nil {
		return err
	}
	return p.checkOutSubmodules(ctx, strings.Split(entries, "\x00"), root, tree)
}

// checkOutSubmodules checks out the submodules among the entries of an index that the working tree has, too.
func (p *Process) checkOutSubmodules(ctx context.Context, entries []string, root, tree string) error {
	for _, entry := range entries {
		about, name, _ := strings.Cut(entry, "\t")
		words := strings.Fields(about)
		repository := filepath.Join(root, filepath.FromSlash(name), ".git")
		if len(words) != 3 || words[0] != "160000" || !exists(repository) {
			continue
		}
		path := filepath.FromSlash(name)
		if err := p.checkOut(ctx, words[1], filepath.Join(root, path), filepath.Join(tree, path), "--git-dir="+repository); err != nil {
			return fmt.Errorf("submodule %s: %w; fetch the commit in the submodule: git submodule foreach git fetch --unshallow", name, err)
		}
	}
	return nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// commit returns the hash of a commit.
func (p *Process) commit(ctx context.Context, name string) (string, error) {
	if other, ok := strings.CutSuffix(name, mergeBase); ok {
		return p.git(ctx, "merge-base", "--", other, "HEAD")
	}
	return p.git(ctx, "rev-parse", "--verify", "--end-of-options", name+"^{commit}")
}

// git runs git in the working directory and returns the line that it prints.
func (p *Process) git(ctx context.Context, args ...string) (string, error) {
	return p.gitWith(ctx, nil, args...)
}

// gitWith is git with additional variables in its environment.
func (p *Process) gitWith(ctx context.Context, env []string, args ...string) (string, error) {
	var stderr limit.Buffer
	output, err := p.start(ctx, &Program{Args: append([]string{"git"}, args...), Dir: p.Dir, Env: env, Stderr: &stderr})
	if said := strings.TrimSpace(string(stderr.Bytes())); err != nil && said != "" {
		err = errors.New(lastLines(said))
	}
	return strings.TrimSuffix(string(output), "\n"), err
}

// inTree returns the path in the base of a file or directory of the working tree.
func (b *base) inTree(full string) (string, error) {
	rel, err := filepath.Rel(b.root, input.RealPath(full))
	return filepath.Join(b.tree, rel), err
}

// place returns the name of a path for a run in the directory of the base, and whether the base has
// it. Paths outside of the repository are the same in both states.
func (b *base) place(p *Process, name string) (string, bool) {
	full := p.absolute(name)
	switch {
	case isStdin(name):
		return name, true
	case !input.IsWithin(input.RealPath(full), b.root):
		return full, true
	}
	there, err := b.inTree(full)
	if err == nil {
		_, err = os.Lstat(there)
	}
	if filepath.IsAbs(name) { // messages must not name the directory of the base
		name, _ = filepath.Rel(b.dir, there)
	}
	return name, err == nil
}

// inHead returns the name of a path for a run in the working tree, which is that of place: objects of both
// states are the same if their files have the same name.
func (b *base) inHead(p *Process, name string) string {
	if full := input.RealPath(p.absolute(name)); filepath.IsAbs(name) && input.IsWithin(full, b.root) {
		name, _ = filepath.Rel(input.RealPath(p.Dir), full)
	}
	return name
}

// nameAll replaces the paths of options, and returns the operands, by their names for a run in the working
// tree.
func (b *base) nameAll(p *Process, operands []string, c *config) (named []string) {
	c.placed = func(c *config) {
		for i := range c.documents {
			list := &c.documents[i].paths
			*list = slices.Clone(*list)
			for n := range *list {
				(*list)[n].name = b.inHead(p, (*list)[n].name)
			}
		}
	}
	c.placed(c)
	for _, name := range operands {
		named = append(named, b.inHead(p, name))
	}
	return named
}

// placeAll replaces the paths of options by those of the base.
func (b *base) placeAll(p *Process, c *config) {
	for i := range c.documents {
		list := &c.documents[i].paths
		var kept []path
		for _, one := range *list {
			var has bool
			if one.name, has = b.place(p, one.name); has {
				kept = append(kept, one)
			}
		}
		*list = kept
	}
	c.options.ChartValues = b.placeOperands(p, c.options.ChartValues)
}

// placeOperands returns the paths of the base for operands.
func (b *base) placeOperands(p *Process, operands []string) (placed []string) {
	for _, name := range operands {
		if name, has := b.place(p, name); has {
			placed = append(placed, name)
		}
	}
	return placed
}

// configure sets the options of the base: those of its own configuration file, or else those of the
// file of the working tree.
func (b *base) configure(p, inBase *Process, given arguments, c *config) error {
	if file := given.file; file != nil {
		dir, err := b.inTree(file.Dir)
		if err != nil || !input.IsWithin(dir, b.tree) {
			dir = file.Dir // outside of the repository, it is the same in both states
		}
		full := filepath.Join(dir, filepath.Base(file.Name))
		moved := *file
		moved.Move(dir)
		own, problems := &moved, []source.Diagnostic(nil)
		if exists(full) {
			own, problems = inBase.readConfiguration(report.InState(b.name, file.Name), full)
		}
		if err := source.Join(problems); err != nil {
			return err
		}
		given.use(inBase, own)
	}
	given.apply(c)
	return nil
}

// reportSince runs the policies of the base on the manifests of the base, and those of the working
// tree on its manifests, and reports how the objects differ that a cluster holds. The base takes results of
// the working tree over where nothing has changed.
func (p *Process) reportSince(ctx context.Context, given arguments, results *engine.Results) (*reported, error) {
	before, after := &reported{}, &reported{}
	given.apply(&after.config)
	operands := given.operands
	if len(operands) == 0 {
		operands = []string{"."}
	}
	if slices.ContainsFunc(operands, isStdin) {
		return nil, misusef("argument-invalid", "--base needs files: standard input is the same in both states")
	}
	b, remove, err := p.base(ctx, after.config.options.Base)
	if err != nil {
		return nil, err
	}
	defer remove()
	inBase := *p
	inBase.Dir = b.dir
	if err := b.prepare(p, &inBase, given, &before.config); err != nil {
		return nil, err
	}
	inBaseOperands := b.placeOperands(p, operands)
	operands = b.nameAll(p, operands, &after.config)
	if after.config.options.Shard != "" {
		names := append(p.applications(&after.config, operands), inBase.applications(&before.config, inBaseOperands)...)
		slices.Sort(names)
		before.config.applications, after.config.applications = slices.Compact(names), slices.Compact(names)
	}
	before.config.observers = append(before.config.observers, results.Reuse())
	after.config.observers = append(after.config.observers, results.Keep())
	first, second := inBase.files(&before.config), p.files(&after.config)
	second.inBase = func(name string) bool { _, has := b.place(p, name); return has }
	after.begin(ctx, p, second, operands)
	first.stdin, first.reader.Pipes = second.stdin, second.reader.Pipes
	before.run, before.head = &admission{outcome: engine.Merge(nil)}, after.run.places
	if len(inBaseOperands) > 0 {
		before.begin(ctx, &inBase, first, inBaseOperands)
	}
	after.compare(b, before)
	return after, nil
}

// prepare sets the options and policies of the base.
func (b *base) prepare(p, inBase *Process, given arguments, c *config) error {
	if err := b.configure(p, inBase, given, c); err != nil {
		return err
	}
	inBase.Policies = b.placeOperands(p, p.Policies)
	c.options.AllowEmpty, c.options.AllowNoPolicies, c.options.Stats, c.options.StatsFile = true, true, false, ""
	c.placed = func(c *config) { b.placeAll(p, c) }
	c.placed(c)
	return nil
}

// compare makes the report of how the working tree differs from the base.
func (r *reported) compare(b *base, before *reported) {
	r.report = &report.Report{}
	if before.run.outcome == nil || r.run.outcome == nil {
		r.run.outcome = nil
	} else {
		r.report = report.Since(before.state(b.name), r.state("working tree"), r.secretsOfBoth(before))
		r.report.Locate(b.locate(before.run, r.run))
	}
	b.nameGone(before.run, r.run.diagnostics)
	r.run.add(b.tell(before.run, r.run.diagnostics)...)
	r.before = before.said(r.run.diagnostics)
	r.tellVarying(before.varying)
	r.describe()
}

// locate returns a function that finds the places in the repository of what was rendered in either state.
func (b *base) locate(before, after *admission) func(source.Position, change.Path) source.Position {
	return func(at source.Position, field change.Path) source.Position {
		name, isBase := strings.CutPrefix(at.File, report.InState(b.name, ""))
		if !isBase {
			return after.locate(at, field)
		}
		at.File = name
		at = before.locate(at, field)
		at.File = report.InState(b.name, at.File)
		return at
	}
}

// applications returns the names of the applications in directories.
func (p *Process) applications(c *config, operands []string) []string {
	var names []string
	for _, one := range p.files(c).renderings(operands, c) {
		names = append(names, one.name)
	}
	return names
}

// placed returns a position in the base with the name of the base.
func (b *base) placed(p source.Position) source.Position {
	if p.IsKnown() {
		p.File = report.InState(b.name, p.File)
	}
	return p
}

// said is what a diagnostic says, whatever its lines: they may have moved.
type said struct {
	severity                      source.Severity
	code, subject, field, message string
}

func saying(d source.Diagnostic) said {
	return said{d.Severity, d.Code, d.Subject, d.Field, d.Printed()}
}

func sayings(diagnostics []source.Diagnostic) map[said]bool {
	all := map[said]bool{}
	for _, d := range diagnostics {
		all[saying(d)] = true
	}
	return all
}

// said returns what the base says, also about manifests whose results are taken over from the working tree.
func (r *reported) said(inHead []source.Diagnostic) map[said]bool {
	all := sayings(r.run.diagnostics)
	if r.run.outcome == nil {
		return all
	}
	same := map[source.Position]bool{}
	for _, m := range r.run.outcome.Manifests {
		if m.Same != nil {
			same[m.Same.Document.At(nil)] = true
		}
	}
	for _, d := range inHead {
		if same[d.Origin] {
			all[saying(d)] = true
		}
	}
	return all
}

// excuse makes notes of the denials that the base has, too: they are no changes.
func (r *reported) excuse() {
	if r.before == nil {
		return
	}
	denied := false
	for i := range r.run.diagnostics {
		switch d := &r.run.diagnostics[i]; {
		case d.Code != deniedCode || d.Severity != source.Error:
		case r.before[saying(*d)]:
			d.Severity, d.Advice = source.Info, "the base denies it for the same reason"
		default:
			denied = true
		}
	}
	if r.run.outcome != nil {
		r.run.outcome.Denied = denied
	}
}

// news returns what a report says about the run: all of its diagnostics but the warnings that the base has, too. These
// are only printed to standard error.
func (r *reported) news() []source.Diagnostic {
	return slices.DeleteFunc(slices.Clone(r.run.diagnostics), func(d source.Diagnostic) bool {
		return d.Severity == source.Warning && r.before[saying(d)]
	})
}

// nameGone adds to diagnostics about missing objects where the base has these.
func (b *base) nameGone(run *admission, diagnostics []source.Diagnostic) {
	documents := map[string]*manifest.Document{}
	for _, s := range run.inputs {
		for _, d := range s.Documents() {
			documents[d.Kind().ID(d.Namespace(), d.Name())] = d
		}
	}
	for i, d := range diagnostics {
		if gone := documents[d.Missing]; gone != nil {
			at := run.locate(gone.At(nil), nil)
			diagnostics[i] = d.Naming(b.placed(at), "the base has "+d.Missing+": restore it, or let no binding name it")
		}
	}
}

// tell returns the errors in the base that the working tree does not have. They are warnings if there
// is a result without what they are about.
func (b *base) tell(run *admission, known []source.Diagnostic) []source.Diagnostic {
	same := sayings(known)
	told := slices.DeleteFunc(slices.Clone(run.diagnostics), func(d source.Diagnostic) bool {
		return d.Severity != source.Error || same[saying(d)]
	})
	for i, d := range told {
		told[i] = run.located(d).Relocated(b.placed)
		if run.outcome != nil {
			told[i].Severity = source.Warning
		}
	}
	return told
}

// state returns the run for a report.
func (r *reported) state(name string) report.State {
	s := report.State{Name: name, Run: r.side()}
	for _, stream := range r.run.inputs {
		s.Context = append(s.Context, stream.Documents()...)
	}
	for _, d := range s.Context {
		if engine.IsPolicy(d.Kind()) {
			s.Policies = append(s.Policies, d)
		}
	}
	s.Hold = func(output []*manifest.Document) []map[string]any {
		held, index := make([]map[string]any, len(output)), map[*manifest.Stream]int{}
		var streams []*manifest.Stream
		for i, d := range output {
			stream, _ := manifest.Reread("-", d.YAML())
			held[i], index[stream] = d.Object(), i
			streams = append(streams, stream)
		}
		for _, m := range engine.View(streams, r.run.inputs, r.config.options.Engine).Manifests {
			held[index[m.Document.Stream()]] = m.Before
		}
		return held
	}
	return s
}
