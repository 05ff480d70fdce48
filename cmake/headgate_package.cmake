# What `cmake --install` puts where: the command and the modules for nginx and Redis, and, as component `library`,
# the CMake package headgate (target headgate::headgate), libheadgate.so and headgate.pc for C.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(rooms base limit field policy store gate client c)
list(TRANSFORM rooms PREPEND headgate_ OUTPUT_VARIABLE libraries)

add_library(headgate_library INTERFACE)
target_link_libraries(headgate_library INTERFACE ${libraries})
set_target_properties(headgate_library PROPERTIES EXPORT_NAME headgate)
add_library(headgate::headgate ALIAS headgate_library)
add_custom_target(library DEPENDS ${libraries} headgate_shared)

foreach(room ${rooms})
  set_target_properties(headgate_${room} PROPERTIES EXPORT_NAME ${room})
endforeach()

# The headers that rooms declare as PUBLIC, and all that those include.
get_property(headers GLOBAL PROPERTY HEADGATE_PUBLIC_HEADERS)
set(seen "")
while(headers)
  list(POP_FRONT headers header)
  cmake_path(NORMAL_PATH header)
  if(header IN_LIST seen)
    continue()
  endif()
  list(APPEND seen ${header})
  file(STRINGS ${CMAKE_SOURCE_DIR}/${header} includes REGEX "^#include \"headgate/")
  list(TRANSFORM includes REPLACE "^#include \"(.*)\".*" "\\1")
  list(APPEND headers ${includes})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${CMAKE_SOURCE_DIR}/${header}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT library)
endwhile()
install(TARGETS headgate_library ${libraries} EXPORT headgate
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(TARGETS headgate_shared
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT library)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/headgate)
install(EXPORT headgate NAMESPACE headgate:: FILE headgateTargets.cmake
  DESTINATION ${package} COMPONENT library)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/headgateConfig.cmake.in
  ${CMAKE_BINARY_DIR}/package/headgateConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/headgateConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH pkgconfig_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/headgate.pc.in ${CMAKE_BINARY_DIR}/package/headgate.pc
  @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/package/headgateConfig.cmake
              ${CMAKE_BINARY_DIR}/package/headgateConfigVersion.cmake
  DESTINATION ${package} COMPONENT library)
install(FILES ${CMAKE_BINARY_DIR}/package/headgate.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)

install(TARGETS headgate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
# Redis refuses to load a file that is not executable.
install(TARGETS redis_headgate_module
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/redis/modules COMPONENT command
  PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
if(HEADGATE_NGINX)
  install(TARGETS ngx_http_headgate_module
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/nginx/modules COMPONENT command)
endif()
