package examples

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// npmPackages returns the node_modules of a directory with a package-lock.json. It installs them into a
// cache outside of the repository, so that no test takes their files for those of the repository.
func npmPackages(t *testing.T, from string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(read(t, filepath.Join(from, "package-lock.json"))))
	directory := filepath.Join(cache, "preadmit-editors", hex.EncodeToString(sum[:8]))
	packages := filepath.Join(directory, "node_modules")
	if _, err := os.Stat(filepath.Join(packages, ".package-lock.json")); err == nil {
		return packages // npm writes this file last
	}
	if err := os.MkdirAll(directory, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		write(t, filepath.Join(directory, name), read(t, filepath.Join(from, name)))
	}
	output(t, directory, "npm", "ci", "--no-audit", "--no-fund")
	return packages
}

// packageExtension makes the .vsix of the extension for VS Code in a copy of its directory, which it
// returns.
func packageExtension(t *testing.T) string {
	t.Helper()
	directory := copied(t, "editors/vscode")
	packages := filepath.Join(directory, "node_modules")
	for _, made := range []string{packages, filepath.Join(directory, "dist")} {
		if err := os.RemoveAll(made); err != nil { // of somebody who works in the directory
			t.Fatal(err)
		}
	}
	if err := os.Symlink(npmPackages(t, "editors/vscode"), packages); err != nil {
		t.Fatal(err)
	}
	output(t, directory, "npm", "run", "package")
	return directory
}

// extension unpacks a .vsix, and returns the directory of the extension and the names of its files.
func extension(t *testing.T, file string) (directory string, names []string) {
	t.Helper()
	archive, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	directory = t.TempDir()
	for _, f := range archive.File {
		name, ok := strings.CutPrefix(f.Name, "extension/")
		if !ok {
			continue // the format's own
		}
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(directory, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, path, string(data))
		names = append(names, name)
	}
	slices.Sort(names)
	return directory, names
}

// TestVSCode packages the extension, and runs what is in the package in VS Code. VS Code is the one that
// the npm package code-server has, in Chromium; its extension host and its test runner are those of the
// desktop.
func TestVSCode(t *testing.T) {
	t.Parallel()
	clients(t, "npm", "chromium")
	source := packageExtension(t)
	directory, names := extension(t, filepath.Join(source, "preadmit.vsix"))
	if want := []string{"LICENSE.txt", "dist/extension.js", "package.json", "readme.md"}; !slices.Equal(names, want) {
		t.Errorf("the package has %q, want %q", names, want)
	}
	var manifest struct{ Main string }
	if err := json.Unmarshal([]byte(read(t, filepath.Join(directory, "package.json"))), &manifest); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(names, strings.TrimPrefix(manifest.Main, "./")) {
		t.Errorf("the package lacks %s, which its manifest names", manifest.Main)
	}
	output(t, source, "npm", "run", "build:test")
	runVSCode(t, directory, filepath.Join(source, "dist", "test.js"))
}

// runVSCode runs a test of an extension in VS Code, in a workspace with two folders.
func runVSCode(t *testing.T, extension, test string) {
	t.Helper()
	result := filepath.Join(t.TempDir(), "result")
	address := serveVSCode(t, result)
	remote := "vscode-remote://" + address
	payload, err := json.Marshal([][2]string{{"extensionDevelopmentPath", remote + extension}, {"extensionTestsPath", remote + test}, {"skipWelcome", "true"}})
	if err != nil {
		t.Fatal(err)
	}
	folders := fmt.Sprintf(`{"folders": [{"path": %q}, {"path": %q}]}`, copied(t, "editors/workspace"), copied(t, "editors/workspace"))
	workspace := filepath.Join(t.TempDir(), "two.code-workspace")
	write(t, workspace, folders)
	query := url.Values{"workspace": {workspace}, "payload": {string(payload)}}
	page := start(t, exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
		"--user-data-dir="+t.TempDir(), "http://"+address+"/?"+strings.ReplaceAll(query.Encode(), "+", "%20")))
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if wrong, err := os.ReadFile(result); err == nil {
			if len(wrong) > 0 {
				t.Errorf("%s", wrong)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the test has not ended in VS Code\n%s", page)
		}
	}
}

// start starts a program, which the end of the test ends, and returns what it writes to standard error.
func start(t *testing.T, c *exec.Cmd) *bytes.Buffer {
	t.Helper()
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return &stderr
}

// serveVSCode starts VS Code for a browser, and returns its address.
func serveVSCode(t *testing.T, result string) string {
	t.Helper()
	packages := npmPackages(t, "../testdata/clients/vscode")
	c := exec.Command("node", filepath.Join(packages, "code-server", "lib", "vscode", "out", "server-main.js"),
		"--without-connection-token", "--accept-server-license-terms", "--telemetry-level", "off", "--force-disable-user-env",
		"--host", "127.0.0.1", "--port", "0", "--server-data-dir", t.TempDir())
	c.Env = append(os.Environ(), "PREADMIT_RESULT="+result)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := start(t, c)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if port, ok := strings.CutPrefix(lines.Text(), "Extension host agent listening on "); ok {
			go io.Copy(io.Discard, out)
			return "127.0.0.1:" + port
		}
	}
	t.Fatalf("VS Code does not start\n%s", stderr)
	return ""
}

// TestNeovim runs the configuration in Neovim, on a copy of the workspace that a link leads to.
func TestNeovim(t *testing.T) {
	t.Parallel()
	clients(t, "nvim")
	workspace := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(copied(t, "editors/workspace"), workspace); err != nil {
		t.Fatal(err)
	}
	for _, directory := range []string{copied(t, "editors/workspace"), workspace} {
		if r := nvim(t, directory); r != "passed" {
			t.Errorf("%s: %s", directory, r)
		}
	}
}

// TestNeovimAlone runs Neovim where preadmit is not in PATH.
func TestNeovimAlone(t *testing.T) {
	t.Parallel()
	clients(t, "nvim")
	program, err := exec.LookPath("nvim")
	if err != nil {
		t.Fatal(err)
	}
	init, err := filepath.Abs("editors/neovim/init.lua")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "--headless", "-i", "NONE", "-n", "-u", init, "shop.yaml", "+messages", "+qall!")
	c.Dir, c.Env = copied(t, "editors/workspace"), append(os.Environ(), "PATH=/none", "XDG_STATE_HOME="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir())
	text, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "preadmit is not in PATH: install preadmit") {
		t.Errorf("%v: %s", err, text)
	}
}

// nvim runs the test of the configuration in a workspace.
func nvim(t *testing.T, directory string) string {
	t.Helper()
	configuration, err := filepath.Abs("editors/neovim")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("nvim", "--headless", "-i", "NONE", "-n", "-u", filepath.Join(configuration, "init.lua"), "-S", filepath.Join(configuration, "test.lua"))
	c.Dir, c.Env = directory, append(os.Environ(), "PWD="+directory, "XDG_STATE_HOME="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir())
	var messages bytes.Buffer
	c.Stderr = &messages
	text, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, text, &messages)
	}
	return string(text)
}

// helix matches the command and the arguments in Helix's configuration.
var helix = regexp.MustCompile(`(?m)^\[language-server\.preadmit\]\ncommand = "(.*)"\nargs = \["(.*)"\]$`)

// TestHelix starts the server that Helix's configuration names. Helix itself is not run: no package
// registry that the tests use has it.
func TestHelix(t *testing.T) {
	t.Parallel()
	configuration := read(t, "editors/helix/languages.toml")
	server := helix.FindStringSubmatch(configuration)
	if server == nil || !strings.Contains(configuration, "[[language]]\nname = \"yaml\"\nlanguage-servers = [\"preadmit\",") {
		t.Fatalf("the configuration names no server for YAML:\n%s", configuration)
	}
	var in strings.Builder
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}`,
		`{"jsonrpc":"2.0","method":"initialized","params":{}}`, `{"jsonrpc":"2.0","id":2,"method":"shutdown"}`, `{"jsonrpc":"2.0","method":"exit"}`,
	} {
		in.WriteString(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(message), message))
	}
	r := command(t, "editors/workspace", in.String(), server[1], server[2])
	if r.status != 0 || r.stderr != "" || !strings.Contains(r.stdout, `"completionProvider"`) {
		t.Errorf("exit status %d\n%s\n%s", r.status, r.stdout, r.stderr)
	}
}
