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


class TemplateOut(Schema):
    form: str
    version: str
    sha256: str
    bytes: int
    known: bool


@router.post("/templates", response={200: TemplateOut, **ERRORS}, summary="Report the library's template")
@needs("prompt")
def report(request: HttpRequest, report: Report) -> TemplateOut:
    """By an agent's token. A text that is not a published one counts for that agent alone."""
    agent = request.auth.agent
    if agent is None:
        raise Forbidden("Only an agent's client reports its template.", code="agents_only")
    template = prompts.report_template(agent, report.version, report.text, library=report.library)
    return TemplateOut(
        form=template.form,
        version=template.version,
        sha256=template.sha256,
        bytes=len(template.text.encode()),
        known=template.is_known,
    )
