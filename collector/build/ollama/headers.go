//go:build headers

// Package headers is never compiled. It keeps malgo in go.mod: its miniaudio.h is one of the C headers that Ollama's
// module zip leaves out, and is copied from there before Ollama is built.
package headers

import _ "github.com/gen2brain/malgo"
