//go:build slow

package patroni

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

const (
	// bridge joins the networks of the machines, in place of the network that the deployed files name.
	bridge  = "sv-patroni"
	network = "10.203.0."
	// firstHost is the last part of the address of the first machine.
	firstHost = 21
	machines  = 3
)

// machine is a network with a server under Patroni and an etcd in it.
type machine struct {
	name, address, dir string
	etcd, patroni      *program.Process
	// whole is the test that has the cluster: what one part of it starts again outlives the part.
	whole testing.TB
}

// cluster is the three machines, with HAProxy before them.
type cluster struct {
	machines []*machine
	haproxy  string
}

// member is what Patroni says about one of its servers.
type member struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	State    string `json:"state"`
	Timeline int    `json:"timeline"`
}

// startCluster returns when there is a leader with two standbys, one of which is synchronous.
func startCluster(tb testing.TB) *cluster {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("only root can make networks")
	}
	removeNetworks()
	tb.Cleanup(removeNetworks)
	run(tb, "ip", "link", "add", bridge, "type", "bridge")
	run(tb, "ip", "address", "add", network+"1/24", "dev", bridge)
	run(tb, "ip", "link", "set", bridge, "up")
	dir := coretest.OpenFolder(tb)
	c := &cluster{haproxy: coretest.FreeAddress(tb)}
	for k := range machines {
		m := &machine{name: fmt.Sprintf("db%d", k+1), address: network + strconv.Itoa(firstHost+k), whole: tb}
		m.dir = filepath.Join(dir, m.name)
		m.connect(tb)
		m.place(tb)
		c.machines = append(c.machines, m)
	}
	tb.Cleanup(func() {
		for _, m := range c.machines {
			m.lose(tb) // Nothing of Patroni ends with it.
		}
	})
	for _, m := range c.machines {
		m.start(tb)
	}
	c.startHAProxy(tb)
	c.awaitWhole(tb)
	return c
}

// removeNetworks removes the networks, those of a test that was killed as well.
func removeNetworks() {
	for k := range machines {
		_ = exec.Command("ip", "netns", "delete", fmt.Sprintf("sv-db%d", k+1)).Run() // There may be none.
	}
	_ = exec.Command("ip", "link", "delete", bridge).Run() // There may be none.
}

// connect makes the network of the machine.
func (m *machine) connect(tb testing.TB) {
	tb.Helper()
	run(tb, "ip", "netns", "add", m.netns())
	run(tb, "ip", "link", "add", m.cable(), "type", "veth", "peer", "name", "eth0", "netns", m.netns())
	run(tb, "ip", "link", "set", m.cable(), "master", bridge, "up")
	for _, args := range []string{"address add " + m.address + "/24 dev eth0", "link set eth0 up", "link set lo up"} {
		run(tb, "ip", append([]string{"-n", m.netns()}, strings.Fields(args)...)...)
	}
}

func (m *machine) netns() string { return "sv-" + m.name }

func (m *machine) cable() string { return bridge + "-" + m.name[2:] }

// cut ends the network of the machine in both directions, without a word to anybody.
func (m *machine) cut(tb testing.TB) {
	tb.Helper()
	run(tb, "ip", "link", "set", m.cable(), "down")
}

func (m *machine) mend(tb testing.TB) {
	tb.Helper()
	run(tb, "ip", "link", "set", m.cable(), "up")
}

// place writes the deployed files with what is the machine's own.
func (m *machine) place(tb testing.TB) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Join(m.dir, "etcd"), 0o755); err != nil {
		tb.Fatal(err)
	}
	own := func(file string, replaced ...string) string {
		text := program.Deployed(tb, "patroni/"+file, replaced...)
		// What all machines share begins differently.
		text = strings.NewReplacer("db1=http://10.0.0.21:", "db1=http://"+network+"21:",
			`["10.0.0.21:2379"`, `["`+network+`21:2379"`).Replace(text)
		return strings.ReplaceAll(strings.ReplaceAll(text, "10.0.0.21", m.address), "10.0.0.", network)
	}
	m.write(tb, "etcd.env", own("etcd", "ETCD_NAME=db1", "ETCD_NAME="+m.name,
		"/var/lib/etcd/simplevalidations", filepath.Join(m.dir, "etcd")))
	bins, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(bins) == 0 {
		tb.Fatalf("find the programs of PostgreSQL: %v", err)
	}
	m.write(tb, "patroni.yml", own("patroni.yml", "name: db1", "name: "+m.name,
		"/var/lib/postgresql/15/simplevalidations", filepath.Join(m.dir, "data"),
		"/usr/lib/postgresql/15/bin", bins[len(bins)-1],
		"  pg_hba:", "  parameters: {unix_socket_directories: "+m.dir+"}\n  pg_hba:",
		"scram-sha-256", "trust", " peer", " trust"))
	run(tb, "chown", "-R", "postgres:", m.dir)
}

func (m *machine) write(tb testing.TB, name, text string) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// start starts what the machine runs, after its loss as well.
func (m *machine) start(tb testing.TB) {
	tb.Helper()
	m.startEtcd(tb)
	m.startPatroni(tb)
}

func (m *machine) startEtcd(tb testing.TB) {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, "etcd.env"))
	if err != nil {
		tb.Fatal(err)
	}
	var settings []string
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		if line := lines.Text(); line != "" && line[0] != '#' {
			settings = append(settings, line)
		}
	}
	m.etcd = m.launch(tb, settings, "etcd", "--log-level", "error")
}

func (m *machine) startPatroni(tb testing.TB) {
	tb.Helper()
	m.patroni = m.launch(tb, nil, "patroni", filepath.Join(m.dir, "patroni.yml"))
}

// launch starts a program on the machine, as the user of PostgreSQL.
func (m *machine) launch(tb testing.TB, settings []string, name string, args ...string) *program.Process {
	tb.Helper()
	cmd := exec.Command("ip", append([]string{
		"netns", "exec", m.netns(), "setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups",
		program.Find(tb, name),
	}, args...)...)
	cmd.Env, cmd.Dir = append(append(os.Environ(), "HOME="+m.dir), settings...), m.dir
	return program.LaunchCommand(m.whole, cmd)
}

// lose ends everything on the machine at once.
func (m *machine) lose(tb testing.TB) {
	tb.Helper()
	program.Await(tb, m.name+" is lost", func() bool {
		pids := strings.Fields(run(tb, "ip", "netns", "pids", m.netns()))
		for _, text := range pids {
			id, err := strconv.Atoi(text)
			if err != nil {
				tb.Fatal(err)
			}
			_ = syscall.Kill(id, syscall.SIGKILL) // It may have ended by itself.
		}
		return len(pids) == 0
	})
}

// crash ends PostgreSQL on the machine at once, and nothing else.
func (m *machine) crash(tb testing.TB) {
	tb.Helper()
	program.SignalPostgres(tb, filepath.Join(m.dir, "data"), syscall.SIGKILL)
}

func (c *cluster) startHAProxy(tb testing.TB) {
	tb.Helper()
	text := program.Deployed(tb, "patroni/haproxy.cfg", "10.0.0.", network, "bind :5432", "bind "+c.haproxy)
	file := filepath.Join(tb.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	program.LaunchCommand(tb, exec.Command(program.Find(tb, "haproxy"), "-db", "-f", file))
}

// members asks machines in turn until one says what it knows of all. One that is cut off knows old things.
func members(ctx context.Context, machines []*machine) []member {
	for _, m := range machines {
		address := "http://" + m.address + ":8008/cluster"
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			return nil
		}
		response, err := quick.Do(request)
		if err != nil {
			continue
		}
		var found struct {
			Members []member `json:"members"`
		}
		err = json.NewDecoder(response.Body).Decode(&found)
		_ = response.Body.Close() // It was read.
		if err == nil {
			return found.Members
		}
	}
	return nil
}

// with returns the machine with a role, if there is one. A machine that may be cut off is not asked.
func (c *cluster) with(ctx context.Context, role string, cutOff *machine) *machine {
	asked := slices.DeleteFunc(slices.Clone(c.machines), func(m *machine) bool { return m == cutOff })
	for _, found := range members(ctx, asked) {
		if found.Role != role || found.State != "running" && found.State != "streaming" {
			continue
		}
		for _, m := range c.machines {
			if m.name == found.Name {
				return m
			}
		}
	}
	return nil
}

// leader returns the machine that leads.
func (c *cluster) leader(tb testing.TB) *machine {
	tb.Helper()
	var found *machine
	program.Await(tb, "there is a leader", func() bool {
		found = c.with(tb.Context(), "leader", nil)
		return found != nil
	})
	return found
}

// awaitWhole waits until all machines say that all take part and follow the same leader, and that one standby is
// synchronous. It makes a machine anew that does not come back by itself, as patronictl reinit does, and returns how
// many that were.
func (c *cluster) awaitWhole(tb testing.TB) int {
	tb.Helper()
	var found []member
	defer func() {
		if tb.Failed() {
			tb.Logf("members: %+v", found)
		}
	}()
	anew, since := 0, time.Now()
	program.Await(tb, "all machines take part", func() bool {
		views := map[string]bool{}
		for _, m := range c.machines {
			if m.patroni.HasEnded() {
				tb.Fatalf("Patroni has ended on %s", m.name)
			}
			found = members(tb.Context(), []*machine{m})
			roles := map[string]int{}
			for _, one := range found {
				roles[one.Role]++
				if one.Role == "leader" || one.Timeline != found[0].Timeline {
					views[fmt.Sprint(one.Name, one.Timeline)] = true
				}
				if one.State == "starting" && time.Since(since) > comeback {
					since = time.Now()
					anew += c.makeAnew(tb, one.Name)
				}
			}
			if roles["leader"] != 1 || roles["sync_standby"] != 1 || roles["replica"] != 1 ||
				slices.ContainsFunc(found, func(one member) bool {
					return one.State != "running" && one.State != "streaming"
				}) {
				return false
			}
		}
		return len(views) == 1
	})
	return anew
}

// comeback is how long a machine has to come back by itself.
const comeback = 40 * time.Second

// makeAnew has Patroni copy the leader to a machine.
func (c *cluster) makeAnew(tb testing.TB, name string) int {
	tb.Helper()
	m := c.machines[slices.IndexFunc(c.machines, func(m *machine) bool { return m.name == name })]
	if status := m.post(tb, "reinitialize", map[string]any{"force": true}); status != http.StatusOK {
		return 0
	}
	return 1
}

// post asks Patroni for something, and returns the status of its answer.
func (m *machine) post(tb testing.TB, what string, body map[string]any) int {
	tb.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		tb.Fatal(err)
	}
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, "http://"+m.address+":8008/"+what,
		bytes.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	_ = response.Body.Close() // The status says enough.
	return response.StatusCode
}
