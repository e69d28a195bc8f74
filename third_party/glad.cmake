# The OpenGL loader is generated at build time and not committed.
find_program(GLAD_EXECUTABLE glad REQUIRED DOC "glad 2, the OpenGL loader generator (python3-glad)")

set(GLAD_DIR ${CMAKE_BINARY_DIR}/glad)
add_custom_command(
  OUTPUT ${GLAD_DIR}/src/gl.c ${GLAD_DIR}/include/glad/gl.h
  COMMAND ${GLAD_EXECUTABLE} --quiet --api gl:core=3.3 --extensions GL_KHR_debug --reproducible --out-path ${GLAD_DIR} c
  COMMENT "Generating the OpenGL loader"
  VERBATIM)
add_library(glad STATIC ${GLAD_DIR}/src/gl.c ${GLAD_DIR}/include/glad/gl.h)
target_include_directories(glad SYSTEM PUBLIC ${GLAD_DIR}/include)
target_link_libraries(glad PUBLIC ${CMAKE_DL_LIBS})
