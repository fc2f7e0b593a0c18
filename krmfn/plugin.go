package krmfn

import (
	"context"
	"os"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/settings"
)

// The environment variables of an exec plugin of kustomize, versions 2 to 5: its configuration,
// and the directory of the kustomization.
const (
	pluginConfig = "KUSTOMIZE_PLUGIN_CONFIG_STRING"
	pluginRoot   = "KUSTOMIZE_PLUGIN_CONFIG_ROOT"
)

// plugin runs preadmit as an exec plugin of kustomize, which kubectl also runs. The
// configuration is a file. Resources are read from standard input, which may be empty, and
// written to standard output.
func (p *Process) plugin(ctx context.Context, file string) int {
	rooted := *p
	if root := p.getenv(pluginRoot); root != "" {
		rooted.Dir = root
	}
	c := config{options: settings.Config{AllowEmpty: true}}
	return rooted.mutate(ctx, &c, func(f *files) []*manifest.Stream {
		f.readPluginConfig(p.absolute(file), &c)
		streams := f.stream(nil, &c)
		for _, s := range streams {
			s.MarkPlugin()
		}
		return streams
	})
}

// readPluginConfig sets the values of a configuration file in a config. kustomize writes the
// file; its content is like a functionConfig.
func (f *files) readPluginConfig(file string, c *config) {
	data, err := os.ReadFile(file)
	if err != nil {
		f.diagnostics = append(f.diagnostics, source.Errorf(source.Position{}, "path-unreadable", "the configuration of the plugin: %v", err))
		return
	}
	f.process.ledger.NoteRead("configuration", input.RealPath(file))
	stream, diagnostics := manifest.Read("configuration", data)
	f.diagnostics = append(f.diagnostics, diagnostics...)
	for _, d := range stream.Documents() {
		if engine.IsPolicy(d.Kind()) {
			f.diagnostics = append(f.diagnostics, source.Errorf(d.At(nil), "function-config-kind", "the configuration of a plugin cannot be a policy").
				With("write it into spec.policies of a "+functionConfigKind.Kind))
			continue
		}
		read := f.process.readFunctionConfig(d, data, nil, c)
		f.diagnostics = append(f.diagnostics, read.diagnostics...)
	}
}
