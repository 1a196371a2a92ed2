from memoryhub import detectors


def findings_of(code: str, text: str, **more: object) -> list[detectors.Finding]:
    """What one detector finds in a text."""
    return detectors.find(text, only=(code,), **more)  # type: ignore[arg-type]
