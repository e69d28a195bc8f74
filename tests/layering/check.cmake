# cmake -DROOT=<source folder> -P check.cmake: fails when a source of the project includes what its layer may not know.
include(${CMAKE_CURRENT_LIST_DIR}/rules.cmake)
check_layers(${ROOT} VIOLATIONS)
if(VIOLATIONS)
  list(JOIN VIOLATIONS "\n  " TEXT)
  message(FATAL_ERROR "The layers are not kept:\n  ${TEXT}")
endif()
