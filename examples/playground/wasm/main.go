//go:build js && wasm

// Command wasm is the engine for the playground. It defines one JavaScript function, preadmit, which
// takes a request and returns its answer, both in JSON. While policies run, it calls the function
// preadmitProgress with the number of manifests that are done and of all manifests.
package main

import (
	"runtime/debug"
	"syscall/js"

	"github.com/preadmit/preadmit/examples/playground/answer"
)

func main() {
	// An answer leaves little memory in use, so garbage is collected rarely.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(256 << 20)
	session := &answer.Session{Progress: func(done, total int) { js.Global().Call("preadmitProgress", done, total) }}
	js.Global().Set("preadmit", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return session.JSON(args[0].String())
	}))
	select {} // JavaScript calls the function
}
