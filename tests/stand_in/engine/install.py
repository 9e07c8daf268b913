# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Put the stand-in engine into a directory that then only has to be on sys.path: `install.py DEST [--version V]`.

DEST gets the packages `sglang` and `memfabric_hybrid`, the command grammars, the metadata that
`importlib.metadata.version("sglang")` reads, and `stand-in.json` with the defaults given by --knob. A second run
replaces what an earlier one put there.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = {"sglang": None, "memfabric_hybrid": "1.0.0"}


def main(argv=None):
    """Install."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dest", type=Path, help="directory to fill; made where it does not exist")
    parser.add_argument(
        "--version", default="0.5.13.post1", help="the SGLang version to stand for (default: %(default)s)"
    )
    parser.add_argument(
        "--engines", type=Path, help="directory with sglang-<version>.json (default: the clone's engines/)"
    )
    parser.add_argument(
        "--knob", action="append", default=[], metavar="NAME=VALUE", help="a default of this installation"
    )
    chosen = parser.parse_args(argv)
    engines = chosen.engines or next(parent / "engines" for parent in HERE.parents if (parent / "engines").is_dir())
    install(chosen.dest, chosen.version, engines, dict(knob.split("=", 1) for knob in chosen.knob))


def install(dest, version, engines, knobs):
    """Fill `dest`; see the module."""
    wanted = Path(engines, f"sglang-{version}.json")
    if not wanted.is_file():
        raise SystemExit(f"install.py: no command grammar for SGLang {version}: {wanted} does not exist")
    dest.mkdir(parents=True, exist_ok=True)
    for old in (*dest.glob("sglang-*.dist-info"), *dest.glob("memfabric_hybrid-*.dist-info"), dest / "grammar"):
        shutil.rmtree(old, ignore_errors=True)
    for package, own_version in PACKAGES.items():
        shutil.rmtree(dest / package, ignore_errors=True)
        shutil.copytree(HERE / package, dest / package, ignore=shutil.ignore_patterns("__pycache__"))
        _write_metadata(dest, package, own_version or version)
    (dest / "grammar").mkdir()
    for grammar in (*Path(engines).glob("sglang-[0-9]*.json"), *Path(engines).glob("sglang-bench-serving-*.json")):
        shutil.copy(grammar, dest / "grammar" / grammar.name)
    values = {"version": version, **{name: _typed(text) for name, text in knobs.items()}}
    (dest / "stand-in.json").write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


def _write_metadata(dest, package, version):
    info = dest / f"{package}-{version}.dist-info"
    info.mkdir()
    name = package.replace("_", "-")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    (info / "INSTALLER").write_text("stand-in\n", encoding="utf-8")
    (info / "top_level.txt").write_text(f"{package}\n", encoding="utf-8")
    (info / "RECORD").write_text("", encoding="utf-8")


def _typed(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


if __name__ == "__main__":
    main()
