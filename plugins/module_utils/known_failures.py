# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of an engine's log that tell why it died, with what they mean and what to do. Data only.

Patterns are searched in one line. CAUSES name a cause; CONSEQUENCES are what is left to say where no cause is found:
wrappers, and the parent noticing that a child is gone. Both lists go from the particular to the general.
"""

from __future__ import annotations

from typing import NamedTuple


class Failure(NamedTuple):
    """A known failure."""

    name: str
    pattern: str
    meaning: str
    remedy: str


CAUSES: tuple[Failure, ...] = (
    Failure(
        "engine-missing",
        r"No module named 'sglang(?:_router)?(?:\.\w+)*'|finding module specification for 'sglang",
        "SGLang or its router is not installed for the python of the service",
        "install it for that python, or set sglang_python to the one that has it",
    ),
    Failure(
        "model-path",
        "OSError: Repo id must|HFValidationError|is not a local folder and is not a valid model",
        "The model path does not exist on this host, so the engine took it for the name of a model on the internet",
        "set sglang_model_path (or sglang_draft_model_path) to a directory that exists on this host",
    ),
    Failure(
        "empty-address",
        "Empty address string",
        "An instance of several nodes was started without the address of its rank 0",
        "give --dist-init-addr; a plan of this collection always does",
    ),
    Failure(
        "gloo-interface",
        r"Unable to find address for: \S+",
        "The interface in GLOO_SOCKET_IFNAME does not exist on this host or has no address",
        "check sglang_interface and sglang_data_address of this host",
    ),
    Failure(
        "ranks-missing",
        "DistStoreError: Timed out|DistNetworkError|clients joined",
        "Not all nodes of the instance met at its rank 0 in time",
        "look whether it runs on every node of the instance, and whether they reach rank 0's dist-init port",
    ),
    Failure(
        "peer-lost",
        "Connection closed by peer|Connection reset by peer.*gloo|gloo.*Connection reset by peer",
        "Another node of the instance died first",
        "look at the log of the instance's other nodes",
    ),
    Failure(
        "hal-device-count",
        r"Can't get ascend_hal device count|drvErr=87\b",
        "Driver interface refused: device busy in another container or not mapped",
        "look at npu-smi info: another container or process may hold the device, or the user may not open it",
    ),
    Failure(
        "lib-ascend-hal",
        r"libascend_hal\.so: cannot open shared object file",
        "Driver libraries missing from LD_LIBRARY_PATH or not mounted",
        "mount the driver, put driver/lib64/driver on the path",
    ),
    Failure(
        "lib-ascendcl",
        r"libascendcl\.so: cannot open shared object file",
        "CANN set_env.sh was not sourced",
        "source the toolkit set_env.sh before starting",
    ),
    Failure(
        "lib-hccl",
        r"libhccl\.so: cannot open shared object file",
        "CANN set_env.sh was not sourced or the toolkit is incomplete",
        "source set_env.sh, reinstall toolkit",
    ),
    Failure(
        "lib-atb",
        r"libatb\.so: cannot open shared object file",
        "nnal/atb not installed or its set_env.sh not sourced with the right cxx_abi",
        "install nnal, source nnal/atb/set_env.sh with --cxx_abi matching torch",
    ),
    Failure(
        "atb-setenv-nounset",
        "(?:ZSH_VERSION|LD_LIBRARY_PATH|PYTHONPATH): unbound variable",
        "set_env.sh sourced under set -u",
        "relax set -u around the source",
    ),
    Failure(
        "hccl-buffsize",
        r"HCCL_BUFFSIZE(?:_EP)? is too SMALL|\b561002\b",
        "Communication buffer too small for dispatch/combine",
        "raise HCCL_BUFFSIZE (MB)",
    ),
    Failure(
        "sgl-port",
        "[Pp]ort is already in use|[Aa]ddress already in use",
        "Port taken, possibly by a leftover instance or a derived port",
        "free or change the port; derived ports are allocated next to it",
    ),
    Failure(
        "sgl-args",
        "error: unrecognized arguments",
        "Option not in this version",
        "check the option against the installed version",
    ),
    Failure(
        "sgl-mem-fraction",
        r"Not enough memory\. Please try to increase --mem-fraction-static",
        "No room for the KV cache after weights",
        "raise --mem-fraction-static, or more TP",
    ),
    Failure(
        "sgl-hybrid-state",
        "state cache is too small",
        "Hybrid model state does not fit",
        "raise the memory fraction or lower max running requests",
    ),
    Failure(
        "npu-oom",
        r"NPU out of memory\. Tried to allocate",
        "HBM exhausted; other process, fraction too high, or graph too big",
        "check other processes with npu-smi; lower fraction, batch or graph sizes",
    ),
    Failure(
        "te-init",
        "Ascend Transfer Engine initialization failed",
        "KV transfer was not set up: ASCEND_MF_STORE_URL wrong, store unreachable, or driver mismatch",
        "ASCEND_MF_STORE_URL must be the prefill address, same on every node, reachable and free",
    ),
    Failure(
        "te-svm",
        "svm advise failed|hybm core init failed",
        "Memory pooling not available on this device/driver",
        "update the driver; check the transfer protocol setting",
    ),
    Failure(
        "te-ra-symbol",
        "undefined symbol: ra_get_interface_version",
        "CANN and driver do not match",
        "match CANN and driver versions",
    ),
    Failure(
        "mf-missing",
        "No module named 'memfabric_hybrid'|[Pp]lease install memfabric_hybrid",
        "memfabric-hybrid wheel missing in this interpreter",
        "install the pinned wheel",
    ),
    Failure(
        "mf-store",
        "Failed to start config store (?:server|client)|connect to (?:store )?server failed",
        "memfabric store port busy or unreachable",
        "free port, check firewall and URL",
    ),
    Failure(
        "gloo-corrupt",
        r"op\.preamble\.length <= op\.nbytes|Context corruption detected",
        "Ranks out of step in the prefill overlap schedule",
        "add --disable-overlap-schedule on prefill",
    ),
    Failure(
        "zbal-init",
        "zbal (?:lazy )?init failed",
        "zbal not usable: no supported device, or no memfabric",
        "check memfabric-zbal version and arm64, or turn the option off",
    ),
    Failure(
        "zbal-symbol",
        "undefined symbol: _ZN2at14RecordFunction",
        "zbal built for another torch",
        "install the wheel for this torch",
    ),
    Failure(
        "quant-keyerror",
        r"KeyError: 'model\.layers\.[^']*(?:weight_offset|weight_scale)",
        "Weights and quantisation format disagree",
        "use --quantization modelslim and quant_model_description.json from the same export",
    ),
    Failure(
        "quant-fp8",
        "fp8.*(?:not supported|unsupported)|Float8_e4m3fn has not been supported",
        "fp8 weights are not for this device",
        "use the modelslim weights",
    ),
    Failure(
        "bishengir-target",
        "bishengir.*Unknown command line argument",
        "triton-ascend does not match CANN",
        "pin triton-ascend for this CANN",
    ),
    Failure(
        "op-init-compiler",
        "Init compiler failed|OpCompileProcessor",
        "Kernels for another chip (A3 image on A2)",
        "use the image or ops package for this chip",
    ),
    Failure(
        "piecewise-graph",
        "piecewise.*(?:NPU|npu).*(?:fail|error)",
        "Piecewise graph not supported on NPU in that version",
        "turn piecewise graph off",
    ),
    Failure(
        "graph-capture",
        "Capture (?:prefill )?(?:npu|cuda|NPU|CUDA) graph failed",
        "Graph capture failed",
        "reduce --cuda-graph-bs or use --disable-cuda-graph to find the cause",
    ),
    Failure(
        "hf-network",
        r"\[Errno 101\] Network is unreachable",
        "The process tries to download",
        "use a local path and offline variables",
    ),
    Failure(
        "shm-bus",
        "Bus error|No space left on device.*shm",
        "Shared memory too small",
        "raise the shm size",
    ),
    Failure(
        "atb-setenv-name",
        r"There is no 'set_env\.sh' to import",
        "ATB script sourced through another name; returns 0 and sets nothing",
        "source the original path and check ATB_HOME_PATH",
    ),
    Failure(
        "hccl-bind-plog",
        "Please check the port status and whether the port is being used by other process",
        "Listening port of HCCL taken",
        "free the port, move HCCL_IF_BASE_PORT, reserve with ip_local_reserved_ports",
    ),
    Failure(
        "hccl-root-timeout-plog",
        "topo exchange server get socket timeout",
        "Root rank did not see every rank in time",
        "all ranks started, host network reachable, HCCL_SOCKET_IFNAME, HCCL_IF_IP",
    ),
    Failure(
        "sgl-model-type",
        "has model type .* but Transformers does not recognize this architecture",
        "Installed transformers does not know the model type",
        "install the pinned transformers, or check config.json model_type (MindIE exports change it)",
    ),
    Failure(
        "acl-107001",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}107001\b",
        "Invalid device id: device not visible to the process",
        "check ASCEND_RT_VISIBLE_DEVICES and mapped devices",
    ),
    Failure(
        "acl-107020",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}107020\b",
        "Task timed out",
        "look for a hung peer rank first",
    ),
    Failure(
        "acl-207001",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}207001\b",
        "Device memory allocation failed",
        "free HBM, lower --mem-fraction-static",
    ),
    Failure(
        "acl-207004",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}207004\b",
        "No device",
        "check device nodes and visible devices",
    ),
    Failure(
        "acl-207006",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}207006\b",
        "No permission",
        "check group HwHiAiUser and node mode",
    ),
    Failure(
        "acl-207018",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}207018\b",
        "Device out of memory",
        "free HBM, lower --mem-fraction-static",
    ),
    Failure(
        "acl-507000",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507000\b",
        "Runtime internal error; during graph capture often too many graphs",
        "reduce graph batch sizes or upgrade CANN",
    ),
    Failure(
        "acl-507008",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507008\b",
        "SoC version unsupported by this package",
        "install the build for this chip",
    ),
    Failure(
        "acl-507010",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507010\b",
        "Device lost its heartbeat",
        "check health, reset the card when idle",
    ),
    Failure(
        "acl-507011",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507011\b",
        "Model execution failed",
        "read plog for the operator",
    ),
    Failure(
        "acl-507014",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507014\b",
        "AI core timed out",
        "read plog; check health and peers",
    ),
    Failure(
        "acl-507015",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507015\b",
        "AI core exception",
        "read plog for the operator; match CANN and op packages",
    ),
    Failure(
        "acl-507018",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507018\b",
        "AI CPU exception",
        "read plog; often a communication failure",
    ),
    Failure(
        "acl-507033",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507033\b",
        "Device setup failed",
        "match driver and CANN; check that the device is free",
    ),
    Failure(
        "acl-507034",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507034\b",
        "Vector core timeout",
        "read plog",
    ),
    Failure(
        "acl-507035",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507035\b",
        "Vector core exception, seen in alloc_extend_kernel",
        "upgrade triton-ascend/kernels, or disable the graph",
    ),
    Failure(
        "acl-507046",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507046\b",
        "Stream synchronisation timed out",
        "a peer is hung or dead; look at every rank",
    ),
    Failure(
        "acl-507047",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507047\b",
        "Event synchronisation timed out",
        "a peer is hung or dead",
    ),
    Failure(
        "acl-507053",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507053\b",
        "Device memory error",
        "isolate the card, check npu-smi health",
    ),
    Failure(
        "acl-507054",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507054\b",
        "HBM multi-bit ECC error",
        "isolate the card, replace it",
    ),
    Failure(
        "acl-507056",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507056\b",
        "Link error between devices",
        "check hccn link and optical, HCCS state",
    ),
    Failure(
        "acl-507057",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507057\b",
        "A remote device is suspect",
        "look at the remote node",
    ),
    Failure(
        "acl-507899",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507899\b",
        "Driver internal error: device hidden or busy",
        "look at npu-smi info: another container or process may hold the device, or the user may not open it",
    ),
    Failure(
        "acl-507901",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}507901\b",
        "HDC connection lost",
        "check the card, restart the process",
    ),
    Failure(
        "hccl-ei0001",
        r"(?:\b|\()EI0001\b",
        "Invalid environment variable value",
        "fix the HCCL_* variable that the text names",
    ),
    Failure(
        "hccl-ei0004",
        r"(?:\b|\()EI0004\b",
        "Rank table invalid",
        "use no rank table, or correct it",
    ),
    Failure(
        "hccl-ei0005",
        r"(?:\b|\()EI0005\b",
        "Ranks disagree on collective parameters",
        "same versions and same arguments on all nodes",
    ),
    Failure(
        "hccl-ei0006",
        r"(?:\b|\()EI0006\b",
        "Socket set-up timed out: peer dead or late, TLS mismatch, link down, wrong interface",
        "check all ranks started, hccn links, TLS equality, firewall, HCCL_CONNECT_TIMEOUT",
    ),
    Failure(
        "hccl-ei0007",
        r"(?:\b|\()EI0007\b",
        "Resource exhausted, for example queue pairs",
        "reduce communicators, restart leftovers",
    ),
    Failure(
        "hccl-ei0008",
        r"(?:\b|\()EI0008\b",
        "HCCL versions differ between ranks",
        "same CANN everywhere",
    ),
    Failure(
        "hccl-ei0009",
        r"(?:\b|\()EI0009\b",
        "Transport set-up failed",
        "check links and addresses",
    ),
    Failure(
        "hccl-ei0011",
        r"(?:\b|\()EI0011\b",
        "Not enough device memory for communication",
        "lower HCCL_BUFFSIZE or --mem-fraction-static",
    ),
    Failure(
        "hccl-ei0012",
        r"(?:\b|\()EI0012\b",
        "SDMA error",
        "check health on both devices",
    ),
    Failure(
        "hccl-ei0013",
        r"(?:\b|\()EI0013\b",
        "RoCE CQE error: retries exhausted",
        "check link, switch PFC, hccn stat counters",
    ),
    Failure(
        "hccl-ei0014",
        r"(?:\b|\()EI0014\b",
        "Rank table check failed",
        "correct or drop the rank table",
    ),
    Failure(
        "hccl-ei0015",
        r"(?:\b|\()EI0015\b",
        "Rank detection failed: some ranks never connected to the root",
        "all ranks started, host network reachable, HCCL_SOCKET_IFNAME, HCCL_IF_IP",
    ),
    Failure(
        "hccl-ei0016",
        r"(?:\b|\()EI0016\b",
        "TLS switch differs between devices",
        "hccn_tool -tls -g on every device, make equal",
    ),
    Failure(
        "hccl-ei0019",
        r"(?:\b|\()EI0019\b",
        "Host port bind failed",
        "free the port, move HCCL_IF_BASE_PORT, reserve with ip_local_reserved_ports",
    ),
    Failure(
        "hccl-ei0020",
        r"(?:\b|\()EI0020\b",
        "Device port (16666) bind failed, usually two processes on one device",
        "stop the other process or set HCCL_NPU_SOCKET_PORT_RANGE",
    ),
    Failure(
        "hccl-ej0001",
        r"(?:\b|\()EJ0001\b",
        "HCCP initialisation failed: an earlier process still runs",
        "find leftovers with npu-smi, stop them",
    ),
    Failure(
        "hccl-ej0003",
        r"(?:\b|\()EJ0003\b",
        "Bind failure in HCCP",
        "free the port",
    ),
    Failure(
        "drv-el0004",
        r"\bEL0004\b",
        "Driver/runtime: Memory allocation failed",
        "check the device, the user and leftovers",
    ),
    Failure(
        "drv-el0005",
        r"\bEL0005\b",
        "Driver/runtime: Resource busy",
        "check the device, the user and leftovers",
    ),
    Failure(
        "drv-el0007",
        r"\bEL0007\b",
        "Driver/runtime: No permission",
        "check the device, the user and leftovers",
    ),
    Failure(
        "op-e30006",
        r"\bE30006\b",
        "Operator package missing or not matching",
        "install the kernels (ops) package for this chip and version",
    ),
)

CONSEQUENCES: tuple[Failure, ...] = (
    Failure(
        "hccl-ei0002",
        r"(?:\b|\()EI0002\b",
        "Notify wait timed out: a peer did not reach the same collective",
        "find the rank that stopped first; same parameters everywhere",
    ),
    Failure(
        "acl-107002",
        r"(?i:error ?code|errcode|ret(?:code)?)(?: is)?[\s:=\[]{0,3}107002\b",
        "Context is null: device not set in this thread",
        "usually a follow-up error; find the first one",
    ),
    Failure(
        "sgl-scheduler-exception",
        "Scheduler hit an exception",
        "Scheduler traceback follows",
        "use the last line of the traceback",
    ),
    Failure(
        "err02200",
        "ERR02200 DIST call hccl api failed",
        "torch_npu wrapper around an HCCL error; the cause is the EI/EJ line",
        "read the EI/EJ line on every rank",
    ),
    Failure(
        "err00100",
        "ERR00100 PTA call acl api failed",
        "torch_npu wrapper around an ACL error; the cause is the code that follows",
        "read the six-digit code",
    ),
    Failure(
        "err01100",
        "ERR01100 OPS",
        "torch_npu wrapper around an operator error",
        "read the operator and the plog",
    ),
    Failure(
        "err99999",
        "ERR99999 UNKNOWN",
        "torch_npu wrapper, cause unknown",
        "read plog",
    ),
    Failure(
        "sgl-child-crash",
        r"Subprocess .* crashed with exit code (-?\d+)",
        "A child died on a signal: -9 is a kill by memory pressure or by an operator, -11 a crash",
        "check dmesg for the memory killer, raise shm and memory limits",
    ),
    Failure(
        "sgl-warmup",
        r"Initialization failed\. warmup error",
        "Server ran but its first request failed or timed out",
        "read the traceback; first compilation can be slow, so raise the watchdog",
    ),
    Failure(
        "pd-kvpoll",
        "timed out after .* in KVPoll",
        "KV transfer or bootstrap did not finish",
        "check the peer, then SGLANG_DISAGGREGATION_WAITING_TIMEOUT / BOOTSTRAP_TIMEOUT",
    ),
    Failure(
        "sgl-sigquit",
        "Received sigquit from a child process",
        "The parent saw a child die; never the cause",
        "look above for the first traceback of any TP rank",
    ),
)
