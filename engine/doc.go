// Package engine runs mutating policies on manifests. Compile turns policies into a
// Set; Set.Run takes manifests to an Outcome: the same manifests, changed as an API
// server with these policies would change them, and for every change who made it.
// Set.Admit does the same for one object that is not in a file. The package is the only
// door for the frontends, and has no state besides what it is given: no cluster, no
// network, no clock.
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
// A run is a row of stages. Each is complete before what needs it begins, and none takes
// back what one before it has found. The files are in that order:
//
//	options.go, policies.go    what is asked for, and what looks like a policy
//	compile.go                 policies become programs, each with its hook (Compile, Set)
//	run.go, job.go             Set.Run: a job for every manifest, and the stages in order
//	sort.go, place.go          what each document is, and where a cluster would keep it
//	trees.go                   mutation trees change manifests as they are written
//	context.go                 what policies may look up, by identity
//	schedule.go                in which order jobs begin, and what one waits for
//	normalize.go               manifests as a server stores them, if that is asked for
//	admit.go, trace.go         the server: one object, all passes, a record of what happened
//	follow.go                  policies that change other objects when all are admitted
//	write.go                   from the trace back to the manifest
//	observe.go                 who wants to know more: explain.go and attribute.go, replay.go
//	                           (the policies on their own output), check.go (mistakes,
//	                           fights, orders)
//	pods.go                    what controllers make of the manifests, down to the Pods
//	say.go, outcome.go         all that leaves, without the values of Secrets
//
// Besides: object.go (Set.Admit: one object that is not in a file), view.go (View: what
// policies see, and no more) and convert.go (policies in other forms).
package engine
