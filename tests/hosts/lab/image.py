# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base image: the root file system that all hosts stand on. It stays on the machine between runs."""

from __future__ import annotations

import hashlib
import pathlib
import platform
import re
import shutil
import subprocess
import sys

from lab.settings import CACHE, HOSTS, SUITE, LabError

PACKAGES = (
    "systemd,systemd-sysv,libpam-systemd,dbus,openssh-server,python3,python3-apt,iproute2,iputils-ping,procps,kmod,"
    "curl,sudo,nftables,ca-certificates,util-linux,e2fsprogs,less,libibverbs1,libnuma1"
)
# What has no place on a test host, or would reach for the network.
MASKED = [
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "console-getty.service",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty@tty1.service",
    # All hosts share root's inotify instances on the machine, 128 as a rule: nothing may take one that need not.
    "systemd-ask-password-console.path",
    "systemd-ask-password-wall.path",
    "user@.service",
]


def key(*parts: str | bytes) -> str:
    """A short name for a recipe: another recipe, another image."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else part.encode())
    return digest.hexdigest()[:12]


def base_image() -> pathlib.Path:
    """Where the base image of this recipe is, built or not."""
    return CACHE / f"image-{SUITE}-{key(pathlib.Path(__file__).read_bytes())}"


def sources(machine: str, codename: str, suite: str = SUITE) -> str:
    """The machine's own Debian archive, whatever its mirror, as sources for `suite`.

    `machine` is the text of its deb822 files. Only stanzas of its own release are taken: other vendors' archives
    have nothing for a test host.
    """
    taken = []
    for stanza in re.split(r"\n\s*\n", machine):
        suites = re.search(r"^Suites:(.*)$", stanza, re.MULTILINE)
        if suites and suites.group(1).split()[0] in (codename, f"{codename}-security"):
            taken.append(re.sub(rf"\b{re.escape(codename)}\b", suite, stanza))
    return "\n\n".join(taken)


def one_line_sources(machine: str, codename: str, suite: str = SUITE) -> str:
    """The same for the older sources.list form."""
    lines = [
        re.sub(rf"\b{re.escape(codename)}\b", suite, line)
        for line in machine.splitlines()
        if re.match(rf"deb\s(.*\s)?{re.escape(codename)}(-security|-updates)?(/updates)?\s", line)
    ]
    return "\n".join(lines)


def _machine_sources() -> str:
    release = platform.freedesktop_os_release()
    codename = release.get("VERSION_CODENAME", SUITE)
    folder = pathlib.Path("/etc/apt/sources.list.d")
    deb822 = "\n\n".join(path.read_text() for path in sorted(folder.glob("*.sources")))
    lists = [pathlib.Path("/etc/apt/sources.list"), *sorted(folder.glob("*.list"))]
    one_line = "\n".join(path.read_text() for path in lists if path.exists())
    found = sources(deb822, codename) or one_line_sources(one_line, codename)
    if release.get("ID") != "debian" or not found:
        raise LabError("the base image comes from a Debian machine's own package sources; /etc/apt has none")
    return found


def build_base_image() -> None:
    """Build the base root file system, unless it is there (20 to 30 s)."""
    image = base_image()
    if (image / ".complete").exists():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(image, ignore_errors=True)
    drop_old("image-*")
    print(f"labhosts: building the base image {image}", file=sys.stderr)
    command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(image), "-"]
    try:
        subprocess.run(command, input=_machine_sources(), text=True, check=True)
    except subprocess.CalledProcessError as error:
        shutil.rmtree(image, ignore_errors=True)
        raise LabError(f"mmdebstrap ended with {error.returncode} and built no base image; see above") from error
    _prepare(image)
    (image / ".complete").touch()


def _prepare(image: pathlib.Path) -> None:
    (image / "etc/default/locale").write_text("LANG=C.UTF-8\n")
    (image / "etc/ssh/sshd_config.d/test-hosts.conf").write_text("UseDNS no\nMaxStartups 100\nMaxSessions 100\n")
    # With no resolver a look-up fails at once; the builder's is out of the hosts' reach.
    (image / "etc/resolv.conf").write_text("")
    (image / "etc/machine-id").write_text("")
    # A journal that outlives a reboot.
    (image / "var/log/journal").mkdir(exist_ok=True)
    shutil.rmtree(image / "var/cache/apt/archives", ignore_errors=True)
    for unit in MASKED:
        (image / "etc/systemd/system" / unit).unlink(missing_ok=True)
        (image / "etc/systemd/system" / unit).symlink_to("/dev/null")


def drop_old(pattern: str) -> None:
    """Remove what earlier recipes left, except what a host stands on."""
    in_use = {path.read_text().strip() for path in HOSTS.glob("*/uses")}
    used = {line for text in in_use for line in text.splitlines()}
    for path in CACHE.glob(pattern):
        if str(path) not in used:
            shutil.rmtree(path, ignore_errors=True)
