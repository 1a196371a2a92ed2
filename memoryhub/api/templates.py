"""What an agent's client says of its library: name, version and template text, so that its prompt is foretold exactly."""

# No postponed annotations here: ninja reads them in the module of the scope check, where these schemas are not known.
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema, Status

from memoryhub.api.base import ERRORS, Given, needs, shown
from memoryhub.api.layers import Pending
from memoryhub.domain import proposals
from memoryhub.errors import Forbidden
from memoryhub.models import Proposal, Scope

router = Router()


class Report(Given):
    library: str
    version: str
    text: str


class TemplateOut(Schema):
    form: str
    version: str
    sha256: str
    bytes: int
    known: bool


@router.post("/templates", response={200: TemplateOut, 202: Pending, **ERRORS}, summary="Report the library's template")
@needs("prompt")
def report(request: HttpRequest, report: Report) -> Any:
    """By an agent's token. A published text is taken; any other waits for a person, which takes the scope `propose` as well."""
    caller = request.auth
    if caller.agent is None:
        raise Forbidden("Only an agent's client reports its template.", code="agents_only")
    given = proposals.report_template(
        caller.agent, report.version, report.text, library=report.library,
        before_asking=lambda: caller.need(Scope.PROPOSE),
    )  # fmt: skip
    if isinstance(given, Proposal):
        return Status(202, {"status": "pending", "proposal": shown(caller, given)})
    return Status(200, {
        "form": given.form, "version": given.version, "sha256": given.sha256, "bytes": len(given.text.encode()),
        "known": given.is_known,
    })  # fmt: skip
