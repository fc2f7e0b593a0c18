package tfprovider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
)

// podsFunction is the function pods.
type podsFunction struct{ sets *cache }

func (f *podsFunction) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "pods"
}

func (f *podsFunction) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Summary: "The Pods that the cluster will run, as policies change them",
		MarkdownDescription: "Returns the objects that Kubernetes' controllers create from the Deployments, StatefulSets, DaemonSets, Jobs, CronJobs, ReplicaSets and ReplicationControllers " +
			"in a map of manifests, down to the Pods. Each object is JSON, as the mutating policies of a cluster change it. The keys have the form of `preadmit_manifests`. " +
			"Pods among the manifests are in the result, too.\n\n" +
			"Each template gives one Pod, the first one. Generated values are fixed: random suffixes of names are `00000`, uids are zeros. " +
			"The admission plug-ins of a stock server run, unless the option `admission_plugins` says otherwise.\n\n" +
			"The result is unknown until all manifests and policies are known.",
		Parameters: []function.Parameter{
			manifestsParameter,
			policiesParameter(true),
		},
		VariadicParameter: optionsParameter(true),
		Return:            function.MapReturn{ElementType: types.StringType},
	}
}

func (f *podsFunction) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	var manifests types.Map
	var policies types.Dynamic
	var given []types.Dynamic
	if response.Error = request.Arguments.Get(ctx, &manifests, &policies, &given); response.Error != nil {
		return
	}
	var c config
	known, failure := c.take(ctx, policies, given)
	if response.Error = failure; failure != nil {
		return
	}
	_, unknown, failure := c.takeManifests(manifests)
	if response.Error = failure; failure != nil {
		return
	}
	if !known || manifests.IsUnknown() || len(unknown) > 0 {
		response.Error = response.Result.Set(ctx, types.MapUnknown(types.StringType))
		return
	}
	if len(c.options.Engine.AdmissionPlugins) == 0 {
		c.options.Engine.AdmissionPlugins = []string{"default"}
	}
	a := admit(ctx, f.sets, &c, engine.Pods())
	a.requireOne()
	if response.Error = funcError(a.problems); response.Error == nil {
		response.Error = response.Result.Set(ctx, a.pods())
	}
}

// pods returns the objects that controllers created, and the given Pods, by key.
func (a *admission) pods() map[string]string {
	pods := map[string]string{}
	if a.outcome == nil {
		return pods
	}
	for _, d := range a.documents {
		if d.manifest != nil && d.manifest.Runs() {
			pods[d.key()] = d.json
		}
	}
	namespaces := map[*manifest.Document]string{}
	for _, m := range a.outcome.Manifests {
		namespaces[m.Document] = m.Namespace
	}
	for _, stream := range a.outcome.Made() {
		for i, result := range edited(stream) {
			d := document{written: result, namespace: namespaces[stream.Documents()[i]]}
			pods[d.key()] = string(result.JSON())
		}
	}
	return pods
}
