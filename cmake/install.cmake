# What `cmake --install` puts where: library, public headers, CMake package, pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(powerinfer PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(POWERINFER_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/powerinfer)

install(TARGETS powerinfer EXPORT powerinfer
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/powerinfer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT powerinfer NAMESPACE powerinfer:: FILE powerinferTargets.cmake
    DESTINATION ${POWERINFER_CMAKE_DIR})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/powerinferConfig.cmake.in
    ${PROJECT_BINARY_DIR}/powerinferConfig.cmake INSTALL_DESTINATION ${POWERINFER_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/powerinferConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/powerinferConfig.cmake ${PROJECT_BINARY_DIR}/powerinferConfigVersion.cmake
    DESTINATION ${POWERINFER_CMAKE_DIR})

# The prefix is written relative to the file, so that an installed tree can be moved.
file(RELATIVE_PATH PKGCONFIG_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/powerinfer.pc.in ${PROJECT_BINARY_DIR}/powerinfer.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/powerinfer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
