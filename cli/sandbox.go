package cli

import (
	"context"

	"ypcrawl/checkpoint"
)

// judgeSandboxes decides on the sources of the run that are in the sandbox, and tells.
// What can't be decided now is decided after the next run.
func (r *run) judgeSandboxes(ctx context.Context) {
	for _, c := range r.sources {
		stage, text, err := r.keeper.JudgeSandbox(context.WithoutCancel(ctx), c.scope.SourceID)
		switch {
		case err != nil:
			r.log.Warn().Err(err).Msg("the sandbox was not judged")
		case stage == checkpoint.StageReview && text != "":
			r.log.Warn().Msg(text)
		case text != "":
			r.log.Info().Msg(text)
		}
	}
}
