# SPDX-License-Identifier: MIT
# Reads the version that the public header states, so that there is one truth.
function(hf_read_version header ret_version)
    set(parts "")
    foreach(part MAJOR MINOR PATCH)
        file(STRINGS "${header}" line
             REGEX "^#define HF_VERSION_${part} [0-9]+$")
        if(NOT line)
            message(FATAL_ERROR "${header} does not define HF_VERSION_${part}")
        endif()
        string(REGEX REPLACE "^.* ([0-9]+)$" "\\1" number "${line}")
        list(APPEND parts "${number}")
    endforeach()
    list(JOIN parts "." version)
    set(${ret_version} "${version}" PARENT_SCOPE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
endfunction()
