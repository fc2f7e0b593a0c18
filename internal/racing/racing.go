// Package racing gives a test a sample of its cases (racing.go) under the race detector (race.go),
// which makes the engine many times slower. Elsewhere (norace.go) a test has all of them. Races are
// between the jobs of a run, and rarely need a certain case.
package racing

// Sample returns every n-th case under the race detector, beginning with the first.
func Sample[T any](cases []T) []T {
	if every == 1 {
		return cases
	}
	var some []T
	for i := 0; i < len(cases); i += every {
		some = append(some, cases[i])
	}
	return some
}

// Least returns how many of a number of cases [Sample] leaves, at least.
func Least(cases int) int { return cases / every }
