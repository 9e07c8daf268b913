# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the command line to serving: the phases of a start, in the real engine's order."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import sys
import time
from pathlib import Path

from sglang.stand_in import (
    api,
    bootstrap,
    endings,
    grammar,
    hccl,
    http,
    interfaces,
    loading,
    log,
    npus,
    store,
    texts,
    transfer,
    warmup,
    wire,
    zbal,
)
from sglang.stand_in.engine import DRAINING, READY, Engine, Model
from sglang.stand_in.knobs import Knobs, UnknownKnobError
from sglang.stand_in.metrics import Metrics
from sglang.stand_in.rendezvous import Group, RendezvousError
from sglang.stand_in.settings import Settings, SettingsError, check

# Where `crash_at` and `hang_at` may point, in order; `request` is each request.
PHASES = ("start", "dist", "load", "graph", "transfer", "warmup", "ready", "request")


class ChildError(Exception):
    """What the real engine's scheduler process dies of, which takes the server with it."""


def main(argv):
    """Be one SGLang server process."""
    try:
        knobs = Knobs()
        version = str(knobs.get("version"))
        flags = grammar.load(grammar.find(version, knobs.get("grammar")))
        for name in ("crash_at", "hang_at"):
            if knobs.get(name) not in (None, *PHASES):
                raise UnknownKnobError(f"stand-in: {name}: no phase is named {knobs.get(name)!r}; there are {PHASES}")
    except (UnknownKnobError, grammar.GrammarNotFoundError, ValueError) as error:
        sys.exit(str(error))
    log.raw(texts.STILL_SUPPORTED)
    settings = Settings(grammar.parse(flags, argv), version)
    knobs.role = settings.role
    try:
        Server(settings, knobs).run()
    except SettingsError as error:
        log.raw(texts.traceback("sglang/launch_server.py", 57, f"{error.kind}: {error}"))
        sys.exit(1)


class Server:
    """One process of one server."""

    def __init__(self, settings, knobs):
        self.settings = settings
        self.knobs = knobs
        self.group = Group(settings)
        self.model = Model(settings.args["model_path"])
        self.endings = endings.Endings(settings, knobs, self.group)
        self.engine = None
        self._derived = []

    def run(self):
        """Start, serve, and never return."""
        settings = self.settings
        self._look_for_models()
        check(settings)
        self._look_for_cann()
        shown = ", ".join(f"{name}={value!r}" for name, value in api.shown_args(settings).items())
        log.line(f"server_args=ServerArgs({shown})")
        for text in endings.lines(self.knobs.get("log_line")):
            log.line(text)
        log.set_rank(settings.rank_label)
        try:
            self._start()
        except ChildError as error:
            self.endings.of_child(str(error))
        while True:
            signal.pause()

    # Before anything is started

    def _look_for_models(self):
        for name in ("model_path", "speculative_draft_model_path"):
            path = self.settings.args[name]
            if path is not None and not Path(path, "config.json").is_file():
                log.raw(texts.no_model(path, Path(path).is_dir()))
                sys.exit(1)

    def _look_for_cann(self):
        """Without the vendor's environment torch_npu does not load; a machine without CANN has none to miss."""
        cann = Path(self.knobs.get("cann_dir"))
        for part, variable, library in (
            (cann, "ASCEND_HOME_PATH", "libhccl.so"),
            (cann / "nnal", "ATB_HOME_PATH", "libatb.so"),
        ):
            if self.settings.is_npu and part.is_dir() and not self.settings.env.get(variable):
                log.raw(texts.no_library(library))
                sys.exit(1)

    # The phases

    def _start(self):
        settings, knobs = self.settings, self.knobs
        self.endings.on_phase("start")
        if settings.mode == "prefill" and settings.rank == 0:
            self._serve_bootstrap()
        self._open_derived_ports()
        time.sleep(knobs.seconds("start_seconds"))
        self.endings.on_phase("dist")
        self._join()
        self.endings.on_phase("load")
        try:
            loading.load(settings, knobs, self.model)
        except loading.LoadError as error:
            raise ChildError(str(error)) from None
        self.endings.on_phase("graph")
        loading.capture(settings, knobs, self.model)
        self.endings.on_phase("transfer")
        endpoint = self._open_transfer() if settings.mode != "null" else None
        self.engine = self.endings.engine = Engine(
            settings, knobs, self.group, endpoint, self.model, Metrics(settings), self.endings
        )
        if endpoint and settings.mode == "prefill":
            bootstrap.register(settings, endpoint.address, endpoint.port)
        self.group.barrier("loaded")
        if settings.rank == 0:
            self._serve()
        else:
            self._serve_dummy()

    def _serve_bootstrap(self):
        if self.settings.args["disaggregation_transfer_backend"] == "ascend":
            # Every prefill tries to create the store; who may not goes on as a client, without a word.
            with contextlib.suppress(store.StoreError):
                store.create(self.settings.env.get("ASCEND_MF_STORE_URL"))
        bootstrap.serve(self.settings)

    def _open_derived_ports(self):
        """With DP attention the controller's sockets: three of the range behind dist-init's port, or http + 233."""
        settings = self.settings
        if settings.attention_dp == 1 or settings.rank != 0:
            return
        host, base = settings.dist_init or ("127.0.0.1", settings.port + 233)
        for port in (base + 1, base + 2, base + 5):
            try:
                self._derived.append(wire.listen(host, port))
            except OSError as error:
                raise ChildError(texts.cannot_bind_zmq(f"{host}:{port}", error)) from None

    def _join(self):
        settings = self.settings
        if not settings.is_newer:
            log.rank("Init torch distributed begin.")
        begun = time.monotonic()
        try:
            npus.hold(settings, self.knobs.get("npu_dir"))
            hccl.check_environment(settings)
            interfaces.check(settings)
            self.group.on_peer_gone = self.endings.of_peer
            self.group.join()
            if self.knobs.get("hccl_ports"):
                self._derived += hccl.open_ports(settings)
            if zbal.is_wanted(settings):
                zbal.start(settings, self.group, self.knobs.seconds("zbal_timeout_seconds"))
        except (npus.NpuError, hccl.HcclError, interfaces.InterfaceError, RendezvousError) as error:
            raise ChildError(str(error)) from None
        except zbal.ZbalError:
            log.rank("[ZBAL] zbal init failed!")
            self.endings.of_child(None)
        if settings.world > 1:
            peers = settings.world - 1
            log.raw(
                f"[Gloo] Rank {settings.local_tp_ranks[0]} is connected to {peers} peer ranks. "
                f"Expected number of connected peer ranks is : {peers}\n"
            )
        if not settings.is_newer:
            log.rank(f"Init torch distributed ends. elapsed={time.monotonic() - begun:.2f} s, mem usage=0.61 GB")

    def _open_transfer(self):
        settings = self.settings
        backend = settings.args["disaggregation_transfer_backend"]
        number = None
        if backend == "ascend":
            if importlib.util.find_spec("memfabric_hybrid") is None:
                raise ChildError("ModuleNotFoundError: No module named 'memfabric_hybrid'")
            try:
                number = store.join(settings.env.get("ASCEND_MF_STORE_URL"))
            except store.StoreError:
                log.rank(texts.TRANSFER_ENGINE)
                raise ChildError(f"RuntimeError: {texts.TRANSFER_ENGINE}") from None
        elif backend != "fake" and settings.is_npu:
            # mooncake, the default, is no part of an installation for NPUs.
            raise ChildError(texts.NO_MOONCAKE)
        endpoint = transfer.Endpoint(settings, self.knobs, number)
        try:
            endpoint.open()
        except OSError as error:
            raise ChildError(texts.cannot_bind_zmq(f"{endpoint.address}:*", error)) from None
        return endpoint

    # Serving

    def _serve_dummy(self):
        host, port = self.settings.host, self.settings.port
        try:
            http.Server(host, port, api.dummy).start()
        except OSError as error:
            log.uvicorn(texts.cannot_bind(host, port, error), "ERROR")
            self.endings.kill(0.5)
        log.line(f"Dummy health check server started in background thread at {host}:{port}")
        self.endings.handle_signals()

    def _serve(self):
        settings = self.settings
        log.uvicorn(f"Started server process [{os.getpid()}]")
        log.uvicorn("Waiting for application startup.")
        log.uvicorn("Application startup complete.")
        self.endings.handle_signals()
        try:
            http.Server(settings.host, settings.port, api.Api(self.engine).application).start()
        except OSError as error:
            self._go_without_port(error)
        log.uvicorn(f"Uvicorn running on {settings.url} (Press CTRL+C to quit)")
        self.endings.on_phase("warmup")
        if not settings.args["skip_server_warmup"]:
            self._warm_up()
        if self.engine.state != DRAINING:
            self.engine.state = READY
        log.line("The server is fired up and ready to roll!")
        if self.knobs.get("leave_child"):
            endings.leave_child()
        self.endings.on_phase("ready")

    def _go_without_port(self, error):
        """The web server gives up, while the warm-up asks whoever has the port, and believes the answer."""
        log.uvicorn(texts.cannot_bind(self.settings.host, self.settings.port, error), "ERROR")
        log.uvicorn("Waiting for application shutdown.")
        self._warm_up()
        log.line("The server is fired up and ready to roll!")
        log.uvicorn("Application shutdown complete.")
        time.sleep(self.knobs.seconds("port_taken_seconds"))
        status = int(self.knobs.get("port_taken_status"))
        if status != 137:
            self.endings.kill(status=status)
        log.line(texts.DETOKENIZER_GONE.format(pid=os.getpid() + 2))
        self.endings.of_child(None)

    def _warm_up(self):
        failure = warmup.run(self.settings, self.knobs)
        if failure:
            log.line(f"Initialization failed. warmup error: {failure}")
            self.endings.kill(0.2)
