package krmfn

import (
	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// config has the values of all options of one run.
type config struct {
	// given are the arguments that the values come from. placed changes the paths of a config for
	// another state of the repository; it may be nil.
	given     arguments
	placed    func(c *config)
	options   settings.Config
	documents [settings.Roles]inputs
	// stock says that the admission plug-ins of a stock server run, unless an option or the
	// description of a cluster names others.
	stock bool
	// observers collect the details of the run that reports need.
	observers []engine.Observer
	// partial says that the run continues with the other manifests if some cannot be read or
	// admitted.
	partial bool
	// givePolicies is the advice if there are no policies, for commands whose warnings their client
	// does not show: it is an error then.
	givePolicies string
	// unlisted says that a List is printed as its separate items.
	unlisted bool
	// applications are the names of all applications that are shared out between the shards, if
	// they are more than those of the run.
	applications []string
	// Parameters of an Argo CD application. chartParameters and chartValues are values of a chart
	// in addition to valueFiles.
	valueFiles      []path
	releaseName     string
	chartParameters map[string]string
	chartValues     string
	recurse         bool
}

// inputs are the documents of an option: paths, or documents in the functionConfig.
type inputs struct {
	paths  []path
	inline []*manifest.Stream
}

// add adds the documents of other inputs.
func (in *inputs) add(other inputs) {
	in.paths = append(in.paths, other.paths...)
	in.inline = append(in.inline, other.inline...)
}

// path is a file or directory that an option or an argument names.
type path struct {
	name string
	// base is the directory that the name is relative to; the working directory if empty.
	base string
	// within are the directories that the path must not leave; nil allows any path.
	within *bounds
	// shallow says that subdirectories of a directory are not read.
	shallow bool
	// at, subject and label say which option names the path.
	at             source.Position
	subject, label string
}

// bounds are directories that paths must not lead out of.
type bounds struct {
	dirs []string
	// names describes the directories in messages, advice is for paths that leave them.
	names, advice string
}

// set sets an option to a value, or adds the value to a list. A path gets the base and the bounds of
// from.
func (c *config) set(o *settings.Option, text string, from path) error {
	if o.Files == 0 {
		return o.Set(&c.options, text)
	}
	from.name = text
	c.documents[o.Files].paths = append(c.documents[o.Files].paths, from)
	return o.Check(text)
}

// reset removes the value of an option.
func (c *config) reset(o *settings.Option) {
	if o.Files != 0 {
		c.documents[o.Files].paths = nil
	} else {
		o.Reset(&c.options)
	}
}

// documents reads the documents of an option.
func (s *fileSet) documents(c *config, role settings.Role) []*manifest.Stream {
	return append(s.manifests(c.documents[role].paths), c.documents[role].inline...)
}

// cluster reads the documents that describe the cluster and the request into the options of the
// engine. It returns the context, which it reads from set.
func (f *files) cluster(c *config, set *fileSet) []*manifest.Stream {
	context, o := set.documents(c, settings.Context), &c.options.Engine
	o.Old = f.set().documents(c, settings.Old)
	o.Trees = f.set().trees(c.documents[settings.Trees].paths)
	o.Values = f.set().documents(c, settings.Values)
	o.UserInfo = f.set().documents(c, settings.UserInfo)
	o.WebhookAnswers = f.set().documents(c, settings.WebhookAnswers)
	o.OpenAPI = f.set().openAPI(c.documents[settings.OpenAPI].paths)
	return context
}
