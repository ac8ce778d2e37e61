package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const tileHeight = 8

func check(store, vkey string, leaf int64) (report, error) {
	var done report
	tree, err := head(store, vkey, &done)
	if err != nil {
		return done, err
	}
	hashes := tlog.TileHashReader(tree, tiles{store})
	root, err := tlog.TreeHash(tree.N, hashes)
	if err != nil {
		return done, err
	}
	if root != tree.Hash {
		return done, errors.New("the tiles give another root than the checkpoint")
	}
	if err := entries(store, tree.N, hashes, &done); err != nil {
		return done, err
	}
	if tree.N == 0 {
		return done, nil
	}
	return done, prove(tree, leaf, hashes, &done)
}

// head opens the checkpoint: three lines, signed by the key, whose name is the first of them.
func head(store, vkey string, done *report) (tlog.Tree, error) {
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return tlog.Tree{}, err
	}
	data, err := os.ReadFile(filepath.Join(store, "checkpoint"))
	if err != nil {
		return tlog.Tree{}, err
	}
	opened, err := note.Open(data, note.VerifierList(verifier))
	if err != nil {
		return tlog.Tree{}, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[3] != "" || lines[0] != verifier.Name() {
		return tlog.Tree{}, errors.New("the checkpoint is not origin, size and root of the key's log")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != lines[1] {
		return tlog.Tree{}, fmt.Errorf("the checkpoint's size is %q", lines[1])
	}
	hash, err := tlog.ParseHash(lines[2])
	if err != nil {
		return tlog.Tree{}, err
	}
	done.Origin, done.Signer, done.Size, done.Root = lines[0], opened.Sigs[0].Name, size, lines[2]
	return tlog.Tree{N: size, Hash: hash}, nil
}

// entries compares the hash of every entry in the bundles with the proved leaf hash at its place.
func entries(store string, size int64, hashes tlog.HashReader, done *report) error {
	for first := int64(0); first < size; first += 1 << tileHeight {
		width := int(min(size-first, 1<<tileHeight))
		bundle := tlog.Tile{H: tileHeight, L: -1, N: first >> tileHeight, W: width}
		path := strings.Replace(bundle.Path(), "tile/8/data/", "tile/entries/", 1)
		data, err := os.ReadFile(filepath.Join(store, filepath.FromSlash(path)))
		if err != nil {
			return err
		}
		indexes := make([]int64, width)
		for at := range indexes {
			indexes[at] = tlog.StoredHashIndex(0, first+int64(at))
		}
		proved, err := hashes.ReadHashes(indexes)
		if err != nil {
			return err
		}
		for at := range proved {
			if len(data) < 2 || len(data)-2 < int(binary.BigEndian.Uint16(data)) {
				return fmt.Errorf("%s ends inside entry %d", path, at)
			}
			end := 2 + int(binary.BigEndian.Uint16(data))
			if tlog.RecordHash(data[2:end]) != proved[at] {
				return fmt.Errorf("%s: entry %d is not what was logged", path, at)
			}
			data = data[end:]
			done.Entries++
		}
		if len(data) != 0 {
			return fmt.Errorf("%s has %d bytes behind its last entry", path, len(data))
		}
	}
	return nil
}

// prove makes an inclusion proof for one leaf and checks it from the root alone.
func prove(tree tlog.Tree, leaf int64, hashes tlog.HashReader, done *report) error {
	if leaf < 0 {
		leaf = tree.N - 1
	}
	if leaf >= tree.N {
		return fmt.Errorf("there is no leaf %d in a log of %d", leaf, tree.N)
	}
	proof, err := tlog.ProveRecord(tree.N, leaf, hashes)
	if err != nil {
		return err
	}
	own, err := hashes.ReadHashes([]int64{tlog.StoredHashIndex(0, leaf)})
	if err != nil {
		return err
	}
	done.Leaf, done.ProofHashes = leaf, len(proof)
	return tlog.CheckRecord(proof, tree.N, tree.Hash, leaf, own[0])
}

// tiles reads hash tiles where tlog-tiles puts them: as sumdb does, without the height in the path.
type tiles struct{ store string }

func (t tiles) Height() int { return tileHeight }

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	found := make([][]byte, len(wanted))
	for at, tile := range wanted {
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		data, err := os.ReadFile(filepath.Join(t.store, filepath.FromSlash(path)))
		if err != nil {
			return nil, err
		}
		found[at] = data
	}
	return found, nil
}

func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}
