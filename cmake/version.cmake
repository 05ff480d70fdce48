# Writes the source of version_text(), if it has changed. headgate/cli/CMakeLists.txt runs it in every
# build, since the commit can change without any other file.
#   cmake -D OUT=FILE.cc -D IN=version.cc.in -D version=0.1.0 -D built_with=... -D SOURCE=FOLDER
#         -D COMMIT=ID -P version.cmake
#
# COMMIT is asked from git if it is empty; without git there is none.
if(NOT COMMIT)
  execute_process(COMMAND git -C ${SOURCE} describe --always --exclude=* --dirty=+ --abbrev=12
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(COMMIT)
  set(commit " (commit ${COMMIT})")
endif()
configure_file(${IN} ${OUT} @ONLY)
