package lsp

import (
	"slices"

	"go.lsp.dev/protocol"
)

// abilities are what a client can do besides what every client can.
type abilities struct {
	// watches: tell about files that change. showsDocuments: show a document on request.
	watches, showsDocuments bool
	// actions: take actions that are no commands. disabled: show those that are not possible, with the reason.
	// resolves: ask for the edits of an action when the user chooses it.
	actions, disabled, resolves bool
	// documentChanges: take edits with the versions of files. creates: create files.
	documentChanges, creates bool
}

// abilitiesOf reads what a client says about itself.
func abilitiesOf(c *protocol.ClientCapabilities) (a abilities) {
	is := func(value *bool) bool { return value != nil && *value }
	if w := c.Workspace; w != nil {
		a.watches = w.DidChangeWatchedFiles != nil && is(w.DidChangeWatchedFiles.DynamicRegistration)
		if e := w.WorkspaceEdit; e != nil {
			a.documentChanges = is(e.DocumentChanges)
			a.creates = a.documentChanges && slices.Contains(e.ResourceOperations, protocol.ResourceOperationKindCreate)
		}
	}
	if w := c.Window; w != nil {
		a.showsDocuments = w.ShowDocument != nil && w.ShowDocument.Support
	}
	if t := c.TextDocument; t != nil && t.CodeAction != nil {
		a.actions = len(t.CodeAction.CodeActionLiteralSupport.CodeActionKind.ValueSet) > 0
		a.disabled = is(t.CodeAction.DisabledSupport)
		a.resolves = is(t.CodeAction.DataSupport) && slices.Contains(t.CodeAction.ResolveSupport.Properties, "edit")
	}
	return a
}
