//go:build !race

package racing

const every = 1
