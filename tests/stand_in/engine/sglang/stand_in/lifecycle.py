# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the command line to the end: the phases of a start in their real order, and how the engine dies."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from sglang.stand_in import api, bootstrap, grammar, http, interfaces, log, npus, store, transfer, wire, zbal
from sglang.stand_in.engine import CRASHING, DRAINING, READY, Engine, Model
from sglang.stand_in.knobs import Knobs, UnknownKnobError
from sglang.stand_in.metrics import Metrics
from sglang.stand_in.rendezvous import Group, RendezvousError
from sglang.stand_in.settings import Settings, SettingsError, check, is_loopback, split_address

# Where `crash_at` and `hang_at` may point, in order.
PHASES = ("start", "dist", "load", "graph", "transfer", "warmup", "ready")
WARMUP = {"sampling_params": {"temperature": 0.0, "max_new_tokens": 8, "ignore_eos": True}}


class ChildError(Exception):
    """What the real engine's scheduler process dies of, which takes the server with it."""


def main(argv):
    """Be one SGLang server process."""
    try:
        knobs = Knobs()
        version = str(knobs.get("version"))
        flags = grammar.load(grammar.find(version, knobs.get("grammar")))
    except (UnknownKnobError, grammar.GrammarNotFoundError, ValueError) as error:
        sys.exit(str(error))
    log.raw(
        "sglang/launch_server.py:54: UserWarning: 'python -m sglang.launch_server' is still supported, but 'sglang serve' is the recommended entrypoint.\n"
        "  Example: sglang serve --model-path <model> [options]\n  warnings.warn(\n"
    )
    settings = Settings(grammar.parse(flags, argv), version)
    knobs.role = settings.role
    try:
        Server(settings, knobs).run()
    except SettingsError as error:
        log.raw(
            f'Traceback (most recent call last):\n  File "sglang/launch_server.py", line 1, in <module>\n{error.kind}: {error}\n'
        )
        sys.exit(1)


class Server:
    """One process of one server."""

    def __init__(self, settings, knobs):
        self.settings = settings
        self.knobs = knobs
        self.group = Group(settings)
        self.engine = None
        self._ports = []
        self._dying = threading.Lock()

    def run(self):
        """Start, serve, and never return."""
        settings = self.settings
        self._look_for_model()
        check(settings)
        self._look_for_cann()
        log.line(
            f"server_args=ServerArgs({', '.join(f'{name}={value!r}' for name, value in api.shown_args(settings).items())})"
        )
        for text in _lines(self.knobs.get("log_line")):
            log.line(text)
        log.set_rank(settings.rank_label)
        try:
            self._start()
        except ChildError as error:
            self._die_of_child(str(error))
        while True:
            signal.pause()

    # Before anything is started

    def _look_for_model(self):
        for name in ("model_path", "speculative_draft_model_path"):
            path = self.settings.args[name]
            if path is None or Path(path, "config.json").is_file():
                continue
            if Path(path).is_dir():
                text = f"OSError: {path} does not appear to have a file named config.json. Checkout 'https://huggingface.co/{path}/tree/main' for available files."
            elif path.startswith("/"):
                text = f"OSError: Repo id must use alphanumeric chars, '-', '_' or '.'. The name cannot start or end with '-' or '.' and the maximum length is 96: '{path}'."
            else:
                text = f"OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.\nCheck your internet connection: '{path}'"
            log.raw(
                f'Traceback (most recent call last):\n  File "transformers/utils/hub.py", line 473, in cached_files\n    raise OSError(f"{{e}}") from e\n{text}\n'
            )
            sys.exit(1)

    def _look_for_cann(self):
        """Without the vendor's environment torch_npu does not load; a machine without CANN has none to miss."""
        if (
            self.settings.is_npu
            and Path(self.knobs.get("cann_dir")).is_dir()
            and not self.settings.env.get("ASCEND_HOME_PATH")
        ):
            log.raw(
                'Traceback (most recent call last):\n  File "torch_npu/__init__.py", line 1, in <module>\n    import torch_npu._C\n'
                "ImportError: libhccl.so: cannot open shared object file: No such file or directory. Please check that the cann package is installed. "
                "Please run 'source set_env.sh' in the CANN installation path.\n"
            )
            sys.exit(1)

    # The phases

    def _start(self):
        settings, knobs = self.settings, self.knobs
        self._phase("start")
        if settings.mode == "prefill" and settings.rank == 0:
            self._serve_bootstrap()
        self._open_derived_ports()
        time.sleep(knobs.seconds("start_seconds"))
        self._phase("dist")
        self._join()
        self._phase("load")
        self._load()
        self._phase("graph")
        self._capture()
        self._phase("transfer")
        endpoint = self._open_transfer() if settings.mode != "null" else None
        self.engine = Engine(
            settings, knobs, self.group, endpoint, Model(settings.args["model_path"]), Metrics(settings), self._crash
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
            try:
                store.create(self.settings.env.get("ASCEND_MF_STORE_URL"))
            except store.StoreError:
                pass
        bootstrap.serve(self.settings, self.settings.world)

    def _open_derived_ports(self):
        """With DP attention the controller's sockets: three of the range behind dist-init's port, or behind http + 233."""
        settings = self.settings
        if settings.attention_dp == 1 or settings.rank != 0:
            return
        host, base = settings.dist_init if settings.dist_init else ("127.0.0.1", settings.port + 233)
        for port in (base + 1, base + 2, base + 5):
            try:
                self._ports.append(wire.listen(host, port))
            except OSError as error:
                raise ChildError(f"zmq.error.ZMQError: {error.strerror} (addr='tcp://{host}:{port}')") from None

    def _join(self):
        settings = self.settings
        if not settings.is_newer:
            log.rank("Init torch distributed begin.")
        begun = time.monotonic()
        try:
            npus.hold(settings, self.knobs.get("npu_dir"))
            if settings.is_npu and settings.env.get("RANK_TABLE_FILE"):
                raise ChildError(
                    f"RuntimeError: ERR02200 DIST call hccl api failed.\nEI0004: The ranktable or rank is invalid: {settings.env['RANK_TABLE_FILE']}"
                )
            interfaces.check(settings)
            self.group.on_peer_gone = self._on_peer_gone
            self.group.join()
            if settings.is_npu and self.knobs.get("hccl_ports"):
                self._open_hccl_ports()
            if zbal.is_wanted(settings):
                zbal.start(settings, self.group, self.knobs.seconds("zbal_timeout_seconds"))
        except (npus.NpuError, interfaces.InterfaceError, RendezvousError) as error:
            raise ChildError(str(error)) from None
        except zbal.ZbalError:
            log.rank("[ZBAL] zbal init failed!")
            self._die_of_child("SystemExit: -1", told=True)
        if settings.nnodes > 1 or settings.world > 1:
            peers = settings.world - 1
            log.raw(
                f"[Gloo] Rank {settings.local_tp_ranks[0]} is connected to {peers} peer ranks. Expected number of connected peer ranks is : {peers}\n"
            )
        if not settings.is_newer:
            log.rank(f"Init torch distributed ends. elapsed={time.monotonic() - begun:.2f} s, mem usage=0.61 GB")

    def _open_hccl_ports(self):
        """HCCL's host ports, from 60000 or where the environment moves them: one a rank of this node, if there is more than one."""
        settings = self.settings
        if settings.world == 1:
            return
        given = settings.env.get("HCCL_HOST_SOCKET_PORT_RANGE") or settings.env.get("HCCL_IF_BASE_PORT") or "60000"
        first = given.split(",")[0].split("-")[0]
        if not first.isdigit():
            return
        host = settings.host if not is_loopback(settings.host) else "127.0.0.1"
        for port in range(int(first), int(first) + settings.npus_per_node):
            try:
                self._ports.append(wire.listen(host, port, 1))
            except OSError:
                if not _is_listening(host, port):
                    continue  # somebody's outgoing connection has it for the moment
                raise ChildError(
                    "RuntimeError: ERR02200 DIST call hccl api failed.\n"
                    f"EI0019: socket type[2], listen on ip[{host}] and specific port[{port}] fail. "
                    "Please check the port status and whether the port is being used by other process."
                ) from None

    def _load(self):
        settings, knobs = self.settings, self.knobs
        log.rank("Load weight begin. avail mem=60.86 GB")
        extra = settings.args["model_loader_extra_config"]
        if isinstance(extra, str):
            try:
                json.loads(extra)
            except ValueError as error:
                raise ChildError(f"json.decoder.JSONDecodeError: {error}") from None
        shards = knobs.get("shards") or len(list(Path(settings.args["model_path"]).glob("*.safetensors"))) or 163
        seconds = knobs.seconds("load_seconds")
        begun = time.monotonic()
        ends = "\n" if knobs.get("progress_newlines") else ""
        steps = min(shards, max(1, int(seconds * 4)))
        for step in range(steps + 1):
            done = shards * step // steps
            elapsed = time.monotonic() - begun
            rate = done / elapsed if elapsed > 0 and done else None
            left = (shards - done) / rate if rate else None
            log.raw(
                f"{'' if ends else chr(13)}Loading safetensors checkpoint shards: {done * 100 // shards:3d}% Completed | {done}/{shards} "
                f"[{_clock(elapsed)}<{_clock(left) if left is not None else '?'}, {f'{rate:5.2f}' if rate else '?'}it/s]{ends}"
            )
            if step < steps:
                time.sleep(seconds / steps)
        log.raw("\n")
        model = Model(settings.args["model_path"])
        log.rank(
            f"Load weight end. elapsed={time.monotonic() - begun:.2f} s, type={(model.architectures or ['Unknown'])[0]}, avail mem=18.02 GB, mem usage=42.84 GB."
        )
        log.rank("Using KV cache dtype: torch.bfloat16")
        log.rank("KV Cache is allocated. dtype: torch.bfloat16, #tokens: 65536, KV size: 6.60 GB")
        log.rank("Memory pool end. avail mem=10.90 GB")

    def _capture(self):
        settings = self.settings
        if settings.mode != "prefill" and not settings.args["disable_cuda_graph"]:
            name = "target decode NPU graph" if settings.is_newer else "npu graph"
            log.rank(f"Capture {name} begin. This can take up to several minutes. avail mem=10.88 GB")
            time.sleep(self.knobs.seconds("graph_seconds"))
            log.rank(
                f"Capture {name} end. Time elapsed: {self.knobs.seconds('graph_seconds'):.2f} s. mem usage=0.92 GB. avail mem=9.96 GB."
            )
        args = settings.args
        log.rank(
            f"max_total_num_tokens={args['max_total_tokens'] or 65536}, chunked_prefill_size={args['chunked_prefill_size'] or 8192}, max_prefill_tokens={args['max_prefill_tokens']}, "
            f"max_running_requests={args['max_running_requests'] or 2048}, context_len={args['context_length'] or Model(args['model_path']).context_length}, available_gpu_mem=9.96 GB"
        )

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
                log.rank("Ascend Transfer Engine initialization failed.")
                raise ChildError("RuntimeError: Ascend Transfer Engine initialization failed.") from None
        elif backend != "fake" and settings.is_npu:
            raise ChildError(
                "ImportError: Please install mooncake by following the instructions at "
                "https://kvcache-ai.github.io/Mooncake/getting_started/build.html to run SGLang with MooncakeTransferEngine."
            )
        endpoint = transfer.Endpoint(settings, self.knobs, number)
        try:
            endpoint.open()
        except OSError as error:
            raise ChildError(f"zmq.error.ZMQError: {error.strerror} (addr='tcp://{endpoint.address}:*')") from None
        return endpoint

    def _serve_dummy(self):
        settings = self.settings
        try:
            http.Server(settings.host, settings.port, api.dummy).start()
        except OSError as error:
            log.uvicorn(
                f"[Errno {error.errno}] error while attempting to bind on address ({settings.host!r}, {settings.port}): {error.strerror.lower()}",
                "ERROR",
            )
            self._kill(0.5)
        log.line(f"Dummy health check server started in background thread at {settings.host}:{settings.port}")
        self._handle_signals()

    def _serve(self):
        settings = self.settings
        log.uvicorn(f"Started server process [{os.getpid()}]")
        log.uvicorn("Waiting for application startup.")
        log.uvicorn("Application startup complete.")
        try:
            http.Server(settings.host, settings.port, api.Api(self.engine).application).start()
        except OSError as error:
            self._port_is_taken(error)
        log.uvicorn(f"Uvicorn running on {settings.url} (Press CTRL+C to quit)")
        self._handle_signals()
        self._phase("warmup")
        if not settings.args["skip_server_warmup"]:
            failure = self._warm_up()
            if failure:
                log.line(f"Initialization failed. warmup error: {failure}")
                self._kill(0.2)
        if self.engine.state != DRAINING:
            self.engine.state = READY
        log.line("The server is fired up and ready to roll!")
        if self.knobs.get("leave_child"):
            _leave_child()
        self._phase("ready")

    def _port_is_taken(self, error):
        """The web server gives up, while the warm-up asks whoever has the port, and believes the answer."""
        settings = self.settings
        log.uvicorn(
            f"[Errno {error.errno}] error while attempting to bind on address ({settings.host!r}, {settings.port}): {error.strerror.lower()}",
            "ERROR",
        )
        log.uvicorn("Waiting for application shutdown.")
        failure = self._warm_up()
        if failure:
            log.line(f"Initialization failed. warmup error: {failure}")
            self._kill(0.2)
        log.line("The server is fired up and ready to roll!")
        log.uvicorn("Application shutdown complete.")
        time.sleep(self.knobs.seconds("port_taken_seconds"))
        log.line("Subprocess detokenizer crashed with exit code -9. Triggering SIGQUIT for cleanup...")
        log.line("Received sigquit from a child process. It usually means the child failed.")
        self._kill(0)

    def _warm_up(self):
        """Ask the server itself; what went wrong, or None. Like the real engine's `requests` this heeds proxies."""
        headers = {"Content-Type": "application/json"}
        if self.settings.args["api_key"]:
            headers["Authorization"] = f"Bearer {self.settings.args['api_key']}"
        deadline = time.monotonic() + self.knobs.seconds("warmup_retry_seconds")
        while True:
            try:
                with urllib.request.urlopen(
                    urllib.request.Request(f"{self.settings.url}/model_info", headers=headers), timeout=5
                ):
                    break
            except (OSError, ValueError) as error:
                if time.monotonic() > deadline:
                    return f"{type(error).__name__}: {error}"
                time.sleep(1)
        time.sleep(self.knobs.seconds("warmup_seconds"))
        if self.settings.mode == "null":
            body = {**WARMUP, "text": "The capital city of France is"}
        else:
            log.line("Start of pd disaggregation warmup ...")
            body = {
                **WARMUP,
                "bootstrap_host": [transfer.FAKE_HOST],
                "bootstrap_room": [0],
                "input_ids": [[10, 11, 12, 13]],
            }
        try:
            request = urllib.request.Request(f"{self.settings.url}/generate", json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request, timeout=600 if self.settings.mode == "null" else 1800) as answer:
                text = json.load(answer)
        except (OSError, ValueError) as error:
            return f"{type(error).__name__}: {error}"
        if self.settings.mode != "null":
            log.line(f"Disaggregation warmup request completed with status 200, resp: {text}")
            log.line("End of disaggregation warmup")
        return None

    # How it ends

    def _handle_signals(self):
        signal.signal(signal.SIGTERM, lambda *_: self._on_term())
        signal.signal(signal.SIGQUIT, lambda *_: self._on_quit())

    def _on_quit(self):
        log.line("Received sigquit from a child process. It usually means the child failed.")
        self._kill(0)

    def _on_term(self):
        if self.settings.rank:
            wire.thread(lambda: self._kill(0), "term")
            return
        log.line("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
        if self.engine.state not in (DRAINING, CRASHING):
            self.engine.state = DRAINING
            wire.thread(self._drain, "drain")

    def _drain(self):
        while True:
            time.sleep(self.knobs.seconds("drain_poll_seconds"))
            remaining = self.engine.remaining()
            if not remaining:
                break
            log.line(
                f"Gracefully exiting... Remaining number of requests {len(remaining)}. Remaining requests remaining_rids={remaining}."
            )
        self.group.say_goodbye()
        status = self.knobs.get("exit_code_on_term")
        if status is None:
            status = 0 if self.settings.is_newer else 137
        self._kill(0, status)

    def _on_peer_gone(self, rank, said_so):
        if not self._dying.acquire(blocking=False):
            return
        if said_so:
            log.line("Received sigquit from a child process. It usually means the child failed.")
            self._kill(0)
        address = self.settings.dist_init[0]
        log.rank(
            "Scheduler hit an exception: Traceback (most recent call last):\n"
            '  File "sglang/srt/managers/scheduler.py", line 4062, in run_scheduler_process\n    scheduler.run_event_loop()\n'
            f"RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [{address}]. This is typically caused by a remote worker crashing. "
            "Check the logs of the remote worker before reporting an error.\n"
        )
        log.line("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
        if self.engine:
            self.engine.state = CRASHING
        log.line("Sleeping 5 seconds before crash diagnostics to let GPU activity settle.")
        time.sleep(self.knobs.seconds("peer_death_seconds"))
        log.line("No live scheduler processes found; skipping py-spy and CUDA coredump.")
        self._kill(0)

    def _crash(self):
        """One request has killed the scheduler: the port stays, nobody answers, and after a good minute the process goes."""
        if self._dying.acquire(blocking=False):
            self.engine.state = CRASHING
            wire.thread(self._crash_slowly, "crash")
        threading.Event().wait()

    def _crash_slowly(self):
        seconds = self.knobs.seconds("crash_seconds")
        log.rank(
            "Scheduler hit an exception: Traceback (most recent call last):\n"
            '  File "sglang/srt/utils/network.py", line 442, in __post_init__\n    if self.host.startswith("[") and self.host.endswith("]"):\n'
            "AttributeError: 'NoneType' object has no attribute 'startswith'\n"
        )
        log.line("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
        log.line("Sleeping 5 seconds before crash diagnostics to let GPU activity settle.")
        time.sleep(min(5.0, seconds))
        log.line(f"Pyspy failed (py-spy dump --native --pid {os.getpid()}). Error: /bin/sh: 1: py-spy: not found")
        log.line("Waiting 60.0 seconds for CUDA coredumps before exiting.")
        time.sleep(max(0.0, seconds - 5.0))
        self._kill(0)

    def _die_of_child(self, text, told=False):
        if not told:
            log.rank(
                f'Scheduler hit an exception: Traceback (most recent call last):\n  File "sglang/srt/managers/scheduler.py", line 3999, in run_scheduler_process\n{text}\n'
            )
        log.line("Received sigquit from a child process. It usually means the child failed.")
        self._kill(0.3)

    def _kill(self, after, status=137):
        """End the process: by SIGKILL to itself, as the real one does, or with a status."""
        time.sleep(after)
        if status == 137:
            log.line(f"kill_process_tree called: parent_pid={os.getpid()}, include_parent=True, pid={os.getpid()}")
            os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait()
        sys.stderr.flush()
        os._exit(status)

    def _phase(self, name):
        if self.knobs.get("crash_at") == name:
            text = self.knobs.get("crash_line")
            for line in _lines(text):
                log.rank(line)
            status = int(self.knobs.get("crash_status"))
            if status == 137:
                self._die_of_child("RuntimeError: told to fail", told=text is not None)
            self._kill(0, status)
        if self.knobs.get("hang_at") == name:
            threading.Event().wait()


def _lines(value):
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _clock(seconds):
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


def _is_listening(host, port):
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def _leave_child():
    """A child that outlives its parent: in a session of its own, deaf to SIGTERM, with all that the parent holds open."""
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            signal.pause()
