# SPDX-License-Identifier: MIT
# What every target of ours has in common.

# The language, the warnings and the hardening of one target.
function(hf_target_defaults target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11
        C_STANDARD_REQUIRED ON
        C_EXTENSIONS OFF
        C_VISIBILITY_PRESET hidden
        POSITION_INDEPENDENT_CODE ON)
    # -std=c11 alone hides POSIX; CLOCK_BOOTTIME, pipe2 and accept4 are glibc's.
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    # Assertions stay in every build.  They guard our own state machines, never
    # what a server can send; a client that has lost track of what it holds had
    # better stop, and what is released is then what was tested.
    target_compile_options(${target} PRIVATE -UNDEBUG
        "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
    hf_add_warnings(${target})
    hf_add_hardening(${target})
endfunction()
