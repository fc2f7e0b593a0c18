// Package engine runs mutating policies on manifests. Compile turns policies into a Set. Set.Run
// runs them on the manifests of files and edits the manifests in place: the result is what an API
// server with the policies would have made, and every change has its author. Set.Admit does the
// same for one object in memory. Frontends use only these entry points. The engine has no state
// besides its input: no cluster, no network, no clock.
//
// Laws, for a manifest M and policies P:
//
//	an API server without P that gets Run(M, P) stores the same object as a server with P that gets M
//	Run(Run(M, P), P) is Run(M, P), or there is a diagnostic
//	the bytes of a manifest that no policy changes are its input bytes
//	the changes turn the admission view before into the admission view after
//	the edits turn the manifest into the output, and each edit has a cause
//	the bytes and the diagnostics do not depend on the number of processors
//
// A run has stages. A stage is complete before a later stage that needs it begins. It gets the
// results of earlier stages, returns its own, and calls no later stage. The files are in the order
// of the stages:
//
//	options.go, cluster.go     the options, and documents that describe a cluster
//	place.go                   the place of an object in a cluster
//	outcome.go, trace.go       what a run returns, and what it records about an object
//	secrets.go                 what must not be shown
//	webhooks.go                who answers for webhooks, and webhooks whose changes are not predicted
//	digest.go                  digests of options and documents, by which runs are compared
//	policies.go, compile.go    the languages; policies become programs, each with its hook (Set)
//	observe.go                 observers, which get more information about a run than its result
//	job.go, stages.go          a job for every manifest, and the results of its stages
//	run.go, directories.go     Set.Run: the stages in order, also for each directory
//	sort.go                    the role of each document
//	trees.go                   mutation trees, which run before the server
//	schedule.go                the order in which jobs begin, and how they wait for others
//	context.go, names.go       objects that policies look up, and unknown names in policies
//	taint.go                   what policies write after they have read sensitive objects
//	fieldvalidation.go         the server: unknown fields of a manifest
//	admit.go                   the server: one object, all passes, a record of what happened
//	rules.go                   where the rules are that are in no policy
//	validate.go                the server: validation, validating policies, and what they say
//	updates.go                 policies that act only on updates
//	follow.go                  policies that change other objects after admission
//	write.go                   from the trace back to the manifest
//	normalize.go               manifests as a server stores them (option Normalize)
//	attribute.go, explain.go   the authors of changes
//	objections.go              why validation says what it says
//	replay.go                  the policies on their own output
//	orders.go, effects.go      policies whose order matters, and policies without effect
//	generated.go               policies that fail on all objects that are generated for them
//	goals.go                   rules that change none of the objects that are generated for them
//	pairs.go                   validating policies on what mutating ones make of generated objects
//	check.go, coverage.go      mistakes and conflicts, and the parts of policies that have run
//	nearest.go, verdicts.go    what is similar to what a policy selects, and what it did to each object
//	pods.go                    objects that controllers make from the manifests, down to Pods
//	layout.go                  where documents were in an earlier run
//	results.go                 results of an earlier run, for manifests and policies with which nothing has changed
//	say.go                     the outcome, without the values of Secrets
//
// Some files are separate entry points: object.go (Set.Admit), lookups.go (what a set looks up), predict.go
// (what a server answers),
// view.go (View: the objects that policies see), fields.go and extract.go (Schemas and Operand, for editors), convert.go and
// migrate.go (policies in other forms) and verify.go (whether two forms are equivalent).
package engine
