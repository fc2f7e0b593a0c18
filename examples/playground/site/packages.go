package site

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
)

// Packages returns the directory with the npm packages for the repository at root. It installs them
// if they are missing.
func Packages(root string) (string, error) {
	b := &builder{root: root}
	return b.installPackages()
}

// installPackages installs the packages of web/package-lock.json and returns their directory. The
// directory is a cache outside of the repository, so that tools and tests do not treat its files as
// files of the repository.
func (b *builder) installPackages() (string, error) {
	lock, err := os.ReadFile(b.own("web", "package-lock.json"))
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(cache, "preadmit-playground", hex.EncodeToString(sum[:8]))
	packages := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(filepath.Join(packages, ".package-lock.json")); err == nil {
		return packages, nil // npm writes this file last
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(b.own("web", name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			return "", err
		}
	}
	install := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	if output, err := install.CombinedOutput(); err != nil {
		return "", failed("npm ci", output, err)
	}
	return packages, nil
}
