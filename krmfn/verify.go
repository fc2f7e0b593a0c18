package krmfn

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/cluster"
	"github.com/preadmit/preadmit/internal/settings"
)

// verify asks a cluster, in dry runs, whether it does with manifests what is predicted.
func (p *Process) verify(ctx context.Context, given arguments) int {
	var c config
	given.apply(&c)
	c.stock = true
	if c.options.Snapshot != "" {
		snapshot := path{name: c.options.Snapshot, label: "--snapshot"}
		c.documents[settings.Policies].paths = append(c.documents[settings.Policies].paths, snapshot)
	}
	c.options.Engine.DryRun, c.options.Engine.FieldValidation = true, engine.FieldValidationStrict
	v := &verification{process: p, config: &c, kubectl: p.kubectl(&c)}
	v.identify(ctx)
	f := p.files(&c)
	manifests := f.stream(given.operands, &c)
	a := &admission{}
	v.set = p.compile(f.configOf(&c, p.Dir), f, a, nil, nil)
	v.given, v.secrets = a.inputs, secretsIn(manifests, a.inputs)
	if v.set == nil || source.HasErrors(a.diagnostics) {
		p.report(a.diagnostics, "nothing verified", c.options.Verbose)
		return exitInvalid
	}
	err := v.resolve(ctx, manifests)
	if err == nil {
		err = v.run(ctx)
	}
	if err == nil {
		err = v.compareSnapshot(ctx)
	}
	if err != nil {
		p.report(append(a.diagnostics, v.secrets.Messages([]source.Diagnostic{failedRequest(err)})...), "nothing verified", c.options.Verbose)
		return exitInvalid
	}
	p.report(append(a.diagnostics, v.drift...), "", c.options.Verbose)
	return v.tell()
}

// verification is the state of verify.
type verification struct {
	process *Process
	config  *config
	kubectl *cluster.Kubectl
	set     *engine.Set
	// given are the policies with their context.
	given []*manifest.Stream
	// secrets hides the values of the Secrets among the manifests and the policies.
	secrets *redact.Redactor
	checks  []*check
	// drift are the differences between the cluster and the given policies, and stale says that
	// there are such differences. suspects are the policies that differ.
	drift    []source.Diagnostic
	suspects []string
}

// check is one manifest.
type check struct {
	document *manifest.Document
	object   map[string]any
	id       string
	resource cluster.Resource
	served   bool
	// finding says what differs; nil if nothing does.
	finding *source.Diagnostic
	// refused says that the cluster refuses the manifest, as predicted.
	refused bool
	// quotes are the objects that the server, and webhooks that it calls, may quote in an error.
	quotes redact.Scope
	err    error
}

// secretsIn returns what hides the values of the Secrets in files.
func secretsIn(several ...[]*manifest.Stream) *redact.Redactor {
	secrets := &redact.Redactor{}
	for _, streams := range several {
		for _, s := range streams {
			secrets = secrets.With(s.Documents())
		}
	}
	return secrets
}

// identify sets the user of the options to the one that the cluster sees, unless they name one.
func (v *verification) identify(ctx context.Context) {
	user := &v.config.options.Engine.User
	if user.Name != "" || user.UID != "" || len(user.Groups) > 0 {
		return
	}
	answer, err := v.kubectl.Create(ctx, "/apis/authentication.k8s.io/v1/selfsubjectreviews", []byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`))
	if err != nil {
		return // policies that ask for the user differ, and say so
	}
	var review struct {
		Status struct {
			UserInfo struct {
				Username, UID string
				Groups        []string
			}
		}
	}
	if json.Unmarshal(answer, &review) == nil {
		user.Name, user.UID, user.Groups = review.Status.UserInfo.Username, review.Status.UserInfo.UID, review.Status.UserInfo.Groups
	}
}

// resolve finds the resources of all manifests.
func (v *verification) resolve(ctx context.Context, manifests []*manifest.Stream) error {
	for _, s := range manifests {
		for _, d := range s.Documents() {
			if d.IsLocal() || d.Kind().Version == "" {
				continue
			}
			r, ok, err := v.kubectl.Find(ctx, d.Kind())
			if err != nil {
				return err
			}
			c := &check{document: d, object: change.CloneObject(d.Object()), resource: r, served: ok, quotes: redact.Scope{All: redact.IsSecret(d.Object())}}
			if metadata, isMap := c.object["metadata"].(map[string]any); isMap && r.Namespaced && d.Namespace() == "" {
				metadata["namespace"] = cmp.Or(v.config.options.Engine.Namespace, "default")
			}
			c.id = strings.TrimPrefix(d.Kind().Group+"/", "/") + d.Kind().Kind + "/" + strings.TrimPrefix(c.namespace()+"/", "/") + cmp.Or(d.Name(), d.TextAt("metadata", "generateName")+"*")
			v.checks = append(v.checks, c)
		}
	}
	return nil
}

func (c *check) namespace() string {
	name, _ := change.Keys("metadata", "namespace").Get(c.object)
	text, _ := name.(string)
	return text
}

// requests is how many manifests are sent at a time.
const requests = 4

// run sends all manifests.
func (v *verification) run(ctx context.Context) error {
	var wait sync.WaitGroup
	slots := make(chan struct{}, requests)
	var progress *progress
	if v.process.StderrIsTerminal {
		progress = newProgress(v.process.Stderr, v.process.Now)
		defer progress.end()
	}
	for i, c := range v.checks {
		if progress != nil {
			progress.observe(i, len(v.checks))
		}
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			if ctx.Err() == nil {
				c.err = v.check(ctx, c)
			}
		})
	}
	wait.Wait()
	for _, c := range v.checks {
		if c.err != nil {
			return source.Messagef("%s: %v", source.Name(c.id), c.quotes.Error(c.err))
		}
	}
	return ctx.Err()
}

// answer is what the cluster says to a request.
type answer struct {
	object  map[string]any
	refusal *cluster.Error
}

// check compares the answers of the cluster for one manifest.
func (v *verification) check(ctx context.Context, c *check) error {
	if !c.served {
		c.differs("the cluster does not serve the kind", "")
		return nil
	}
	live, err := v.live(ctx, c)
	if err != nil {
		return err
	}
	predicted, err := v.set.Predict(ctx, c.object, live)
	if err != nil {
		return err
	}
	c.quotes.All = predicted.Sensitive
	first, err := v.send(ctx, c, c.object, live)
	if err != nil {
		return err
	}
	var second *answer
	if predicted.Sent != nil {
		second = first
		if !change.Equal(predicted.Sent, c.object) {
			if second, err = v.send(ctx, c, predicted.Sent, live); err != nil {
				return err
			}
		}
	}
	c.judge(predicted, first, second)
	return nil
}

// live returns the object in the cluster; nil if the cluster does not have it.
func (v *verification) live(ctx context.Context, c *check) (live map[string]any, err error) {
	if c.document.Name() == "" {
		return nil, nil
	}
	err = v.kubectl.List(ctx, c.resource, c.namespace(), c.document.Name(), func(object map[string]any) error {
		live = object
		return nil
	})
	return live, err
}

// send sends an object in a dry run.
func (v *verification) send(ctx context.Context, c *check, object, live map[string]any) (*answer, error) {
	path, request := c.resource.Path(c.namespace()), v.kubectl.Create
	if live != nil {
		version, _ := change.Keys("metadata", "resourceVersion").Get(live)
		object = maps.Clone(object)
		metadata, _ := object["metadata"].(map[string]any)
		metadata = maps.Clone(metadata)
		metadata["resourceVersion"] = version
		object["metadata"] = metadata
		path, request = path+"/"+c.document.Name(), v.kubectl.Update
	}
	data, err := request(ctx, path, manifest.JSON(object))
	if err == nil {
		held, err := cluster.Object(data)
		return &answer{object: held}, err
	}
	if refusal, ok := cluster.Refusal(err); ok {
		return &answer{refusal: refusal}, nil
	}
	return nil, err
}

// judge sets the finding of a manifest.
func (c *check) judge(predicted *engine.Prediction, first, second *answer) {
	shown := func(text string) string {
		if predicted.Sensitive {
			return "(the text may quote a Secret)"
		}
		return predicted.Secrets.Text(text)
	}
	switch {
	case predicted.Sent == nil && first.refusal != nil:
		said := strings.Join(errorTexts(predicted.Diagnostics), "\n")
		if c.refused = predicted.Sensitive || sameRefusal(said, shown(first.refusal.Text)); !c.refused {
			c.found("verify-refused", "the cluster refuses the manifest with another text than predicted", shown(first.refusal.Text)+"\npredicted: "+said)
		}
	case predicted.Sent == nil:
		c.differs("the cluster accepts what is predicted to be refused", strings.Join(errorTexts(predicted.Diagnostics), "\n"))
	case first.refusal != nil:
		c.found("verify-refused", "the cluster refuses the manifest, which is not predicted", shown(first.refusal.Text))
	case second.refusal != nil:
		c.differs("the cluster accepts the manifest and refuses the output of preadmit", shown(second.refusal.Text))
	default:
		lines := listed(predicted, "predicted", "the cluster has", predicted.Differences(first.object))
		lines = append(lines, listed(predicted, "the cluster makes of the manifest", "and of the output of preadmit", predicted.Between(first.object, second.object))...)
		if len(lines) > 0 {
			c.differs("the cluster holds another object than predicted", strings.Join(lines, "\n"))
		}
	}
}

// sameRefusal reports whether a refusal is the predicted one. Of an object that is invalid, kubectl prints
// the causes in place of the server's message, so that what is refused does not count.
func sameRefusal(predicted, said string) bool {
	predicted, said = reasonOf(predicted), reasonOf(said)
	return strings.Contains(predicted, said) || strings.Contains(said, predicted)
}

// reasonOf returns a refusal without the object that it is about.
func reasonOf(refusal string) string {
	for _, verdict := range []string{" is forbidden: ", " is invalid: "} {
		if _, reason, ok := strings.Cut(refusal, verdict); ok {
			return strings.TrimPrefix(reason, ": ")
		}
	}
	return refusal
}

// errorTexts returns the messages of errors.
func errorTexts(diagnostics []source.Diagnostic) (all []string) {
	for _, d := range diagnostics {
		if d.Severity == source.Error {
			all = append(all, d.Printed())
		}
	}
	return all
}

// listed describes changes, without values that must stay secret. before and after say what the two
// values are.
func listed(p *engine.Prediction, before, after string, changes []change.Change) []string {
	var lines []string
	for _, one := range changes {
		old, made := valueTexts(p, one)
		values := before + " " + old + ", " + after + " " + made
		if p.Sensitive || old == made {
			values = before + " another value than " + after
		}
		lines = append(lines, p.Secrets.Text(one.Path.String())+": "+values)
	}
	return lines
}

// valueTexts returns the texts of the two values of a change: of an item that has moved, its two places,
// and of values with the same JSON, also their types. They are equal if both values are hidden.
func valueTexts(p *engine.Prediction, one change.Change) (old, made string) {
	switch one.Op {
	case change.Add:
		return "none", valueText(p, one.New)
	case change.Remove:
		return valueText(p, one.Old), "none"
	case change.Move:
		return fmt.Sprintf("it as item %d", one.From), fmt.Sprintf("it as item %d", one.Path[len(one.Path)-1].Index)
	}
	old, made = valueText(p, one.Old), valueText(p, one.New)
	if old == made && bytes.Equal(manifest.JSON(one.Old), manifest.JSON(one.New)) {
		return fmt.Sprintf("%s (%T)", old, one.Old), fmt.Sprintf("%s (%T)", made, one.New)
	}
	return old, made
}

func valueText(p *engine.Prediction, value any) string {
	return p.Secrets.Text(string(manifest.JSON(value)))
}

func (c *check) differs(message, details string) { c.found("verify-differs", message, details) }

func (c *check) found(code, message, details string) {
	d := source.Warningf(c.document.At(nil), "verify-differs", "%s", source.Literal(message)).With(details)
	d.Code, d.Subject = code, c.id
	c.finding = &d
}

// compareSnapshot finds what has changed in the cluster since the policies were written, if somebody
// wants to know: with --snapshot, or because something differs.
func (v *verification) compareSnapshot(ctx context.Context) error {
	differs := slices.ContainsFunc(v.checks, func(c *check) bool { return c.finding != nil })
	if !differs && v.config.options.Snapshot == "" {
		return nil
	}
	drift := cluster.NewDrift(v.given)
	if found, err := cluster.Gather(ctx, v.kubectl, cluster.Wanted{}, drift.Add); err != nil {
		return err
	} else if len(found.Missing) > 0 {
		v.suspects = append(v.suspects, "what you may not read: "+found.Missing[0].String())
	}
	for _, name := range v.set.Configurations() {
		if !drift.HasWebhook(name) {
			v.suspects = append(v.suspects, "the cluster has no MutatingWebhookConfiguration "+name+", so its policies do not run")
		}
	}
	changes := drift.Changes()
	for _, one := range changes {
		if one.IsPolicy {
			v.suspects = append(v.suspects, one.String())
		}
	}
	if v.config.options.Snapshot != "" && len(changes) > 0 {
		var lines []string
		for _, one := range changes {
			lines = append(lines, one.String())
		}
		d := source.Warningf(source.Position{File: v.config.options.Snapshot}, "snapshot-stale", "the cluster has changed since the snapshot: %s", source.Literal(plural(len(changes), "object", "objects")))
		v.drift = append(v.drift, d.With(strings.Join(lines, "\n")))
	}
	v.suspect()
	return nil
}

// suspect adds to the findings what may be the reason.
func (v *verification) suspect() {
	for _, c := range v.checks {
		if c.finding == nil {
			continue
		}
		names := append(v.set.Webhooks(c.object), v.suspects...)
		if len(names) == 0 {
			names = []string{"admission plug-ins of the cluster; --admission-plugins names those that run here"}
		}
		*c.finding = c.finding.With(strings.TrimLeft(c.finding.Advice+"\nsuspect: "+strings.Join(names, "\nsuspect: "), "\n"))
	}
}

// tell prints the report.
func (v *verification) tell() int {
	var findings []source.Diagnostic
	var cases []report.Case
	status, counts := exitDone, map[string]int{}
	for _, c := range v.checks {
		one := report.Case{Suite: source.Printable(c.document.At(nil).File), Name: source.Printable(c.id)}
		switch {
		case c.finding != nil:
			findings, status = append(findings, *c.finding), exitDiffers
			one.Failure = c.finding.String()
			counts[c.finding.Code]++
		case c.refused:
			counts["refused"]++
		default:
			counts["equal"]++
		}
		cases = append(cases, one)
	}
	var b bytes.Buffer
	switch output := v.config.options.Output; output {
	case "", "text":
		for _, d := range findings {
			fmt.Fprintln(&b, d)
		}
	case "junit":
		report.JUnit(&b, cases)
	default:
		writeFindings(&b, output, findings, "")
	}
	fmt.Fprintf(v.process.Stderr, "preadmit: %s: %d equal, %d refused as predicted, %d differ, %d refused otherwise\n", plural(len(v.checks), "manifest", "manifests"),
		counts["equal"], counts["refused"], counts["verify-differs"], counts["verify-refused"])
	fmt.Fprintf(v.process.Stderr, "not compared: %s, and values that the server draws\n", strings.Join(engine.NotCompared, ", "))
	return v.process.emitText(b.Bytes(), status)
}

const verifyText = `Ask a cluster whether it does with manifests what preadmit predicts. Every manifest, and the output
of preadmit for it, is sent in a dry run (dryRun=All), which changes nothing. The answers are
compared with each other and with the object that preadmit predicts, defaults included. Objects
that exist are sent as updates. Policies come from -p or from a snapshot.

A manifest is equal; or differs, with the fields and with suspects: webhooks, and policies that have
changed since the snapshot; or is refused. With --snapshot, it also says what has changed in
the cluster since. A server authorizes dry runs as it does other requests.

The test on real clusters has admission policies of the server only: verify has not been tried on a
cluster in which the webhooks of Kyverno or Gatekeeper run.

Usage:
  %s

Examples:
  preadmit verify --snapshot cluster/ manifests/
  preadmit verify --context staging -p cluster/ -o junit manifests/
  kustomize build . | preadmit verify --snapshot cluster/ -

Flags (those with PATH take files and directories, and may be repeated):
%s
Exit status:
  0  the cluster does with every manifest what is predicted
  1  a manifest differs, or is refused otherwise than predicted
  2  the cluster cannot be asked, or the input, a policy or the command line is wrong
`

func verifyHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, verifyText, c.usage, flagsHelp(c))
}
