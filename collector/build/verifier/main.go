// Verifier checks an audit store with the log code of the Go checksum database and nothing of spanseal:
// the checkpoint's signature (sumdb/note), every tile against the signed root (sumdb/tlog), every entry
// against its leaf hash, and one inclusion proof. It prints one JSON document; exit code 1 means not proved.
//
//	verifier STORE_DIR VKEY [LEAF_INDEX]
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

func main() {
	if len(os.Args) < 3 || len(os.Args) > 4 {
		fmt.Fprintln(os.Stderr, "usage: verifier STORE_DIR VKEY [LEAF_INDEX]")
		os.Exit(2)
	}
	leaf := int64(-1) // the last one
	if len(os.Args) == 4 {
		parsed, err := strconv.ParseInt(os.Args[3], 10, 64)
		if err != nil || parsed < 0 {
			fmt.Fprintln(os.Stderr, "usage: LEAF_INDEX is a number from 0")
			os.Exit(2)
		}
		leaf = parsed
	}
	report, err := check(os.Args[1], os.Args[2], leaf)
	if err != nil {
		report.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil || report.Error != "" {
		os.Exit(1)
	}
}

// report is what was proved, as far as checking came.
type report struct {
	Origin      string `json:"origin"`
	Signer      string `json:"signer"`
	Size        int64  `json:"size"`
	Root        string `json:"root"`
	Entries     int64  `json:"entries"`
	Leaf        int64  `json:"leaf"`
	ProofHashes int    `json:"proof_hashes"`
	Error       string `json:"error,omitempty"`
}
