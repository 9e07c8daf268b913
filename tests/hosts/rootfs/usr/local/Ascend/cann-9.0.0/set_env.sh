# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Stand-in of CANN's own script, with its manners: bash only, reads variables that need not be set, returns non-zero
# on its way, and under pipefail and errexit a file without the expected line ends the shell that sourced it.

_cann_home=/usr/local/Ascend/cann-9.0.0

_cann_prepend() {
    # The current value is read as it is: with `set -u` an unset one ends the shell.
    _cann_old=${!1}
    case ":${_cann_old}:" in
        *":$2:"*) ;;
        *) export "$1=$2${_cann_old:+:${_cann_old}}" ;;
    esac
    unset _cann_old
}

_cann_prepend PATH "${_cann_home}/bin"
for _cann_dir in lib64/plugin/nnengine lib64/plugin/opskernel lib64; do
    _cann_prepend LD_LIBRARY_PATH "${_cann_home}/${_cann_dir}"
done
_cann_prepend PYTHONPATH "${_cann_home}/python/site-packages"
_cann_prepend CMAKE_PREFIX_PATH "${_cann_home}/lib64/cmake"

_cann_driver=$(grep -i '^Driver_Install_Path_Param=' /etc/ascend_install.info 2>/dev/null | cut -d= -f2)
if [ -d "${_cann_driver}/driver/lib64" ]; then
    for _cann_dir in driver common ""; do
        export LD_LIBRARY_PATH="${LD_LIBRARY_PATH}:${_cann_driver}/driver/lib64${_cann_dir:+/${_cann_dir}}"
    done
else
    export LD_LIBRARY_PATH="${LD_LIBRARY_PATH}:${_cann_home}/devlib"
fi

# A package that is not installed is asked for all the same, and its absence is the status of the next command.
test -f "${_cann_home}/opp/vendors/config.ini"

export ASCEND_HOME_PATH="${_cann_home}" ASCEND_TOOLKIT_HOME="${_cann_home}" ASCEND_AICPU_PATH="${_cann_home}"
export ASCEND_OPP_PATH="${_cann_home}/opp" TOOLCHAIN_HOME="${_cann_home}/toolkit"
unset _cann_home _cann_driver _cann_dir
