// Command models reads deployment files with the types of the programs that they are for, and refuses what those do not
// know: compose files with compose-go, and manifests with the API of Kubernetes. It is a module of its own, so that the
// service does not require these.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

func main() {
	for _, file := range os.Args[1:] {
		check := manifests
		if strings.Contains(filepath.Base(file), "compose") {
			check = composition
		}
		if err := check(file); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

// composition loads a project as docker compose does, and prints what it starts.
func composition(file string) error {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithEnv([]string{"SV_VERSION=0.1.0"}))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	for _, name := range project.ServiceNames() {
		service := project.Services[name]
		fmt.Printf("service %s %s read_only=%t user=%s cap_drop=%s grace=%v\n",
			name, service.Image, service.ReadOnly, service.User, strings.Join(service.CapDrop, ","), service.StopGracePeriod)
		for _, secret := range service.Secrets {
			if _, ok := project.Secrets[secret.Source]; !ok {
				return fmt.Errorf("%s uses the secret %s, which is nowhere", name, secret.Source)
			}
		}
	}
	return nil
}

// manifests reads each document of a file strictly: a member that the API does not have is an error.
func manifests(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := manifest(document); err != nil {
			return err
		}
	}
}

func manifest(document []byte) error {
	var kind meta.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return err
	}
	var object any
	switch kind.APIVersion + " " + kind.Kind {
	case "v1 Namespace":
		object = &core.Namespace{}
	case "v1 ConfigMap":
		object = &core.ConfigMap{}
	case "v1 Service":
		object = &core.Service{}
	case "apps/v1 Deployment":
		object = &apps.Deployment{}
	case "batch/v1 Job":
		object = &batch.Job{}
	case "policy/v1 PodDisruptionBudget":
		object = &policy.PodDisruptionBudget{}
	case "autoscaling/v2 HorizontalPodAutoscaler":
		object = &autoscaling.HorizontalPodAutoscaler{}
	case "networking.k8s.io/v1 NetworkPolicy":
		object = &networking.NetworkPolicy{}
	default:
		return fmt.Errorf("unknown kind %s of %s", kind.Kind, kind.APIVersion)
	}
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		return fmt.Errorf("%s: %w", kind.Kind, err)
	}
	switch o := object.(type) {
	case *apps.Deployment:
		return pod("deployment "+o.Name, o.Spec.Template, o.Spec.Selector)
	case *batch.Job:
		return pod("job "+o.GenerateName, o.Spec.Template, nil)
	case *policy.PodDisruptionBudget:
		fmt.Printf("budget %s selector=%s\n", o.Name, meta.FormatLabelSelector(o.Spec.Selector))
	case *autoscaling.HorizontalPodAutoscaler:
		for _, metric := range o.Spec.Metrics {
			fmt.Printf("scales %s %s by %s\n", o.Spec.ScaleTargetRef.Kind, o.Spec.ScaleTargetRef.Name,
				metric.External.Metric.Name)
		}
	case *networking.NetworkPolicy:
		for _, rule := range o.Spec.Ingress {
			for _, port := range rule.Ports {
				for _, from := range rule.From {
					fmt.Printf("policy lets %s reach %s of %s\n", meta.FormatLabelSelector(from.NamespaceSelector),
						port.Port.String(), meta.FormatLabelSelector(&o.Spec.PodSelector))
				}
			}
		}
	case *core.Service:
		fmt.Printf("reached by selector=%s\n", meta.FormatLabelSelector(&meta.LabelSelector{MatchLabels: o.Spec.Selector}))
	}
	return nil
}

// pod checks what the API server checks beyond the form, and what the restricted security standard demands.
func pod(name string, template core.PodTemplateSpec, selector *meta.LabelSelector) error {
	if selector != nil {
		matched, err := meta.LabelSelectorAsSelector(selector)
		if err != nil {
			return err
		}
		if !matched.Matches(labels(template.Labels)) {
			return fmt.Errorf("%s does not select its own pods", name)
		}
	}
	spec := template.Spec
	if s := spec.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil {
		return fmt.Errorf("%s may run as root or without seccomp", name)
	}
	for _, c := range spec.Containers {
		s := c.SecurityContext
		if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
			s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.Capabilities == nil {
			return fmt.Errorf("%s has a container with more rights than it needs", name)
		}
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			return fmt.Errorf("%s has a container without resources", name)
		}
		ports := map[string]bool{}
		for _, port := range c.Ports {
			ports[port.Name] = true
		}
		probes := 0
		for _, probe := range []*core.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			if probe != nil {
				probes++
				if !ports[probe.HTTPGet.Port.String()] {
					return fmt.Errorf("%s has a probe of the port %s, which is not there", name, probe.HTTPGet.Port.String())
				}
			}
		}
		var grace int64
		if spec.TerminationGracePeriodSeconds != nil {
			grace = *spec.TerminationGracePeriodSeconds
		}
		fmt.Printf("%s %s args=%s probes=%d preStop=%t grace=%d selector=%s\n", name, c.Image,
			strings.Join(c.Args, " "), probes, c.Lifecycle != nil && c.Lifecycle.PreStop != nil, grace,
			meta.FormatLabelSelector(selector))
	}
	return nil
}

type labels map[string]string

func (l labels) Has(name string) bool   { _, ok := l[name]; return ok }
func (l labels) Get(name string) string { return l[name] }
func (l labels) Lookup(name string) (string, bool) {
	value, ok := l[name]
	return value, ok
}
