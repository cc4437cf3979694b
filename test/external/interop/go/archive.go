package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
)

// A file of an archive, as every reader of the tests tells it.
type entry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func readArchive(path string) []entry {
	archive := must(zip.OpenReader(path))
	defer archive.Close()
	entries := []entry{}
	for _, file := range archive.File {
		content := must(file.Open())
		hash := sha256.New()
		size := must(io.Copy(hash, content)) // The end of the file checks its CRC-32.
		check(content.Close())
		entries = append(entries, entry{file.Name, size, hex.EncodeToString(hash.Sum(nil))})
	}
	return entries
}

// writeArchive writes as deployed nodes do: sizes and checksums stand behind the data.
func writeArchive(path string, files []string) {
	out := must(os.Create(path))
	archive := zip.NewWriter(struct{ io.Writer }{out})
	for _, name := range files {
		source := must(os.Open(name))
		content := must(archive.Create(filepath.Base(name)))
		must(io.Copy(content, source))
		check(source.Close())
	}
	check(archive.Close())
	check(out.Close())
}
