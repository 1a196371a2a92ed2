"""Letters of other alphabets that common fonts draw like a Latin one."""

from __future__ import annotations

CYRILLIC = dict(zip("аеѕіјорсԁухһԛԝАВЕЅІЈКМНОРСТУХЗҮ", "aesijopcdyxhqwABESIJKMHOPCTYX3Y", strict=True))
GREEK = dict(zip("αινορυχϲΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aivopuxcABEZHIKMNOPTYX", strict=True))
LOOKALIKES = CYRILLIC | GREEK
