# SPDX-License-Identifier: MIT
# Sanitizers for the builds that look for bugs, hardening for the others.  The
# two do not go together: _FORTIFY_SOURCE hides from a sanitizer what it checks.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)

set(HF_HARDEN_COMPILE "")
set(HF_HARDEN_LINK "")

if(HF_SANITIZE STREQUAL "address")
    set(HF_SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
elseif(HF_SANITIZE STREQUAL "thread")
    set(HF_SANITIZE_FLAGS -fsanitize=thread -fno-omit-frame-pointer)
elseif(HF_SANITIZE STREQUAL "")
    set(HF_SANITIZE_FLAGS "")
else()
    message(FATAL_ERROR "HF_SANITIZE is '${HF_SANITIZE}': address or thread")
endif()

if(NOT HF_SANITIZE)
    foreach(flag -fstack-protector-strong -fstack-clash-protection
            -fcf-protection -fstrict-flex-arrays=3)
        string(MAKE_C_IDENTIFIER "HF_HAS${flag}" known)
        set(CMAKE_REQUIRED_FLAGS "-Werror")
        check_c_compiler_flag("${flag}" ${known})
        unset(CMAKE_REQUIRED_FLAGS)
        if(${known})
            list(APPEND HF_HARDEN_COMPILE "${flag}")
        endif()
    endforeach()
    foreach(word relro now noexecstack)
        check_linker_flag(C "-Wl,-z,${word}" HF_HAS_LINK_${word})
        if(HF_HAS_LINK_${word})
            list(APPEND HF_HARDEN_LINK "-Wl,-z,${word}")
        endif()
    endforeach()
endif()

function(hf_add_hardening target)
    target_compile_options(${target} PRIVATE ${HF_SANITIZE_FLAGS}
                           ${HF_HARDEN_COMPILE})
    target_link_options(${target} PRIVATE ${HF_SANITIZE_FLAGS}
                        ${HF_HARDEN_LINK})
    if(NOT HF_SANITIZE)
        # It needs optimization.  Undefined first, because some distributions'
        # compilers define it themselves, to another level.
        target_compile_options(${target} PRIVATE
            "$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
    endif()
endfunction()
