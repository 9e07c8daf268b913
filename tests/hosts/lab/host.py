# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One host: made, powered on and off, and destroyed. Its disk is a folder; all else goes with its processes."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field

from lab import cgroups, engine, fakes, image, network, router
from lab.settings import (
    CONTROL_PATHS,
    HERE,
    HOSTS,
    MANAGEMENT,
    NETWORKS,
    ROOTFS,
    SSH_KEY,
    STAND_IN_INSTALLER,
    LabError,
    locked,
    run,
)

STAND_IN = "/opt/sglang-stand-in"
ROUTER = "/opt/sglang-router"
KERNEL = "/opt/test-host-kernel"
NPU_FILES = "var/lib/stand-in-npus"
# CANN's own links; not in rootfs, since a collection must not hold links to folders.
LINKS = {
    "usr/local/Ascend/cann": "cann-9.0.0",
    "usr/local/Ascend/ascend-toolkit/latest": "../cann-9.0.0",
    "usr/local/Ascend/ascend-toolkit/set_env.sh": "../cann/set_env.sh",
}
SITE_FILE = "usr/local/lib/python3.11/dist-packages/test-hosts.pth"


@dataclass(frozen=True)
class Host:
    """What a host was made with. `name` is unique on the machine; `hostname` is what it calls itself."""

    name: str
    number: int
    hostname: str
    npus: int = 16
    engine: str = "0.5.13.post1"
    real: bool = False
    knobs: list[str] = field(default_factory=list)
    kernel: str = "new"
    governors: list[str] = field(default_factory=lambda: ["schedutil", "performance", "powersave"])
    nspawn: list[str] = field(default_factory=list)

    @property
    def folder(self) -> pathlib.Path:
        """Its place on the machine."""
        return HOSTS / self.name

    @property
    def running(self) -> bool:
        """Whether it has power."""
        return bool(cgroups.processes(self.name))


def load(name: str) -> Host:
    """A host by its name."""
    try:
        return Host(**json.loads((HOSTS / name / "host.json").read_text()))
    except FileNotFoundError as error:
        have = ", ".join(names()) or "none"
        raise LabError(f"no test host {name!r}; there are: {have}") from error


def names() -> list[str]:
    """Every host on the machine, with power or without."""
    return sorted(path.parent.name for path in HOSTS.glob("*/host.json"))


def shared(real: bool = False) -> None:
    """Make what all hosts share, unless it is there; `real`: the engine itself, too."""
    with locked("image"):
        image.build_base_image()
        router.download()
        if real:
            engine.install(ROUTER)


def up(host: Host) -> None:
    """Make a host and power it on. A host of that name without power is what a broken run left: it is replaced."""
    _check(host)
    shared(host.real)
    with locked():
        for other in map(load, names()):
            if other.number == host.number and other.name != host.name and other.running:
                raise LabError(f"number {host.number} is that of {other.name}, which is up; take another number")
        if host.running:
            raise LabError(f"{host.name} is up already; `labhosts down {host.name}` first")
        _destroy(host)
        network.build_bridges()
        _ssh_key()
        _fill(host)
        _power_on(host)


def _check(host: Host) -> None:
    if not 2 <= host.number <= 254:
        raise LabError(f"{host.name}: number {host.number} is the last part of its addresses, from 2 to 254")
    if not host.name.replace("-", "").isalnum() or len(host.name) > 40:
        raise LabError(f"{host.name!r} is no name for a host: letters, digits and dashes, at most 40")
    if host.kernel not in fakes.KERNELS:
        raise LabError(f"{host.name}: kernel {host.kernel!r} is none of {', '.join(fakes.KERNELS)}")


def _ssh_key() -> None:
    if not SSH_KEY.exists():
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test-hosts", "-f", SSH_KEY)
    CONTROL_PATHS.mkdir(mode=0o700, exist_ok=True)


def _fill(host: Host) -> None:
    """Write all of the host's folder; host.json last, as the sign that it is whole."""
    folder, upper = host.folder, host.folder / "upper"
    shutil.copytree(ROOTFS, upper, symlinks=True)
    # An overlay's root has the mode of its upper folder, and sshd refuses a root folder that others may write.
    upper.chmod(0o755)
    (upper / "root/.ssh").mkdir(parents=True, mode=0o700)
    (upper / "root").chmod(0o700)
    (upper / "root/.ssh/authorized_keys").write_bytes(SSH_KEY.with_suffix(".pub").read_bytes())
    (upper / "root/.ssh/authorized_keys").chmod(0o600)
    (upper / "etc").mkdir(exist_ok=True)
    (upper / "etc/hostname").write_text(f"{host.hostname}\n")
    (upper / "etc/hosts").write_text(
        f"127.0.0.1 localhost\n::1 localhost ip6-localhost\n{MANAGEMENT.address(host.number)} {host.hostname}\n"
    )
    for link_name, target in LINKS.items():
        (upper / link_name).parent.mkdir(exist_ok=True)
        (upper / link_name).symlink_to(target)
    for npu in range(host.npus):
        (upper / NPU_FILES).mkdir(parents=True, exist_ok=True)
        (upper / NPU_FILES / f"davinci{npu}").touch()
    site = upper / SITE_FILE
    site.parent.mkdir(parents=True)
    if host.real:
        # As where SGLang is in a virtual environment: the system's own Python has none.
        site.write_text(f"{ROUTER}\n")
        engines, used = engine.furnish(folder, upper), [engine.packages()]
    else:
        site.write_text(f"{STAND_IN}\n{ROUTER}\n")
        stand_in = folder / "stand-in"
        knobs = [f"--knob={knob}" for knob in host.knobs]
        run(sys.executable, STAND_IN_INSTALLER, stand_in, f"--version={host.engine}", *knobs)
        engines, used = [f"--bind-ro={stand_in}:{STAND_IN}"], []
    (folder / "kernel").mkdir()
    fakes.build(folder / "pristine", host.hostname, host.kernel, host.governors)
    arguments = [f"--bind={folder / 'kernel'}:{KERNEL}"]
    arguments += [*engines, f"--bind-ro={router.packages()}:{ROUTER}", *host.nspawn]
    (folder / "arguments").write_text("".join(f"{argument}\n" for argument in arguments))
    (folder / "uses").write_text("".join(f"{path}\n" for path in (image.base_image(), router.packages(), *used)))
    lines = [
        "|".join((net.interface, net.bridge, net.cable(host.number), net.address(host.number), net.mac(host.number)))
        for net in NETWORKS
    ]
    (folder / "cables").write_text("".join(f"{line}\n" for line in lines))
    (folder / "host.json").write_text(json.dumps(asdict(host)))


def boot(name: str) -> None:
    """Power a host on again: same disk, same addresses."""
    host = load(name)
    with locked():
        if host.running:
            raise LabError(f"{name} has power already")
        network.build_bridges()
        _power_on(host)


def _power_on(host: Host) -> None:
    folder = host.folder
    network.pull_cables(host.number)
    cgroups.create(host.name)
    base = (folder / "uses").read_text().splitlines()[0]
    arguments = (folder / "arguments").read_text().splitlines()
    with (folder / "console.log").open("ab") as console:
        supervisor = subprocess.Popen(
            ["unshare", "--mount", "--propagation=private", str(HERE.parent / "power"),
             str(folder), host.name, base, *arguments],
            stdin=subprocess.PIPE, stdout=console, stderr=subprocess.STDOUT, text=True, start_new_session=True, cwd="/",
            env={"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), "HOSTNAME_INSIDE": host.hostname},
        )  # fmt: skip
    try:
        cgroups.enter(host.name, supervisor.pid)
        # Into its cgroups first: what it starts before would stay outside.
        with supervisor.stdin as line:
            line.write("go\n")
    except OSError as error:
        supervisor.kill()
        raise LabError(f"{host.name} does not start: {error}; its console:\n{_console(host)}") from error


def cut(name: str) -> None:
    """Take a host's power away: no process of it gets a chance to tidy up. The disk stays."""
    host = load(name)
    cgroups.kill(name)
    network.pull_cables(host.number)


def down(wanted: list[str]) -> None:
    """Destroy hosts; with the last one go the bridges and the key. A host that does not exist is destroyed already."""
    with locked():
        for name in wanted:
            if name in names():
                _destroy(load(name))
        if not names():
            network.remove_bridges()
            shutil.rmtree(HOSTS, ignore_errors=True)
            shutil.rmtree(CONTROL_PATHS, ignore_errors=True)
            SSH_KEY.unlink(missing_ok=True)
            SSH_KEY.with_suffix(".pub").unlink(missing_ok=True)


def _destroy(host: Host) -> None:
    _hang_up(host)
    cgroups.kill(host.name)
    network.pull_cables(host.number)
    # host.json first: a folder without it is rubbish to everyone who looks.
    (host.folder / "host.json").unlink(missing_ok=True)
    shutil.rmtree(host.folder, ignore_errors=True)


def _hang_up(host: Host) -> None:
    """End the ssh connections that Ansible keeps open to this host."""
    for socket in CONTROL_PATHS.glob(f"{MANAGEMENT.address(host.number)}-*"):
        subprocess.run(
            ["ssh", "-F", "none", "-o", f"ControlPath={socket}", "-O", "exit", "host"], capture_output=True, check=False
        )
        socket.unlink(missing_ok=True)


def ssh_command(host: Host) -> list[str]:
    """How to log in, leaving nothing in anyone's known_hosts."""
    return [
        # No one's own configuration; without -F ssh makes ~/.ssh where there is none.
        "ssh", "-F", "none", "-i", str(SSH_KEY), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
        "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
        "-o", "ConnectTimeout=1", f"root@{MANAGEMENT.address(host.number)}",
    ]  # fmt: skip


def wait(wanted: list[str], limit: float = 60) -> None:
    """Wait until every host's ssh answers and its boot is done, with no unit failed."""
    for host in map(load, wanted):
        end = time.monotonic() + limit
        while True:
            # With a job that never ends it would wait for ever.
            state = f"timeout {limit:.0f} systemctl is-system-running --wait; systemctl --failed --plain --no-legend"
            done = subprocess.run(
                [*ssh_command(host), state],
                capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            if done.stdout.startswith("running"):
                break
            if done.stdout.startswith("degraded"):
                raise LabError(f"{host.name} booted with failed units: {done.stdout.removeprefix('degraded').strip()}")
            if time.monotonic() > end or not host.running:
                raise LabError(f"{host.name} did not come up; its console:\n{_console(host)}")
            time.sleep(0.1)


def _console(host: Host, lines: int = 25) -> str:
    with contextlib.suppress(OSError):
        return "\n".join((host.folder / "console.log").read_text(errors="replace").splitlines()[-lines:])
    return "(none)"


def execute(name: str, command: list[str]) -> int:
    """Run a command in the host without ssh; returns its status."""
    load(name)
    enter = ["nsenter", "--all", f"--target={cgroups.leader(name)}", "--"]
    return subprocess.run([*enter, *command], check=False).returncode


def ssh(name: str, command: list[str]) -> int:
    """Log in, or run a command over ssh; returns its status."""
    return subprocess.run([*ssh_command(load(name)), *command], check=False).returncode


def link(name: str, interface: str, state: str) -> None:
    """Pull or plug a cable."""
    if state not in ("up", "down"):
        raise LabError(f"a link goes up or down, not {state!r}")
    network.set_link(load(name).number, interface, state)
