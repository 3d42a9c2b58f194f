# SPDX-License-Identifier: MIT
# One list of warnings for everything that is ours.  Each flag is probed, so
# that a compiler that does not know one still builds.
include(CheckCCompilerFlag)

set(HF_WARNING_FLAGS
    -Wall
    -Wextra
    -Wpedantic
    -Wconversion
    -Wsign-conversion
    -Wshadow
    -Wcast-qual
    -Wcast-align
    -Wstrict-prototypes
    -Wmissing-prototypes
    -Wold-style-definition
    -Wundef
    -Wformat=2
    -Wswitch-enum
    -Wimplicit-fallthrough
    -Wvla
    -Wdouble-promotion
    -Wwrite-strings
    -Wnull-dereference
    -Wlogical-op
    -Wduplicated-cond
    -Wjump-misses-init)

set(HF_KNOWN_WARNINGS "")
foreach(flag IN LISTS HF_WARNING_FLAGS)
    string(MAKE_C_IDENTIFIER "HF_HAS${flag}" known)
    # An unknown -W option is only a warning in clang, and a probe that warns
    # would pass without this.
    set(CMAKE_REQUIRED_FLAGS "-Werror")
    check_c_compiler_flag("${flag}" ${known})
    unset(CMAKE_REQUIRED_FLAGS)
    if(${known})
        list(APPEND HF_KNOWN_WARNINGS "${flag}")
    endif()
endforeach()

function(hf_add_warnings target)
    target_compile_options(${target} PRIVATE ${HF_KNOWN_WARNINGS})
    if(HF_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
endfunction()
