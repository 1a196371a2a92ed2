"""What an agent's client says of its library: name, version and template text, so that its prompt is foretold exactly."""

# No postponed annotations here: ninja reads them in the module of the scope check, where these schemas are not known.
from django.http import HttpRequest
from ninja import Router, Schema

from memoryhub.api.base import ERRORS, Given, needs
from memoryhub.domain import prompts
from memoryhub.errors import Forbidden

router = Router()


class Report(Given):
    library: str
    version: str
    text: str


class Kept(Schema):
    form: str
    version: str
    sha256: str
    bytes: int
    known: bool


@router.post("/templates", response={200: Kept, **ERRORS}, summary="Report the library's template")
@needs("prompt")
def report(request: HttpRequest, report: Report) -> Kept:
    """By an agent's token. A text that is not a published one counts for that agent alone."""
    agent = request.auth.agent
    if agent is None:
        raise Forbidden("Only an agent's client reports its template.", code="agents_only")
    kept = prompts.report_template(agent, report.version, report.text, library=report.library)
    return Kept(
        form=kept.form,
        version=kept.version,
        sha256=kept.sha256,
        bytes=len(kept.text.encode()),
        known=kept.is_known,
    )
