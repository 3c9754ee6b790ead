package deploy

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// process is one that a file of config/deploy starts, as that file has it.
type process struct {
	file string
	args []string
	// environ has the settings, of which later ones win. Those that end in _FILE name places of secrets.
	environ []string
	// placed are the secrets that the process finds in the folder.
	folder string
	placed []string
	// served is the port that clients are led to, and probes are what the supervisor asks.
	served string
	probes []probe
	// preStop passes before the process is told to stop, and grace after which it is killed, both together.
	preStop, grace time.Duration
}

// probe is a request that a process has to answer. Its port is a number.
type probe struct{ port, path string }

// told are the probes of a supervisor that asks nothing by itself, as the guide for operators has them.
func told(port string) []probe { return []probe{{port, "/livez/"}, {port, "/readyz/"}} }

// readUnits reads the units of systemd. The instance of a template is its port.
func readUnits(tb testing.TB) []process {
	tb.Helper()
	var all []process
	for _, file := range deployed(tb, "systemd") {
		p := process{file: file, folder: "%d"}
		var files []string
		for line := range strings.Lines(withoutComments(string(readFile(tb, file)))) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch value = strings.ReplaceAll(value, "%i", "8001"); name {
			case "ExecStart":
				p.args = strings.Fields(strings.TrimPrefix(value, "/usr/local/bin/simplevalidations "))
			case "Environment":
				p.environ = append(p.environ, strings.Fields(value)...)
			case "EnvironmentFile":
				files = append(files, filepath.Join(folder, filepath.Base(value)))
			case "LoadCredential":
				credential, _, _ := strings.Cut(value, ":")
				p.placed = append(p.placed, credential)
			case "TimeoutStopSec":
				p.grace = seconds(tb, value+"s")
			}
		}
		// What they set wins over the unit.
		for _, file := range files {
			p.environ = append(p.environ, strings.Fields(withoutComments(string(readFile(tb, file))))...)
		}
		p.served = portOf(p.setting("SV_ADDR"))
		p.probes = told(portOf(p.setting("SV_METRICS_ADDR")))
		all = append(all, p)
	}
	return all
}

// composition is the part of a compose file that says how processes run.
type composition struct {
	Services map[string]struct {
		Image       string
		Command     []string
		Environment map[string]string
		Secrets     []string
		Grace       string `yaml:"stop_grace_period"`
	}
}

// readComposition reads the services of our own image. nginx leads to the port that its file names.
func readComposition(tb testing.TB) []process {
	tb.Helper()
	file := filepath.Join(folder, "compose", "compose.yaml")
	text := regexp.MustCompile(`\$\{\w+:[-?]([^}]*)\}`).ReplaceAllString(string(readFile(tb, file)), "$1")
	var read composition
	if err := yaml.Unmarshal([]byte(text), &read); err != nil {
		tb.Fatal(err)
	}
	upstream := readFile(tb, filepath.Join(folder, "compose", "upstream.conf"))
	led := regexp.MustCompile(`(?m)^\s*server (\w+):(\d+) `).FindStringSubmatch(string(upstream))
	var all []process
	for name, service := range read.Services {
		if !strings.HasPrefix(service.Image, "simplevalidations:") {
			continue
		}
		p := process{
			file: file, args: service.Command, folder: "/run/secrets", placed: service.Secrets,
			environ: environOf(service.Environment),
		}
		if service.Grace != "" {
			p.grace = seconds(tb, service.Grace)
		}
		if len(led) > 0 && name == led[1] {
			p.served = led[2]
		}
		p.probes = told(portOf(p.setting("SV_METRICS_ADDR")))
		all = append(all, p)
	}
	return all
}

// manifest is the part of a manifest that says how processes run, of whatever kind it is.
type manifest struct {
	file string

	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		Template struct{ Spec podSpec }
		// Of a service.
		Ports []struct {
			Target string `yaml:"targetPort"`
		}
		// Of a HorizontalPodAutoscaler.
		Metrics []struct {
			External struct{ Metric struct{ Name string } }
		}
	}
}

type podSpec struct {
	Grace      int `yaml:"terminationGracePeriodSeconds"`
	Containers []struct {
		Args []string
		From []struct {
			Ref struct{ Name string } `yaml:"configMapRef"`
		} `yaml:"envFrom"`
		Env    []struct{ Name, Value string }
		Mounts []struct {
			Path string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
		Ports []struct {
			Name   string
			Number string `yaml:"containerPort"`
		}
		Lifecycle struct {
			PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
		}
		Startup   *podProbe `yaml:"startupProbe"`
		Liveness  *podProbe `yaml:"livenessProbe"`
		Readiness *podProbe `yaml:"readinessProbe"`
	}
}

type podProbe struct {
	Get struct{ Path, Port string } `yaml:"httpGet"`
}

// readManifests reads the manifests of Kubernetes, and the metric by whose value it scales.
func readManifests(tb testing.TB) ([]process, string) {
	tb.Helper()
	var manifests []manifest
	var placed []string
	var target, metric string
	shared := make(map[string][]string)
	for _, file := range deployed(tb, "kubernetes") {
		text := readFile(tb, file)
		for _, found := range regexp.MustCompile(`--from-file=(\S+)`).FindAllSubmatch(text, -1) {
			placed = append(placed, string(found[1]))
		}
		for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var m manifest
			err := decoder.Decode(&m)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				tb.Fatalf("%s: %v", file, err)
			}
			switch m.Kind {
			case "ConfigMap":
				shared[m.Metadata.Name] = environOf(m.Data)
			case "Service":
				target = m.Spec.Ports[0].Target
			case "HorizontalPodAutoscaler":
				metric = m.Spec.Metrics[0].External.Metric.Name
			case "Deployment", "Job":
				m.file = file
				manifests = append(manifests, m)
			}
		}
	}
	var all []process
	for _, m := range manifests {
		p := m.Spec.Template.Spec.process(shared, target)
		p.file, p.placed = m.file, placed
		all = append(all, p)
	}
	return all, metric
}

// process is that of the only container. The service leads to the port with the name target.
func (s podSpec) process(shared map[string][]string, target string) process {
	c := s.Containers[0]
	p := process{
		args: c.Args, grace: time.Duration(s.Grace) * time.Second,
		preStop: time.Duration(c.Lifecycle.PreStop.Sleep.Seconds) * time.Second,
	}
	for _, from := range c.From {
		p.environ = append(p.environ, shared[from.Ref.Name]...)
	}
	for _, variable := range c.Env {
		p.environ = append(p.environ, variable.Name+"="+variable.Value)
	}
	for _, mount := range c.Mounts {
		p.folder = mount.Path
	}
	ports := make(map[string]string)
	for _, port := range c.Ports {
		ports[port.Name] = port.Number
	}
	p.served = ports[target]
	for _, asked := range []*podProbe{c.Startup, c.Liveness, c.Readiness} {
		if asked != nil {
			p.probes = append(p.probes, probe{ports[asked.Get.Port], asked.Get.Path})
		}
	}
	return p
}

// setting is the value that wins.
func (p process) setting(name string) string {
	var value string
	for _, variable := range p.environ {
		if v, ok := strings.CutPrefix(variable, name+"="); ok {
			value = v
		}
	}
	return value
}

func environOf(values map[string]string) []string {
	var environ []string
	for name, value := range values {
		environ = append(environ, name+"="+value)
	}
	return environ
}

func portOf(address string) string { return address[strings.LastIndex(address, ":")+1:] }

func seconds(tb testing.TB, text string) time.Duration {
	tb.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}
