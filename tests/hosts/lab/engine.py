# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real SGLang in a virtual environment of the hosts' Python, installed once on the machine; and its tiny model.

The engine runs on a CPU. What that needs of us (`tests/real/site`) is copied when a host is made.
"""

from __future__ import annotations

import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

from lab import image
from lab.router import python_with_pip
from lab.settings import CACHE, HERE, PROJECT, PYTHON, LabError, run

REQUIREMENTS = HERE.parent / "engine-requirements.txt"
SITE = PROJECT / "tests" / "real" / "site"
MODEL = PROJECT / "tests" / "real" / "model.py"
# Where the hosts have it; ours is first on the path of its Python, the router last.
PLACE = "/opt/sglang-engine"
SITE_PLACE = "/opt/sglang-on-cpu"
MODEL_PLACE = "models/tiny"
PATHS = f"import sys; sys.path.insert(0, {SITE_PLACE!r}); import sglang_on_cpu\n"
# What bookworm's C library can load, the newest first.
PLATFORMS = [f"manylinux_2_{minor}" for minor in range(36, 16, -1)] + ["manylinux2014"]

# All hosts stand on the base image: nothing may write into it. Python's parallel workers need /dev/shm.
_COMPILE = """
mount --bind "$2" "$2"
mount -o remount,bind,ro "$2"
mount -t tmpfs tmpfs "$2/dev/shm"
mount --bind "$1" "$2/mnt"
exec chroot "$2" /usr/bin/python3 -I -m compileall -q -j 2 -s /mnt -p "$3" /mnt/lib
"""


def packages() -> pathlib.Path:
    """Where the virtual environment is, installed or not."""
    return CACHE / f"engine-{image.key(PYTHON, REQUIREMENTS.read_bytes(), PATHS)}"


def install(router: str) -> None:
    """Install it, unless it is there (two to three minutes, 3.2 GB). `router` is where the hosts have the router."""
    target = packages()
    if (target / ".complete").exists():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    image.drop_old("engine-*")
    print(f"labhosts: installing the real engine into {target}", file=sys.stderr)
    site = target / "lib" / f"python{PYTHON}" / "site-packages"
    site.mkdir(parents=True)
    (target / "bin").mkdir()
    for name in ("python", "python3"):
        (target / "bin" / name).symlink_to(f"/usr/bin/python{PYTHON}")
    (target / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    _fill(site)
    (site / "test-hosts.pth").write_text(f"{PATHS}{router}\n")
    compile_all(target)
    (target / ".complete").touch()


def _fill(site: pathlib.Path) -> None:
    platforms = [f"--platform={tag}_{platform.machine()}" for tag in PLATFORMS]
    for_hosts = ["--only-binary=:all:", f"--python-version={PYTHON}", "--implementation=cp", *platforms, "--no-compile"]
    pip = [python_with_pip(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *for_hosts]
    # Pinned whole: SGLang itself asks for all that a GPU needs. pip unpacks all of it first, and /tmp may be memory.
    with tempfile.TemporaryDirectory(dir=CACHE) as unpacked:
        run(*pip, "--no-deps", f"--target={site}", "-r", REQUIREMENTS, env={**os.environ, "TMPDIR": unpacked})
    if list(site.glob("torch/lib/libtorch_cuda*")):
        raise LabError(
            "pip found torch's build for CUDA, which cannot be loaded here. Let pip find the CPU build of the version "
            f"in {REQUIREMENTS.name} (PIP_FIND_LINKS, PIP_EXTRA_INDEX_URL or PIP_INDEX_URL)"
        )


def compile_all(target: pathlib.Path) -> None:
    """Byte code by the hosts' own Python: there the folder is read-only.

    Python is isolated (-I): PYTHONPYCACHEPREFIX, which the Makefile sets, would put all of it elsewhere.
    """
    words = ["unshare", "--mount", "--propagation=private", "sh", "-ec", _COMPILE, "sh"]
    # Some packages carry files for other versions of Python, which do not compile; that matters to nobody.
    done = subprocess.run(
        [*words, str(target), str(image.base_image()), PLACE],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if not list(target.glob(f"lib/*/site-packages/sglang/__pycache__/*.cpython-{PYTHON.replace('.', '')}.pyc")):
        said = "\n".join(done.stdout.splitlines()[-5:])
        raise LabError(
            f"the base image's Python compiled nothing of the engine in {target}; it ended with "
            f"{done.returncode}: {said}"
        )


def furnish(folder: pathlib.Path, upper: pathlib.Path) -> list[str]:
    """Put what is a host's own into its folder and disk; how systemd-nspawn binds the engine and it."""
    shutil.copytree(SITE, folder / "on-cpu", ignore=shutil.ignore_patterns("__pycache__"))
    run(sys.executable, MODEL, upper / MODEL_PLACE)
    return [f"--bind-ro={packages()}:{PLACE}", f"--bind-ro={folder / 'on-cpu'}:{SITE_PLACE}"]
