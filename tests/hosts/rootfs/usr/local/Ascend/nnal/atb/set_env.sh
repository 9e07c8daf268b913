# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Stand-in of ATB's own script, with its manners: takes --cxx_abi=0|1 from the positional arguments, the sourcing
# script's own where it is given none; else asks the first python3 for torch; reads $1 and ZSH_VERSION unset or not.

_atb_abi=""
while [ $# -gt 0 ] || [ -n "$1" ]; do
    case "$1" in
        --cxx_abi=0 | --cxx_abi=1) _atb_abi=${1#--cxx_abi=} ;;
    esac
    shift || break
done

_atb_script=${BASH_SOURCE[0]}
if [ -n "$ZSH_VERSION" ]; then
    _atb_script=$0
fi
if [ "$(basename "${_atb_script}")" != set_env.sh ]; then
    echo "There is no 'set_env.sh' to import"
else
    _atb_path=$(cd "$(dirname "${_atb_script}")" && pwd)
    if [ -z "${_atb_abi}" ]; then
        _atb_abi=$(python3 -c 'import torch; print(int(torch.compiled_with_cxx11_abi()))' 2>/dev/null)
        _atb_abi=${_atb_abi:-1}
    fi
    export ATB_HOME_PATH="${_atb_path}/latest/atb/cxx_abi_${_atb_abi}"
    export LD_LIBRARY_PATH="${ATB_HOME_PATH}/lib:${ATB_HOME_PATH}/examples:${LD_LIBRARY_PATH}"
    export PATH="${ATB_HOME_PATH}/bin:${PATH}"
    export ATB_STREAM_SYNC_EVERY_KERNEL_ENABLE=0 ATB_STREAM_SYNC_EVERY_RUNNER_ENABLE=0 ATB_OPSRUNNER_SETUP_CACHE_ENABLE=1
    export LCCL_DETERMINISTIC=0 LCCL_PARALLEL=0
fi
unset _atb_abi _atb_script _atb_path
# The status of the last test, not of the work.
[ -n "$ZSH_VERSION" ]
