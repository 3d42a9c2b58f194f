# SPDX-License-Identifier: MIT
# Well-kept libraries that we stand on; tools/packages.txt lists their packages.
find_package(PkgConfig REQUIRED)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# hiredis: only its codec (reader and formatter).  Debian 12's hiredis.pc names
# a library folder that does not exist; the linker's own path finds it anyway.
pkg_check_modules(HIREDIS REQUIRED IMPORTED_TARGET hiredis>=0.14)

find_path(UTHASH_INCLUDE_DIR uthash.h)
if(NOT UTHASH_INCLUDE_DIR)
    message(FATAL_ERROR "uthash.h was not found (Debian: uthash-dev)")
endif()
mark_as_advanced(UTHASH_INCLUDE_DIR)

if(HF_CLI)
    pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
endif()
if(HF_TESTS)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
    # What fencing tokens are tried on (tests/server/test_fencing.c).
    pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
    # The model of a server (tests/sim): Redis' Lua, and SHA-1.
    pkg_check_modules(LUA51 REQUIRED IMPORTED_TARGET lua5.1)
    pkg_check_modules(LIBCRYPTO REQUIRED IMPORTED_TARGET libcrypto)
endif()
