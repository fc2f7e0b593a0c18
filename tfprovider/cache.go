package tfprovider

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// cacheSize is how many sets of policies are cached. A configuration has only a few sets, and
// calls functions thousands of times with each.
const cacheSize = 16

// cache holds compiled policies by their content. It is safe for concurrent use.
type cache struct {
	size int

	mu      sync.Mutex
	entries map[fingerprint]*compiled
	// order are the fingerprints of the entries, the most recently used last.
	order []fingerprint
}

type fingerprint [sha256.Size]byte

// compiled is the result of compiling policies.
type compiled struct {
	once        sync.Once
	set         *engine.Set // nil if there are errors
	diagnostics []source.Diagnostic

	// each has every policy as a set of its own, and none has no policies but the plug-ins. They are
	// compiled when they are needed first.
	divide sync.Once
	each   []single
	none   *engine.Set
}

// single is one policy, alone.
type single struct {
	document *manifest.Document
	set      *engine.Set // nil if it cannot be compiled alone
}

// configuring are kinds that decide which objects policies see.
var configuring = []string{"Config", "MutatingWebhookConfiguration", "PolicyException"}

// singles returns every policy as a set of its own.
func (e *compiled) singles(given *config) []single {
	e.divided(given)
	return e.each
}

// plugins returns a set of the admission plug-ins.
func (e *compiled) plugins(given *config) *engine.Set {
	e.divided(given)
	return e.none
}

func (e *compiled) divided(given *config) {
	e.divide.Do(func() {
		read := func(role settings.Role) []*manifest.Stream {
			streams, _ := given.readStreams(slices.Concat(given.texts[role], given.sensitive[role]))
			return streams
		}
		policies, context, options := read(settings.Policies), read(settings.Context), given.engineOptions(read)
		e.none, _ = engine.Compile(nil, context, options)
		for _, stream := range slices.Concat(policies, context) {
			for _, d := range stream.Documents() {
				if !engine.IsPolicy(d.Kind()) && !slices.Contains(configuring, d.Kind().Kind) {
					continue
				}
				alone, _ := manifest.Read("policy", d.JSON())
				found := single{document: d}
				set, diagnostics := engine.Compile([]*manifest.Stream{alone}, context, options)
				if !source.HasErrors(diagnostics) && engine.IsPolicy(d.Kind()) && !strings.HasSuffix(d.Kind().Kind, "Binding") {
					found.set = set
				}
				e.each = append(e.each, found)
			}
		}
	})
}

// engineOptions returns the options of the engine. read returns the documents of a role.
func (c *config) engineOptions(read func(role settings.Role) []*manifest.Stream) engine.Options {
	options := c.options.Engine
	options.Old, options.Values, options.UserInfo = read(settings.Old), read(settings.Values), read(settings.UserInfo)
	options.WebhookAnswers = read(settings.WebhookAnswers)
	for _, t := range c.texts[settings.OpenAPI] {
		options.OpenAPI = append(options.OpenAPI, engine.OpenAPIDocument{Name: t.name, Data: []byte(t.data)})
	}
	return options
}

func newCache(size int) *cache {
	return &cache{size: size, entries: map[fingerprint]*compiled{}}
}

// compile returns the compiled policies of a config with their context. It compiles the same
// content only once.
func (c *cache) compile(given *config) *compiled {
	entry := c.entry(given.fingerprint())
	entry.once.Do(func() { entry.compile(given) })
	return entry
}

// entry returns the entry with a fingerprint. If the entry is new and the cache is full, it replaces
// the least recently used one.
func (c *cache) entry(key fingerprint) *compiled {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.order {
		if c.order[i] == key {
			c.order = append(append(c.order[:i], c.order[i+1:]...), key)
			return c.entries[key]
		}
	}
	if len(c.order) == c.size {
		delete(c.entries, c.order[0])
		c.order = c.order[1:]
	}
	c.order = append(c.order, key)
	c.entries[key] = &compiled{}
	return c.entries[key]
}

// fingerprint returns a hash of a config without its manifests. It includes names, because messages
// contain them.
func (c *config) fingerprint() fingerprint {
	rest := *c
	rest.texts[settings.Manifests], rest.sensitive[settings.Manifests] = nil, nil
	hash := sha256.New()
	digest(hash, reflect.ValueOf(rest))
	return fingerprint(hash.Sum(nil))
}

// digest adds a value with all its fields to a hash, so that no option is missing. It panics for
// types whose content cannot be hashed.
func digest(h hash.Hash, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		part(h, []byte(v.String()))
	case reflect.Interface:
		if !v.IsNil() { // only functions of other programs answer for webhooks
			panic("a configuration with a " + v.Type().String() + " has no fingerprint")
		}
	case reflect.Bool, reflect.Int:
		part(h, fmt.Append(nil, v))
	case reflect.Slice, reflect.Array:
		part(h, strconv.AppendInt(nil, int64(v.Len()), 10))
		for i := range v.Len() {
			digest(h, v.Index(i))
		}
	case reflect.Map:
		part(h, strconv.AppendInt(nil, int64(v.Len()), 10))
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			digest(h, key)
			digest(h, v.MapIndex(key))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[path.Path]() {
			return // the name of the text covers it
		}
		for i := range v.NumField() {
			digest(h, v.Field(i))
		}
	default:
		panic("a configuration with a " + v.Type().String() + " has no fingerprint")
	}
}

func (e *compiled) compile(given *config) {
	read := func(role settings.Role) []*manifest.Stream {
		streams, diagnostics := given.readStreams(slices.Concat(given.texts[role], given.sensitive[role]))
		e.diagnostics = append(e.diagnostics, diagnostics...)
		for _, stream := range streams[len(given.texts[role]):] {
			stream.MarkSensitive()
		}
		return streams
	}
	policies, context := read(settings.Policies), read(settings.Context)
	options := given.engineOptions(read)
	if source.HasErrors(e.diagnostics) {
		return
	}
	set, diagnostics := engine.Compile(policies, context, options)
	e.set, e.diagnostics = set, append(e.diagnostics, diagnostics...)
}

// readStreams reads the documents in texts.
func (c *config) readStreams(texts []text) (streams []*manifest.Stream, diagnostics []source.Diagnostic) {
	bounds := manifest.Bounds{Documents: limit.DocumentsIn(int(c.options.InputLimit))}
	for _, t := range texts {
		stream, problems := bounds.Read(t.name, []byte(t.data))
		if c.private {
			stream.MarkPrivate()
		}
		streams = append(streams, stream)
		diagnostics = append(diagnostics, problems...)
	}
	return streams, diagnostics
}
