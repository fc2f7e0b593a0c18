// Package engine runs mutating policies on manifests. Compile turns policies into a Set.
// Set.Run runs them on the manifests of files and edits these in place: the result is what an
// API server with the policies would have made, and every change names who made it. Set.Admit
// does the same for one object in memory. Frontends use nothing else of the engine. Its only
// state is what it is given: no cluster, no network, no clock.
//
// Laws, for a manifest M and policies P:
//
//	an API server without P, given Run(M, P), holds the object that one with P holds, given M
//	Run(Run(M, P), P) is Run(M, P), or there is a diagnostic
//	the bytes of a manifest that no policy changes are its input bytes
//	the changes applied to the admission view before give the one after
//	the edits applied to the manifest give the output, and each has a cause
//	the bytes and the diagnostics do not depend on the number of processors
//
// A run has stages. A stage is complete before the next one that needs it begins, and no stage
// takes back what an earlier one has found. The files are in the order of the stages:
//
//	options.go, policies.go    what is asked for, and what looks like a policy
//	compile.go                 policies become programs, each with its hook (Compile, Set)
//	run.go, job.go             Set.Run: a job for every manifest, and the stages in order
//	directories.go             a run for each directory, if that is asked for
//	sort.go, place.go          what each document is, and where a cluster would keep it
//	trees.go                   mutation trees change manifests as they are written
//	context.go, names.go       what policies may look up, and names in them that are not known
//	schedule.go                in which order jobs begin, and what one waits for
//	admit.go, trace.go         the server: one object, all passes, a record of what happened
//	confide.go                 policies that have read something sensitive
//	updates.go                 policies that would have changed an object in a cluster
//	follow.go                  policies that change other objects after all are admitted
//	write.go                   from the trace back to the manifest
//	normalize.go               manifests as a server stores them, if that is asked for
//	observe.go                 more than the result: explain.go and attribute.go (who changed
//	                           what), replay.go (the policies on their own output), check.go
//	                           and effects.go (mistakes, conflicts, orders), coverage.go
//	                           (what has run)
//	pods.go                    what controllers make of the manifests, down to the Pods
//	say.go, outcome.go         the outcome, without the values of Secrets
//
// Some files are doors of their own: object.go (Set.Admit), view.go (View: what policies see),
// fields.go (Fields, for editors), convert.go and migrate.go (policies in other forms) and
// verify.go (whether two forms are the same).
package engine
