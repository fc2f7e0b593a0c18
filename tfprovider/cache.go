package tfprovider

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// cacheSize bounds how many sets of policies are kept. A configuration has few, and
// calls thousands of functions with each.
const cacheSize = 16

// cache keeps compiled policies by their content. It is safe for concurrent use.
type cache struct {
	size int

	mu      sync.Mutex
	entries map[fingerprint]*compiled
	// order are the fingerprints of the entries, the one used last at the end.
	order []fingerprint
}

type fingerprint [sha256.Size]byte

// compiled is what became of policies.
type compiled struct {
	once        sync.Once
	set         *engine.Set // nil if there are errors
	diagnostics []source.Diagnostic
}

func newCache(size int) *cache {
	return &cache{size: size, entries: map[fingerprint]*compiled{}}
}

// compile compiles the policies of a config with their context, once for each content.
func (c *cache) compile(given *config) *compiled {
	entry := c.entry(given.fingerprint())
	entry.once.Do(func() { entry.compile(given) })
	return entry
}

// entry returns the entry with a fingerprint, a new one in place of the one that was
// not used for longest.
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

// fingerprint covers everything that a compiled set depends on, names included because
// messages have them.
func (c *config) fingerprint() fingerprint {
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	encode := func(value any) {
		// Strings, booleans, lists and maps of them can be encoded, and a hash written.
		_ = encoder.Encode(value)
	}
	encode(c.engine)
	for _, texts := range [][]text{c.policies, c.context, c.old, c.openAPI, c.values, c.userInfo} {
		encode(len(texts))
		for _, t := range texts {
			encode([]int{len(t.name), len(t.data)})
			hash.Write([]byte(t.name))
			hash.Write([]byte(t.data))
		}
	}
	return fingerprint(hash.Sum(nil))
}

func (e *compiled) compile(given *config) {
	read := func(texts []text) []*manifest.Stream {
		streams, diagnostics := readStreams(texts)
		e.diagnostics = append(e.diagnostics, diagnostics...)
		return streams
	}
	policies, context := read(given.policies), read(given.context)
	settings := given.engine
	settings.Old, settings.Values, settings.UserInfo = read(given.old), read(given.values), read(given.userInfo)
	for _, t := range given.openAPI {
		settings.OpenAPI = append(settings.OpenAPI, engine.OpenAPIDocument{Name: t.name, Data: []byte(t.data)})
	}
	if source.HasErrors(e.diagnostics) {
		return
	}
	set, diagnostics := engine.Compile(policies, context, settings)
	e.set, e.diagnostics = set, append(e.diagnostics, diagnostics...)
}

// readStreams reads the documents in texts.
func readStreams(texts []text) (streams []*manifest.Stream, diagnostics []source.Diagnostic) {
	for _, t := range texts {
		stream, problems := manifest.Read(t.name, []byte(t.data))
		streams = append(streams, stream)
		diagnostics = append(diagnostics, problems...)
	}
	return streams, diagnostics
}
