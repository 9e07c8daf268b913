# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the real engine prints when something is wrong: its words, so that what reads logs reads the real ones."""

from __future__ import annotations

STILL_SUPPORTED = (
    "sglang/launch_server.py:54: UserWarning: 'python -m sglang.launch_server' is still supported, "
    "but 'sglang serve' is the recommended entrypoint.\n"
    "  Example: sglang serve --model-path <model> [options]\n  warnings.warn(\n"
)
SIGQUIT = "Received sigquit from a child process. It usually means the child failed."
CRASH_DIAGNOSTICS = (
    "SIGQUIT received. signum=None, frame=None. It usually means one child failed.",
    "Sleeping 5 seconds before crash diagnostics to let GPU activity settle.",
)
NO_HOST = (
    '  File "sglang/srt/utils/network.py", line 442, in __post_init__\n'
    '    if self.host.startswith("[") and self.host.endswith("]"):\n'
    "AttributeError: 'NoneType' object has no attribute 'startswith'\n"
)
DETOKENIZER_GONE = "Subprocess detokenizer (pid={pid}) crashed with exit code -9. Triggering SIGQUIT for cleanup..."
NO_MOONCAKE = (
    "ImportError: Please install mooncake by following the instructions at "
    "https://kvcache-ai.github.io/Mooncake/getting_started/build.html to run SGLang with MooncakeTransferEngine."
)
TRANSFER_ENGINE = "Ascend Transfer Engine initialization failed."
CACHE_FLUSHED = (
    "Cache flushed.\nPlease check backend logs for more details. "
    "(When there are running or waiting requests, the operation will not be performed.)\n"
)
HCCL_FAILED = "RuntimeError: ERR02200 DIST call hccl api failed.\n"


def traceback(file, line, text):
    """An exception that ended the main process."""
    return f'Traceback (most recent call last):\n  File "{file}", line {line}, in <module>\n{text}\n'


def no_library(name):
    """A library of CANN's or ATB's that the environment does not lead to."""
    return traceback(
        "torch_npu/__init__.py",
        1,
        f"    import torch_npu._C\nImportError: {name}: cannot open shared object file: No such file or directory. "
        "Please check that the cann package is installed. "
        "Please run 'source set_env.sh' in the CANN installation path.",
    )


def scheduler_exception(text):
    """An exception that ended a scheduler process."""
    return (
        "Scheduler hit an exception: Traceback (most recent call last):\n"
        f'  File "sglang/srt/managers/scheduler.py", line 3999, in run_scheduler_process\n{text}\n'
    )


def no_model(path, is_directory):
    """A model that is not there: every other path is taken for a name on the hub."""
    if is_directory:
        text = (
            f"OSError: {path} does not appear to have a file named config.json. "
            f"Checkout 'https://huggingface.co/{path}/tree/main' for available files."
        )
    elif path.startswith("/"):
        text = (
            "OSError: Repo id must use alphanumeric chars, '-', '_' or '.'. The name cannot start or end with '-' or "
            f"'.' and the maximum length is 96: '{path}'."
        )
    else:
        text = (
            "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the "
            f"cached files.\nCheck your internet connection: '{path}'"
        )
    return traceback("transformers/utils/hub.py", 473, f'    raise OSError(f"{{e}}") from e\n{text}')


def peer_gone(address):
    """What gloo says when the other side of a connection is gone."""
    return (
        "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] "
        f"Connection closed by peer [{address}]. "
        "This is typically caused by a remote worker crashing. "
        "Check the logs of the remote worker before reporting an error.\n"
    )


def cannot_bind(host, port, error):
    """What uvicorn says of an address it does not get."""
    return (
        f"[Errno {error.errno}] error while attempting to bind on address ({host!r}, {port}): "
        f"{(error.strerror or str(error)).lower()}"
    )


def cannot_bind_zmq(address, error):
    """What ZeroMQ says of an address it does not get."""
    return f"zmq.error.ZMQError: {error.strerror} (addr='tcp://{address}')"


def hccl_port(host, port):
    """A host port of HCCL's that somebody has."""
    return (
        f"{HCCL_FAILED}EI0019: socket type[2], listen on ip[{host}] and specific port[{port}] fail. "
        "Please check the port status and whether the port is being used by other process."
    )


def no_device(number):
    """An NPU that is not there."""
    return (
        "RuntimeError: SetDevice: NPU function error: aclrtSetDevice(device_id), error code is 107001\n"
        f"[Error]: Invalid device ID. Check the device ID ({number})"
    )


def device_forbidden(path):
    """An NPU that this user may not open."""
    return (
        "RuntimeError: Initialize: NPU function error: aclInit, error code is 507899: "
        f"drvErr=87, no permission to open {path}"
    )


def device_full(number):
    """An NPU whose memory another process has."""
    return (
        f"RuntimeError: NPU out of memory. Tried to allocate 1.50 GiB (NPU {number}; 60.96 GiB total capacity; "
        "59.00 GiB already allocated)"
    )


def prefill_failed(job, error):
    """A hand-over that prefill gives up."""
    return (
        f"Prefill bootstrap failed for request rank=0 req.rid={job.rid!r} req.bootstrap_room={job.room} "
        f"with exception KVTransferError(bootstrap_room={job.room}): {error}"
    )


def decode_failed(job, step, error):
    """A hand-over that decode gives up."""
    return (
        f"Decode {step} failed for request rank=0 decode_req.req.rid={job.rid!r} "
        f"decode_req.req.bootstrap_room={job.room} "
        f"with exception KVTransferError(bootstrap_room={job.room}): {error}"
    )


def too_long(length, limit):
    """A prompt that does not fit."""
    return f"The input ({length} tokens) is longer than the model's context length ({limit} tokens)."


def too_many(length, wanted, limit):
    """An answer that would not fit behind its prompt."""
    return (
        f"Requested token count exceeds the model's maximum context length of {limit} tokens. You requested a total of "
        f"{length + wanted} tokens: {length} tokens from the input messages and {wanted} tokens for the completion. "
        "Please reduce the number of tokens in the input messages or the completion to fit within the limit."
    )


def larger_than_context(wanted, limit):
    """An answer that would not fit without any prompt, where --context-length says what fits."""
    return f"max_completion_tokens is too large: {wanted}.This model supports at most {limit} completion tokens."


def no_room(rid):
    """A client that asks a PD server directly."""
    return f"Invalid request: Disaggregated request received without bootstrap room id. req.rid={rid!r}"
