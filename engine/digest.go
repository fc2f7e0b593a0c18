package engine

import (
	"crypto/sha256"
	"fmt"
	"hash"

	"github.com/preadmit/preadmit/engine/manifest"
)

// digest identifies data.
type digest [sha256.Size]byte

// rulesWriter computes digests of rules.
type rulesWriter struct{ hash hash.Hash }

func (w rulesWriter) digest() digest { return digest(w.hash.Sum(nil)) }

// say adds data, with its length.
func (w rulesWriter) say(data []byte) {
	fmt.Fprintln(w.hash, len(data))
	w.hash.Write(data)
}

// digestOf returns a digest of the object of a document.
func digestOf(d *manifest.Document) digest { return sha256.Sum256(d.JSON()) }

// write adds documents. of returns the digest of an object.
func (w rulesWriter) write(documents []*manifest.Document, of func(*manifest.Document) digest) {
	for _, d := range documents {
		sum := of(d)
		w.say(fmt.Appendf(sum[:], "%v", d.Stream().Sensitive()))
		d.Release()
	}
	w.say([]byte("end"))
}

// digestOfOptions returns a digest of the options.
func (s *Set) digestOfOptions() digest {
	w := rulesWriter{sha256.New()}
	options := s.settings.options
	for _, streams := range []*[]*manifest.Stream{&options.Trees, &options.Old, &options.Values, &options.UserInfo, &options.WebhookAnswers} {
		w.write(documentsOf(*streams), digestOf)
		*streams = nil
	}
	for _, d := range options.OpenAPI {
		w.say(d.Data)
	}
	options.OpenAPI, options.Webhooks = nil, nil
	w.say(fmt.Appendf(nil, "%#v", options))
	return w.digest()
}
