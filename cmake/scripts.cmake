# SPDX-License-Identifier: MIT
# Turns src/scripts/NAME.lua into the text that is sent to the server, a C array
# of it, and its SHA-1.
#
# Comment lines, blank lines and indentation do not travel.  What does is
# written to <build>/scripts/NAME.lua, so `sha1sum` of that file is the digest
# in the traffic (tools/print-script shows it).
#
# A script is the body for one item, in KEYS and ARGV.  With the line
#
#     -- group: K A
#
# in its comment it also travels as NAME_group: many items in one call, each
# with K keys and A arguments, each under pcall with a result of its own.
# Nil is stored as false (a Lua array ends at a nil; both reach the client as a
# null), an error as an error table.
#
# What several scripts need is a part, parts/NAME.lua: with the line
#
#     -- part: NAME
#
# in its comment, a script begins with that text.

# The lines of `text` that mean something to the server.
function(hf_script_strip text ret_text)
    set(kept "")
    while(NOT text STREQUAL "")
        string(FIND "${text}" "\n" end)
        if(end EQUAL -1)
            set(line "${text}")
            set(text "")
        else()
            string(SUBSTRING "${text}" 0 ${end} line)
            math(EXPR end "${end} + 1")
            string(SUBSTRING "${text}" ${end} -1 text)
        endif()
        string(STRIP "${line}" line)
        if(NOT line MATCHES "^(--|$)")
            string(APPEND kept "${line}\n")
        endif()
    endwhile()
    set(${ret_text} "${kept}" PARENT_SCOPE)
endfunction()

# The group form of a body whose items have `keys` keys and `args` arguments.
function(hf_script_group body keys args ret_text)
    set(${ret_text} "local function item(KEYS, ARGV)
${body}end
local results, keys, args = {}, {}, {}
for i = 1, #KEYS / ${keys} do
for k = 1, ${keys} do keys[k] = KEYS[(i - 1) * ${keys} + k] end
for a = 1, ${args} do args[a] = ARGV[(i - 1) * ${args} + a] end
local ok, result = pcall(item, keys, args)
if not ok and type(result) ~= 'table' then
result = {err = tostring(result)}
end
if result == nil then result = false end
results[i] = result
end
return results
" PARENT_SCOPE)
endfunction()

# `body` behind the part that `source`, a script in `folder`, asks for, if any.
function(hf_script_with_part folder source body ret_text)
    if("\n${source}" MATCHES "\n-- part: ([a-z_]+)\n")
        set(part "${folder}/parts/${CMAKE_MATCH_1}.lua")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                     "${part}")
        file(READ "${part}" text)
        hf_script_strip("${text}" text)
        set(body "${text}${body}")
    endif()
    set(${ret_text} "${body}" PARENT_SCOPE)
endfunction()

# Writes `text` unless the file has it already, so that nothing is rebuilt.
function(hf_write_if_changed file text)
    if(EXISTS "${file}")
        file(READ "${file}" old)
        if(old STREQUAL text)
            return()
        endif()
    endif()
    file(WRITE "${file}" "${text}")
endfunction()

# One script: writes <dir>/NAME.lua, and appends its C to the caller's `enum`,
# `arrays` and `rows`.  (A function: a macro would read the text's backslashes.)
function(hf_script_emit dir name text)
    file(WRITE "${dir}/${name}.lua" "${text}")
    file(READ "${dir}/${name}.lua" hex HEX)
    file(SHA1 "${dir}/${name}.lua" sha1)
    string(LENGTH "${hex}" len)
    math(EXPR len "${len} / 2")
    string(REGEX REPLACE "(........................)" "\\1\n    " hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1, " hex "${hex}")
    string(REGEX REPLACE " +\n" "\n" hex "${hex}")
    string(TOUPPER "${name}" upper)
    string(APPEND enum "    HFI_SCRIPT_${upper},\n")
    string(APPEND arrays
           "static const char ${name}_text[] = {\n    ${hex}0x00};\n\n")
    string(APPEND rows "    [HFI_SCRIPT_${upper}] = {\"${name}\", "
           "${name}_text, ${len},\n        \"${sha1}\"},\n")
    set(enum "${enum}" PARENT_SCOPE)
    set(arrays "${arrays}" PARENT_SCOPE)
    set(rows "${rows}" PARENT_SCOPE)
endfunction()

# Everything in `folder`, into <build>/scripts and <build>/generated.
function(hf_embed_scripts folder ret_source ret_include)
    set(dir "${PROJECT_BINARY_DIR}/scripts")
    set(out "${PROJECT_BINARY_DIR}/generated")
    file(REMOVE_RECURSE "${dir}")
    set(enum "")
    set(arrays "")
    set(rows "")
    # Not a list by hand: a new kind of lock is a new file and nothing else.
    file(GLOB files CONFIGURE_DEPENDS "${folder}/*.lua")
    foreach(file IN LISTS files)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                     "${file}")
        get_filename_component(name "${file}" NAME_WE)
        file(READ "${file}" source)
        if(source MATCHES "--\\[=*\\[|= *\\[=*\\[")
            message(FATAL_ERROR "${file}: long brackets are not understood")
        endif()
        hf_script_strip("${source}" body)
        hf_script_with_part("${folder}" "${source}" "${body}" body)
        hf_script_emit("${dir}" ${name} "${body}")
        if("\n${source}" MATCHES "\n-- group: ([1-9][0-9]*) ([0-9]+)\n")
            hf_script_group("${body}" ${CMAKE_MATCH_1} ${CMAKE_MATCH_2} group)
            hf_script_emit("${dir}" ${name}_group "${group}")
        elseif("\n${source}" MATCHES "\n-- group:")
            message(FATAL_ERROR "${file}: the group line is '-- group: K A'")
        endif()
    endforeach()

    hf_write_if_changed("${out}/scripts_data.h"
"/* SPDX-License-Identifier: MIT */
/* scripts_data.h - generated from src/scripts by cmake/scripts.cmake. */
#ifndef HFI_SCRIPTS_DATA_H
#define HFI_SCRIPTS_DATA_H

#include <stddef.h>

enum hfi_script_id {
${enum}    HFI_SCRIPT_COUNT
};

/* A script as it is sent; `text` ends with a NUL that `len_bytes` leaves out.
 * `sha1` is the digest for EVALSHA. */
struct hfi_script {
    const char *name;
    const char *text;
    size_t len_bytes;
    char sha1[41];
};

extern const struct hfi_script hfi_scripts[HFI_SCRIPT_COUNT];

#endif
")
    hf_write_if_changed("${out}/scripts_data.c"
"/* SPDX-License-Identifier: MIT */
/* scripts_data.c - generated from src/scripts by cmake/scripts.cmake. */
#include \"scripts_data.h\"

${arrays}const struct hfi_script hfi_scripts[HFI_SCRIPT_COUNT] = {
${rows}};
")
    set(${ret_source} "${out}/scripts_data.c" PARENT_SCOPE)
    set(${ret_include} "${out}" PARENT_SCOPE)
endfunction()
