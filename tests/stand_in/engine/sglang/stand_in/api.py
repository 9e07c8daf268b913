# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The server's endpoints: which answer belongs to which path, and when."""

from __future__ import annotations

import json
import threading
import time

from sglang.stand_in import generation, http, log, texts
from sglang.stand_in.engine import CRASHING, DRAINING, READY, STARTING, RequestError

OPEN_WITHOUT_KEY = ("/health", "/metrics")


class Api:
    """The application of rank 0."""

    def __init__(self, engine):
        self.engine = engine
        self.settings = engine.settings
        self.routes = {
            ("GET", "/"): lambda request: http.json_response("SGLang is running"),
            ("GET", "/health"): self._health,
            ("GET", "/health_generate"): self._health,
            ("GET", "/ping"): lambda request: http.Response(),
            ("GET", "/model_info"): self._model_info,
            ("GET", "/get_model_info"): self._model_info,
            ("GET", "/server_info"): self._server_info,
            ("GET", "/get_server_info"): self._server_info,
            ("GET", "/v1/models"): self._models,
            ("GET", "/v1/loads"): self._loads,
            ("POST", "/generate"): generation.Native(engine).answer,
            ("PUT", "/generate"): generation.Native(engine).answer,
            ("POST", "/v1/completions"): generation.Completions(engine).answer,
            ("POST", "/v1/chat/completions"): generation.Chat(engine).answer,
            ("POST", "/flush_cache"): self._flush_cache,
            ("GET", "/flush_cache"): self._flush_cache,
            ("POST", "/abort_request"): self._abort,
        }
        if self.settings.is_newer:
            self.routes["GET", "/ready"] = lambda request: http.Response(200 if engine.state == READY else 503)
        else:
            self.routes["GET", "/get_load"] = self._get_load
        if self.settings.args["enable_metrics"]:
            self.routes["GET", "/metrics"] = lambda request: http.text_response(
                engine.metrics.text(engine), content_type="text/plain; version=0.0.4; charset=utf-8"
            )

    def application(self, request):
        """Answer one request."""
        response = self._answer(request)
        self.engine.metrics.answered(request.path, request.method, response.status)
        return response

    def _answer(self, request):
        if self.engine.state == CRASHING:
            # The port still takes connections, and nobody answers any more.
            threading.Event().wait()
        key = self.settings.args["api_key"]
        if (
            key
            and not request.path.startswith(OPEN_WITHOUT_KEY)
            and request.headers.get("Authorization") != f"Bearer {key}"
        ):
            return http.json_response({"error": "Unauthorized"}, 401)
        route = self.routes.get((request.method, request.path))
        if route is None and request.method == "GET" and request.path.startswith("/v1/models/"):
            return self._model(request.path[len("/v1/models/") :])
        if route is None:
            known = any(path == request.path for _unused, path in self.routes)
            return http.json_response({"detail": "Method Not Allowed" if known else "Not Found"}, 405 if known else 404)
        try:
            return route(request)
        except RequestError as error:
            return http.text_response(error.message, error.status, vary=False)

    def _health(self, request):
        engine = self.engine
        if engine.state == DRAINING:
            log.line("Health check request received during shutdown. Returning 503.")
            return http.Response(503)
        if engine.state == STARTING:
            return http.Response(503)
        time.sleep(engine.knobs.seconds("health_seconds"))
        if engine.state == CRASHING:
            threading.Event().wait()
        return http.Response(200 if engine.state == READY else 503)

    def _model_info(self, request):
        self._note_old_name(request, "/get_model_info", "/model_info")
        args, model = self.settings.args, self.engine.model
        info = {
            "model_path": args["model_path"],
            "tokenizer_path": args["tokenizer_path"] or args["model_path"],
            "is_generation": True,
            "preferred_sampling_params": args["preferred_sampling_params"],
            "weight_version": args["weight_version"],
            "has_image_understanding": bool(args["enable_multimodal"]),
            "has_audio_understanding": False,
            "model_type": model.model_type,
            "architectures": model.architectures,
        }
        if self.settings.is_newer:
            info.update(
                served_model_name=self.settings.model_name,
                load_format=args["load_format"],
                reasoning_parser=args["reasoning_parser"],
                tool_call_parser=args["tool_call_parser"],
                disaggregation_mode=args["disaggregation_mode"],
            )
        return http.json_response(info)

    def _server_info(self, request):
        self._note_old_name(request, "/get_server_info", "/server_info")
        settings, engine = self.settings, self.engine
        shown = shown_args(settings)
        info = {
            **shown,
            "status": "ready" if engine.state == READY else engine.state,
            "max_total_num_tokens": engine.max_total_tokens,
            "max_req_input_len": engine.context_length - 6,
            "stat_loggers": None,
        }
        extra = {
            "last_gen_throughput": 0.0,
            "memory_usage": {"weight": 0.0, "kvcache": 0.0, "token_capacity": engine.max_total_tokens, "graph": 0},
            "effective_max_running_requests_per_dp": (settings.args["max_running_requests"] or 2048)
            // settings.attention_dp,
        }
        info["internal_states"] = [{**shown, **extra} for _unused in range(settings.dp)]
        info.update(version=settings.version, kv_events=None)
        if settings.is_newer:
            info.update(
                startup_time={"load_weight": 0.0, "scheduler_e2e": 0.0, "tokenizer_e2e": 0.0}, frontend="python"
            )
        return http.json_response(info)

    def _card(self):
        name = self.settings.model_name
        return {
            "id": name,
            "object": "model",
            "created": int(time.time()),
            "owned_by": "sglang",
            "root": name,
            "parent": None,
            "max_model_len": self.engine.context_length,
        }

    def _models(self, request):
        return http.json_response({"object": "list", "data": [self._card()]})

    def _model(self, name):
        if name == self.settings.model_name:
            return http.json_response(self._card())
        error = {
            "message": f"The model '{name}' does not exist",
            "type": "invalid_request_error",
            "param": "model",
            "code": "model_not_found",
        }
        return http.json_response({"error": error}, 404)

    def _get_load(self, request):
        self._note_old_name(request, "/get_load", "/v1/loads")
        running = self.engine.metrics.running
        return http.json_response(
            [
                {
                    "dp_rank": rank,
                    "num_reqs": running if rank == 0 else 0,
                    "num_waiting_reqs": 0,
                    "num_tokens": 0,
                    "num_pending_tokens": 0,
                    "ts_tic": time.monotonic(),
                }
                for rank in range(self.settings.dp)
            ]
        )

    def _loads(self, request):
        loads = [self._load(rank) for rank in range(self.settings.dp)]
        return http.json_response({"timestamp": http.utc_now(), "version": self.settings.version, "loads": loads})

    def _load(self, rank):
        engine, args = self.engine, self.settings.args
        nothing = ("num_waiting_reqs", "num_waiting_uncached_tokens", "num_used_tokens", "num_total_tokens")
        idle = ("token_usage", "gen_throughput", "cache_hit_rate", "utilization")
        queues = ("waiting", "grammar", "paused", "retracted")
        if self.settings.is_newer:
            nothing += ("num_active_tokens", "num_prealloc_ready_tokens")
            nothing += ("total_prefill_uncached_tokens", "total_prefill_busy_us")
            queues += ("prealloc_ready",)
        load = {
            "dp_rank": rank,
            "num_running_reqs": engine.metrics.running if rank == 0 else 0,
            **dict.fromkeys(nothing, 0),
            "max_total_num_tokens": engine.max_total_tokens,
            "max_running_requests": args["max_running_requests"] or 2048,
            **dict.fromkeys(idle, 0.0),
            "memory": {
                "weight_gb": 0.0,
                "kv_cache_gb": 0.0,
                "graph_gb": 0.0,
                "token_capacity": engine.max_total_tokens,
            },
            "disaggregation": {
                "mode": self.settings.mode,
                "prefill_bootstrap_queue_reqs": 0,
                "prefill_inflight_queue_reqs": 0,
                "decode_prealloc_queue_reqs": 0,
                "decode_transfer_queue_reqs": 0,
                "decode_retracted_queue_reqs": 0,
                "kv_transfer_speed_gb_s": 0.0,
                "kv_transfer_latency_ms": 0.0,
            },
            "queues": dict.fromkeys(queues, 0),
        }
        if self.settings.is_newer:
            load.update(timestamp=time.time(), decode_moments=[0.0] * 6)
        return load

    def _flush_cache(self, request):
        log.line("Cache flushed successfully!")
        return http.Response(200, texts.CACHE_FLUSHED.encode())

    def _abort(self, request):
        try:
            body = json.loads(request.body or b"{}")
        except ValueError:
            body = {}
        self.engine.abort(None if body.get("abort_all") else body.get("rid", ""))
        return http.Response()

    def _note_old_name(self, request, old, new):
        if request.path == old:
            log.line(
                f"Endpoint '{old}' is deprecated and will be removed in a future version. Please use '{new}' instead."
            )


def shown_args(settings):
    """The server's arguments as it shows them, keys and passwords with them: in its log and in /server_info."""
    shown = dict(settings.args)
    if settings.mode == "prefill":
        shown["load_balance_method"] = "follow_bootstrap_room"
    elif shown.get("load_balance_method") == "auto":
        shown["load_balance_method"] = "round_robin"
    for name in ("tokenizer_path", "served_model_name"):
        shown[name] = shown[name] or shown["model_path"]
    return shown


def dummy(request):
    """The health server of nodes other than rank 0: it says that the node has loaded, and nothing else."""
    if request.method == "GET" and request.path in ("/health", "/health_generate", "/ping"):
        return http.Response()
    return http.json_response({"detail": "Not Found"}, 404)
