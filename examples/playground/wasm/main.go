//go:build js && wasm

// Command wasm is the engine for the playground. It gives the script that starts it one
// function, preadmit, which takes a request and returns its answer, both in JSON.
package main

import (
	"runtime/debug"
	"syscall/js"

	"github.com/preadmit/preadmit/examples/playground/answer"
)

func main() {
	// Little of what an answer makes stays, so garbage is collected rarely.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(256 << 20)
	session := &answer.Session{}
	js.Global().Set("preadmit", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return session.JSON(args[0].String())
	}))
	select {} // the function is called from outside
}
