package mapolicy

import (
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/manifest"
)

// reader reads one document of the language.
type reader struct{ *policydoc.Reader }

func newReader(d *manifest.Document) *reader { return &reader{policydoc.New(d)} }
