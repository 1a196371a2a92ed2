"""`make messages`: both catalogues as the source has it now, and how much is not translated yet.

Files of JSON named behind it, {"msgid": "Chinese"}, are merged in; of a message with a plural the key is "msgid|||plural".
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.messages import catalogue


def main(names: list[str]) -> None:
    chinese = catalogue.updated("zh_Hans")
    for name in names:
        for key, text in json.loads(Path(name).read_text()).items():
            one = chinese.get(key.partition("|||")[0])
            if one is not None and text:
                one.string = (text,) if one.pluralizable else text
    catalogue.write("en", catalogue.updated("en"))
    catalogue.write("zh_Hans", chinese)
    print(f"{len(chinese)} messages, {len(catalogue.missing(chinese))} of them without a Chinese translation.")


if __name__ == "__main__":
    main(sys.argv[1:])
