# headgate_embed(TARGET FUNCTION FILES file... [HEADER header])
#
# Adds to TARGET a generated source that defines FUNCTION, such as headgate::cli::nginx_conf_template.
# With HEADER, which declares it, FUNCTION returns the text of the files, one after the other, as std::string_view.
# Otherwise FUNCTION returns web assets: see headgate/view/asset.h.
function(headgate_embed target function)
  cmake_parse_arguments(EMBED "" "HEADER" "FILES" ${ARGN})
  string(REGEX REPLACE ".*::" "" name ${function})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  set(script ${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -D OUT=${out} -D FUNCTION=${function} -D HEADER=${EMBED_HEADER}
            -D "FILES=${EMBED_FILES}" -P ${script}
    DEPENDS ${EMBED_FILES} ${script}
    COMMENT "Embedding ${name}"
    VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()
