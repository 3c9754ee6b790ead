package remote

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/validations"
)

const (
	defaultURL = "http://127.0.0.1:8000"
	folderName = "simplevalidations"
	// othersMay are the permissions that users other than the owner must not have on a file with a token.
	othersMay = 0o077
)

// connection is how a command reaches the service. A flag wins over the environment, that over the file.
type connection struct {
	Env
	url string
}

// bind adds the flags to a command.
func (c *connection) bind(command *cobra.Command) {
	command.Flags().StringVar(&c.url, "url", "",
		"the URL of the service (default: SV_URL, the configuration file, SV_BASE_URL, or "+defaultURL+")")
}

// configuration is the file of a user.
type configuration struct {
	URL   string `yaml:"url"`
	Token string `yaml:"token"`
}

// open makes a client of the service.
func (c *connection) open(options ...client.Option) (*client.Client, error) {
	file, err := c.configuration()
	if err != nil {
		return nil, err
	}
	// Where the settings of the service are, it is the service of this machine that is meant.
	address := cmp.Or(c.url, c.Getenv("SV_URL"), file.URL, c.Getenv("SV_BASE_URL"), defaultURL)
	token := c.tokenOf(file)
	agent := validations.CommandLineAgent + c.Version
	options = append([]client.Option{client.WithToken(token), client.WithUserAgent(agent)},
		options...)
	opened, err := client.New(address, options...)
	if err != nil {
		return nil, misuse("%v", err)
	}
	return opened, nil
}

// authorized is open for commands that need a token.
func (c *connection) authorized(options ...client.Option) (*client.Client, error) {
	file, err := c.configuration()
	if err != nil {
		return nil, err
	}
	if c.tokenOf(file) == "" {
		return nil, misuse("there is no token: set SV_TOKEN, or token in %s", c.configurationFile())
	}
	return c.open(options...)
}

func (c *connection) tokenOf(file configuration) string {
	return cmp.Or(c.Getenv("SV_TOKEN"), file.Token)
}

func (c *connection) configuration() (configuration, error) {
	var read configuration
	name := c.configurationFile()
	found, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || name == "" {
		return read, nil
	}
	if err != nil {
		return read, misuse("the configuration file: %v", err)
	}
	content, err := readSmall(name)
	if err != nil {
		return read, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&read); err != nil && !errors.Is(err, io.EOF) {
		return read, misuse("%s: %v", name, err)
	}
	if read.Token != "" && found.Mode().Perm()&othersMay != 0 {
		return read, misuse("%s holds a token and others may read it; run: chmod 600 %s", name, name)
	}
	return read, nil
}

// configurationFile is the name of the user's file, or nothing where there is no home.
func (c *connection) configurationFile() string {
	return c.userFile("XDG_CONFIG_HOME", ".config", "config.yaml")
}

// userFile is a file in one of the folders that a user has for programs.
func (s Env) userFile(variable, folder string, names ...string) string {
	base := s.Getenv(variable)
	if base == "" {
		home := s.Getenv("HOME")
		if home == "" {
			return ""
		}
		base = filepath.Join(home, folder)
	}
	return filepath.Join(append([]string{base, folderName}, names...)...)
}
