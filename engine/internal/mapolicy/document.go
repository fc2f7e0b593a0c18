package mapolicy

import "github.com/preadmit/preadmit/engine/internal/admissionpolicy"

// reader reads one document of the language.
type reader struct{ *admissionpolicy.Reader }
