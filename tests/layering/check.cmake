# cmake -DROOT=<source folder> -P check.cmake: fails if a source file includes what its layer may not use.
include(${CMAKE_CURRENT_LIST_DIR}/rules.cmake)
check_layers(${ROOT} VIOLATIONS)
if(VIOLATIONS)
  list(JOIN VIOLATIONS "\n  " TEXT)
  message(FATAL_ERROR "The layering is violated:\n  ${TEXT}")
endif()
