"""The reconciler: evidence in, facts out.

Theory of operation. A run's evidence says what engines announced (attempts with
processes, directories, commands) and what tracers saw (process images, epochs
of identity within them, touches of files, channels). ``reconcile`` decides, in
this order and each step from the ones before only:

1. ``attempts``   which tries of which tasks there were, and how they ended;
2. ``attribute``  whose each epoch is: every piece of evidence is kept, the
                  strongest decides, the others agree or contradict;
3. ``versions``   the contents that each file had between its writers, and
                  which of them each read met;
4. ``derive``     which content was made from which, where a path in time
                  through memory, fork and channels proves it;
5. ``coverage``   how much of all that is known, and the Gaps.

It is a pure function: no file, clock, thread or library; it imports
``provio.model`` alone. The same evidence in any order gives equal facts: every
step sorts what it reads by its own content. Bad evidence becomes Gaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from provio.model.facts import Facts
from provio.reconcile.attempts import find_attempts, run_state
from provio.reconcile.attribute import SiteRule, attribute
from provio.reconcile.coverage import cover, find_gaps
from provio.reconcile.derive import derive
from provio.reconcile.versions import find_versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from provio.model.evidence import Evidence

__all__ = ["SiteRule", "reconcile"]


def reconcile(evidence: Evidence, site_rules: Sequence[SiteRule] = ()) -> Facts:
    """Return everything that the evidence of one run proves or leaves open.

    Args:
        evidence: of one run; the order within its sequences does not matter.
        site_rules: attribution rules of plugins (``provio_attempt_of``), asked
            for epochs that the built-in evidence leaves open.
    """
    events = sorted(evidence.events, key=lambda e: (e.stamp.real, e.stamp.mono, e.type, repr(e)))
    images = {i.image: i for i in evidence.images}
    epochs = sorted(evidence.epochs, key=lambda e: e.epoch)
    attempts = find_attempts(events, images.values(), epochs, evidence.run, over=evidence.over)
    attributions = attribute(evidence, events, images, epochs, attempts, site_rules)
    found = find_versions(evidence, events, images, epochs)
    derivations, left_out = derive(evidence, images, epochs, attributions, found)
    gaps = [*left_out, *find_gaps(evidence, events, images, epochs, attempts, attributions, found)]
    return Facts(
        state=run_state(events, over=evidence.over),
        attempts=tuple(attempts.values()),
        attributions=tuple(attributions),
        versions=tuple(found.versions),
        accesses=tuple(found.accesses),
        derivations=tuple(derivations),
        coverage=cover(epochs, images.values(), attributions),
        gaps=tuple(gaps),
    )
