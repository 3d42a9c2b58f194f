# SPDX-License-Identifier: MIT
# What `cmake --install` puts where.
include(CMakePackageConfigHelpers)

set(HF_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")

install(TARGETS holdfast holdfast_static EXPORT holdfast-targets
        RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY include/holdfast
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
if(TARGET holdfast_cli)
    install(TARGETS holdfast_cli DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

# Written while installing, when the prefix is known for good (--prefix).
configure_file(cmake/install-pc.cmake.in install-pc.cmake @ONLY)
install(SCRIPT "${PROJECT_BINARY_DIR}/install-pc.cmake")

configure_package_config_file(cmake/holdfast-config.cmake.in
    holdfast-config.cmake INSTALL_DESTINATION "${HF_CMAKE_DIR}")
write_basic_package_version_file(holdfast-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/holdfast-config.cmake"
              "${PROJECT_BINARY_DIR}/holdfast-config-version.cmake"
        DESTINATION "${HF_CMAKE_DIR}")
install(EXPORT holdfast-targets NAMESPACE holdfast::
        DESTINATION "${HF_CMAKE_DIR}")
