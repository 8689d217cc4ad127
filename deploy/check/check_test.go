// Package check tries the files of deploy/ with the code that reads them where they are used: kustomize, the types of
// Kubernetes, the reader of Docker Compose, and Prometheus' own parsers. It is a module of its own, so that the program
// depends on none of these.
package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// build runs kustomize over an overlay of the folder, in a copy that has the files which people put there.
func build(t *testing.T, overlay string) []runtime.Object {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("../kubernetes")); err != nil {
		t.Fatal(err)
	}
	put := func(name, from string) {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(root, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("trial/countersign.yaml", "../../examples/countersign.yaml")
	put("trial/countersign.env", "../kubernetes/trial/countersign.env.example")
	put("trial/postgres.env", "../kubernetes/trial/postgres.env.example")
	dir := filepath.Join(root, "trial")
	if overlay != "" {
		dir = filepath.Join(root, "mine")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("kustomize: %v", err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var objects []runtime.Object
	for _, resource := range made.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := strict.Decode(text, nil, nil)
		if err != nil {
			t.Errorf("%s %s: %v", resource.GetKind(), resource.GetName(), err)
			continue
		}
		objects = append(objects, object)
	}
	return objects
}

// find returns the only object of its type.
func find[T runtime.Object](t *testing.T, objects []runtime.Object) T {
	t.Helper()
	var found []T
	for _, o := range objects {
		if o, ok := o.(T); ok {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects %T, want one", len(found), *new(T))
	}
	return found[0]
}

// TestTrialIsWhole builds the overlay that people start from: every name that a pod refers to is there.
func TestTrialIsWhole(t *testing.T) {
	objects := build(t, "")
	names := map[string]bool{}
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.ConfigMap:
			names["configmap/"+o.Name] = true
			if o.Data["countersign.yaml"] == "" {
				t.Errorf("%s has no agents file", o.Name)
			}
		case *corev1.Secret:
			names["secret/"+o.Name] = true
		case *corev1.Service:
			names["service/"+o.Name] = true
		}
	}
	bot := find[*appsv1.Deployment](t, objects)
	pod := bot.Spec.Template.Spec
	if *bot.Spec.Replicas < 3 || pod.Containers[0].Image != "registry.example.com/countersign:v0.1.0" {
		t.Errorf("%d replicas of %s", *bot.Spec.Replicas, pod.Containers[0].Image)
	}
	if name := pod.Containers[0].EnvFrom[0].SecretRef.Name; !names["secret/"+name] {
		t.Errorf("the bot's secret %s is not there", name)
	}
	if name := pod.Volumes[0].ConfigMap.Name; !names["configmap/"+name] {
		t.Errorf("the agents file's %s is not there", name)
	}
	if !names["service/countersign-postgres"] {
		t.Error("COUNTERSIGN_STORE names a database that no service leads to")
	}
}

// TestPodsAreRestricted holds what the pod security standard "restricted" asks for, and what a drain needs.
func TestPodsAreRestricted(t *testing.T) {
	objects := build(t, "")
	bot := find[*appsv1.Deployment](t, objects)
	database := find[*appsv1.StatefulSet](t, objects)
	for name, pod := range map[string]corev1.PodSpec{
		"bot": bot.Spec.Template.Spec, "database": database.Spec.Template.Spec,
	} {
		if s := pod.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot ||
			s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: its pod is not restricted: %+v", name, s)
		}
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
			t.Errorf("%s: its pod gets a token for the cluster", name)
		}
		for _, c := range pod.Containers {
			s := c.SecurityContext
			if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
				!*s.ReadOnlyRootFilesystem || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" {
				t.Errorf("%s: container %s is not restricted: %+v", name, c.Name, s)
			}
			if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Memory().IsZero() {
				t.Errorf("%s: container %s has no bound on its memory", name, c.Name)
			}
		}
	}
	c := bot.Spec.Template.Spec.Containers[0]
	if c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Error("the probes ask the wrong pages: starting again brings no connection back")
	}
	if grace := bot.Spec.Template.Spec.TerminationGracePeriodSeconds; grace == nil || *grace <= 5 {
		t.Error("the bot is killed before it has drained")
	}
}

// TestHTTPMode adds the component for HTTP mode to the base: the policy lets nothing in but what Slack calls.
func TestHTTPMode(t *testing.T) {
	objects := build(t, strings.TrimSpace(`
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../base]
components: [../http]
configMapGenerator: [{ name: countersign-agents, literals: ["countersign.yaml=version: 1"] }]
secretGenerator: [{ name: countersign, literals: [SLACK_BOT_TOKEN=x] }]
`))
	bot := find[*appsv1.Deployment](t, objects)
	mode := ""
	for _, e := range bot.Spec.Template.Spec.Containers[0].Env {
		if e.Name == "COUNTERSIGN_SLACK_MODE" {
			mode = e.Value
		}
	}
	if mode != "http" {
		t.Errorf("COUNTERSIGN_SLACK_MODE is %q", mode)
	}
	const drain = 5 // seconds, from SIGTERM on
	hooks, grace := bot.Spec.Template.Spec.Containers[0].Lifecycle, bot.Spec.Template.Spec.TerminationGracePeriodSeconds
	if hooks == nil || hooks.PreStop == nil || hooks.PreStop.Sleep == nil || hooks.PreStop.Sleep.Seconds < 3 {
		t.Error("a replica stops listening while clicks are still sent to it")
	} else if *grace <= hooks.PreStop.Sleep.Seconds+drain {
		t.Error("the bot is killed before it has drained")
	}
	for _, rule := range find[*networkingv1.Ingress](t, objects).Spec.Rules {
		for _, path := range rule.HTTP.Paths {
			if path.Path != "/slack/" && path.Path != "/callbacks/" {
				t.Errorf("the world reaches %s", path.Path)
			}
		}
	}
}

// TestMisspelledFieldIsFound is the control of the tests above: a field that Kubernetes does not know is an error.
func TestMisspelledFieldIsFound(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	_, _, err := strict.Decode([]byte("apiVersion: apps/v1\nkind: Deployment\nspec: { replica: 3 }\n"), nil, nil)
	if err == nil {
		t.Error("replica for replicas is let through")
	}
}
