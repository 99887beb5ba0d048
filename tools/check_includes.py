#!/usr/bin/env python3
"""The direction of the folders of src/: a file may include its own folder and those below it.

base <- json, tensor <- text, grammar, media, ops <- chat, backends, model, cache <- engine <- api <- server <- app.
Only app/wiring.cc may name a backend.
"""
import pathlib
import re
import sys

BELOW = {
    "base": set(),
    "json": {"base"},
    "tensor": {"base", "json"},
    "text": {"base", "json", "tensor"},
    "grammar": {"base", "json", "tensor"},
    "media": {"base", "json", "tensor"},
    "ops": {"base", "json", "tensor"},
}
BELOW["chat"] = {"base", "json", "tensor", "text", "grammar", "media"}
BELOW["backends"] = {"base", "json", "tensor", "ops"}
BELOW["model"] = {"base", "json", "tensor", "media", "ops"}
BELOW["cache"] = {"base", "json", "tensor", "ops"}
BELOW["engine"] = {"base", "json", "tensor", "text", "grammar", "media", "ops", "model", "cache"}
BELOW["api"] = BELOW["engine"] | {"chat", "engine"}
BELOW["server"] = BELOW["api"] | {"api"}
BELOW["app"] = BELOW["server"] | {"server"}
BACKEND_USERS = {"app/wiring.cc"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent / "src"
    errors = []
    for path in sorted(root.rglob("*")):
        if path.suffix not in {".cc", ".h", ".cu", ".cuh", ".inc"}:
            continue
        name = path.relative_to(root).as_posix()
        folder = name.split("/")[0]
        if folder not in BELOW:
            errors.append(f"{name}: the folder {folder} has no place in the order")
            continue
        for target in INCLUDE.findall(path.read_text(encoding="utf-8")):
            other = target.split("/")[0]
            if not (root / target).is_file():
                errors.append(f'{name}: "{target}" is not a path from src/')
            elif other == "backends" and folder != "backends":
                if name not in BACKEND_USERS:
                    errors.append(f'{name}: only app/wiring.cc may include "{target}"')
            elif other != folder and other not in BELOW[folder]:
                errors.append(f'{name}: {folder} may not know "{target}"')
    print("\n".join(errors) or "include direction: ok")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
