package change

import "hash/maphash"

// A Set holds values and finds those that are Equal to another. The zero value is empty.
type Set struct{ values map[uint64][]any }

// NewSet returns a set of values.
func NewSet(values []any) *Set {
	s := &Set{}
	for _, value := range values {
		s.Add(value)
	}
	return s
}

// Add adds a value, which must not be modified any more.
func (s *Set) Add(value any) {
	if s.values == nil {
		s.values = map[uint64][]any{}
	}
	if key := hash(value); !s.Has(value) {
		s.values[key] = append(s.values[key], value)
	}
}

// Has reports whether the set has a value.
func (s *Set) Has(value any) bool {
	if len(s.values) == 0 {
		return false
	}
	for _, other := range s.values[hash(value)] {
		if Equal(value, other) {
			return true
		}
	}
	return false
}

// seed is different in each process. No result depends on it: Equal decides.
var seed = maphash.MakeSeed()

// hash returns the same number for equal values.
func hash(value any) uint64 {
	const prime = 0x100000001b3
	switch value := value.(type) {
	case map[string]any:
		sum := uint64(len(value))
		for key, item := range value {
			sum += (maphash.String(seed, key) ^ hash(item)) * prime
		}
		return sum
	case []any:
		sum := uint64(len(value)) + prime
		for _, item := range value {
			sum = sum*prime + hash(item)
		}
		return sum
	}
	return maphash.Comparable(seed, value)
}
