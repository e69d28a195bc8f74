cmake_minimum_required(VERSION 3.22)
# Which files may include what, and which may write files. check_layers(ROOT RESULT) reads the sources under ROOT and returns one sentence
# per violation.
# Dependencies point one way: engine <- session <- panels <- main, and among the session's folders. render uses numbers, not the engine;
# panels use states, values of facets and commands, but not OpenGL or the engine's functions. attnscope-dev is a program beside them, from
# app/dev.

# All that panels may include of the engine, header by header: plain values, and words about them. Whatever computes is left out, even if
# it would be quick for a small model: the session computes it as a facet. A header that is needed here and declares both is split.
set(PANEL_ENGINE
  engine/explain/edit_list.hpp
  engine/explain/provenance.hpp
  engine/io/home_path.hpp
  engine/plan/config.hpp
  engine/plan/head_of.hpp
  engine/plan/name_beside.hpp
  engine/plan/plan.hpp
  engine/plan/stage.hpp
  engine/precision/weight_error.hpp
  engine/reference/verification.hpp
  engine/tensor/shape.hpp
  engine/trace/edit.hpp
  engine/trace/edit_marks.hpp
  engine/trace/head_score.hpp
  engine/trace/part_worth.hpp
  engine/trace/query_key.hpp  # one query times one key: the numbers that are drawn
  engine/trace/structure.hpp
  engine/train/moment_steps.hpp
  engine/train/run_settings.hpp)

# The first folder that matches a file decides which of the project's headers it may include.
set(LAYERS
  "engine/reference/" "engine/tensor/|engine/plan/|engine/trace/|engine/reference/|engine/io/|engine/weights/parameters\\.hpp|engine/attention/mask\\.hpp"
  "engine/"           "engine/"
  "app/session/threads/"   "app/session/threads/|engine/tensor/"
  "app/session/states/"    "app/session/states/|engine/"
  "app/session/document/"  "app/session/(states|document)/|engine/"
  "app/session/values/"    "app/session/(states|document|values)/|engine/"
  "app/session/facets/"    "app/session/(threads|states|document|values|facets)/|engine/"
  "app/session/numbers/"   "app/session/(states|document|values|numbers)/|engine/"
  "app/session/training/"  "app/session/(threads|states|document|values|facets|training)/|engine/"
  "app/session/lessons/"   "app/session/(threads|states|document|values|facets|training|lessons)/|engine/"
  "app/session/files/"     "app/session/(threads|states|document|values|facets|training|lessons|files)/|engine/"
  "app/session/"      "app/session/|engine/"
  "app/render/"       "app/render/|app/widgets/(canvas|value_scale)\\.hpp"
  "app/widgets/"      "app/widgets/|app/session/document/(commands|document|presets|tensor_choice)\\.hpp|app/session/values/(snapshot|statistics)\\.hpp|app/session/numbers/(cell_marks|heatmap_data|heatmap_statistics)\\.hpp|app/session/files/files_state\\.hpp|app/session/training/training_report\\.hpp|engine/tensor/shape\\.hpp"
  "app/panels/"       "app/panels/|app/widgets/|app/session/document/(commands|document|knock_out_names|look|memory_budget|named_runs|new_words|number_table|presets|table_text|tensor_choice|view|weights_origin)\\.hpp|app/session/values/|app/session/files/(desktop_dialog|files_state|model_shelf)\\.hpp|app/session/lessons/(lesson|lesson_goal)\\.hpp|app/session/numbers/(cell_marks|heatmap_data|heatmap_statistics|matrix|number_desk)\\.hpp|app/session/states/(hidden_words|kept_tokenizer|opened_model|setup_parts|state|text_model)\\.hpp|app/session/training/training_report\\.hpp|engine/"
  "app/platform/"     "app/|engine/io/(atomic_file|file_error|input_file)\\.hpp|engine/tensor/(error|shape)\\.hpp"
  "app/dev/"          "app/dev/|app/cli/(arguments|complaint|program|standard_output)\\.hpp|engine/"
  "app/"              "app/|engine/")

# Libraries, and what only attnscope-dev contains, with the only folders that may include them.
set(LIBRARIES
  "app/dev/"                   "app/dev/"
  "engine/check/"              "app/dev/|engine/check/"
  "engine/kernels/eigen_"      "app/dev/|engine/kernels/eigen_"
  "omp\\.h"                    "engine/"
  "Eigen/"                     "engine/"
  "glad/|GL/|GLES"             "app/render/|app/platform/"
  "GLFW/"                      "app/(platform|web)/"
  "fontconfig/"                "app/platform/"
  "dbus/"                      "app/platform/"
  "imgui|backends/imgui"       "app/(render|widgets|panels|platform|cli|web)/|app/[a-z_]+\\.[ch]pp$"
  "CLI/"                       "app/cli/arguments\\.cpp$"
  "png\\.h"                    "app/(render|platform|cli)/"
  "zip\\.h"                    "engine/io/"
  "oniguruma\\.h|utf8proc\\.h" "engine/tokenizer/")

# What is different in a browser stands in these places; everything else is the same program, and asks for abilities, not for systems.
set(BROWSER_PLACES "app/(web|platform)/|app/render/gl_dialect\\.hpp$")
set(BROWSER "__EMSCRIPTEN__|__wasm|emscripten")

# All files are written in one place, which never leaves half a file and never follows a planted link.
set(WRITER "engine/io/(atomic_file|folder)\\.cpp")
set(WRITING "std::(basic_)?(o?fstream|filebuf)|fopen *\\(|fdopen|freopen|O_CREAT|O_WRONLY|O_RDWR|O_TRUNC|O_APPEND|mkstemp|mkostemp|tmpfile|copy_file|[^a-z_]creat *\\(|create_symlink|create_hard_link|resize_file|create_director|[^a-z_]mkdir *\\(")

# Anything that grows with the model is computed in the background: panels ask for it as a facet of a state. The headers above and those
# of the session declare or include some of what computes it; these functions must not be called all the same.
set(HEAVY_CALLS "explain|where_it_goes|head_mean|attention_totals|logit_lens|stage_ranges?|head_scores|idle_edits|edits_in_vain|why_without_effect|statistics_of|first_not_finite|trace_forward|trace_gradients|prepare|read_lens|read_totals|examine_trace|knock_out_heads|compare_weights|weight_error_map|verify|with_residual|mean_of_layers|rollout_terms|lens_losses|lens_first_choices|likely_tokens|asked_positions|shown_positions|head_rows|listed_terms")

# In which form numbers are held, and where: NumberDesk decides.
set(STORAGE_FORMS "MapsWanted|inside_with|part_read|facet::(Inside|Beginning|MapRegion|ChangedSlice|HeadMean)|ReducedMap|RecordedStage|reduced_map")

# The lines of ROOT/FILE that match PATTERN, but for those that match SKIPPED, each as "FILE does this (line): why".
function(lines_that ROOT FILE PATTERN SKIPPED DOES WHY RESULT)
  set(FOUND ${${RESULT}})
  file(STRINGS ${ROOT}/${FILE} LINES REGEX "${PATTERN}")
  foreach(LINE IN LISTS LINES)
    string(STRIP "${LINE}" LINE)
    if(NOT LINE MATCHES "${SKIPPED}")
      list(APPEND FOUND "${FILE} ${DOES} (${LINE}): ${WHY}")
    endif()
  endforeach()
  set(${RESULT} "${FOUND}" PARENT_SCOPE)
endfunction()

function(check_calls ROOT FILE RESULT)
  set(FOUND "")
  if(FILE MATCHES "^app/panels/")
    lines_that(${ROOT} ${FILE} "(^|[^a-zA-Z0-9_.>])(${HEAVY_CALLS})(<[a-z]+>)? *\\(" "^//"
               "computes what grows with the model" "ask for a facet" FOUND)
    lines_that(${ROOT} ${FILE} "(^|[^a-zA-Z0-9_])(${STORAGE_FORMS})([^a-zA-Z0-9_]|$)" "^$"
               "names how numbers are held" "ask the NumberDesk" FOUND)
  endif()
  set(${RESULT} "${FOUND}" PARENT_SCOPE)
endfunction()

# Members of an archive in memory are no files.
function(check_writing ROOT FILE RESULT)
  set(FOUND "")
  if(NOT FILE MATCHES "^${WRITER}$")
    lines_that(${ROOT} ${FILE} "${WRITING}" "^//|zip_fd?open" "writes files by itself" "only ${WRITER} may" FOUND)
  endif()
  set(${RESULT} "${FOUND}" PARENT_SCOPE)
endfunction()

function(check_browser ROOT FILE RESULT)
  set(FOUND "")
  if(NOT FILE MATCHES "^${BROWSER_PLACES}")
    lines_that(${ROOT} ${FILE} "^[ \t]*#.*(${BROWSER})" "^$" "asks for the browser" "only ${BROWSER_PLACES} may" FOUND)
  endif()
  set(${RESULT} "${FOUND}" PARENT_SCOPE)
endfunction()

function(check_file ROOT FILE RESULT)
  set(FOUND "")
  file(STRINGS ${ROOT}/${FILE} LINES REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  foreach(LINE IN LISTS LINES)
    if(NOT LINE MATCHES "include[ \t]*[<\"]([^>\"]+)[>\"]")
      continue()
    endif()
    set(HEADER ${CMAKE_MATCH_1})

    if(HEADER MATCHES "^\\.\\.?/")
      list(APPEND FOUND "${FILE} includes ${HEADER}: includes start at the root")
    elseif(HEADER MATCHES "^(engine|app|tests)/")
      set(REST ${LAYERS})
      while(REST)
        list(POP_FRONT REST FOLDER ALLOWED)
        if(FILE MATCHES "^${FOLDER}")
          if(NOT HEADER MATCHES "^(${ALLOWED})")
            list(APPEND FOUND "${FILE} includes ${HEADER}: ${FOLDER} may include ${ALLOWED}")
          endif()
          break()
        endif()
      endwhile()
      if(FILE MATCHES "^app/panels/" AND HEADER MATCHES "^engine/" AND NOT HEADER IN_LIST PANEL_ENGINE)
        list(APPEND FOUND "${FILE} includes ${HEADER}, which is not among the values in PANEL_ENGINE: ask for a facet")
      endif()
    endif()

    set(REST ${LIBRARIES})
    while(REST)
      list(POP_FRONT REST LIBRARY FOLDERS)
      if(HEADER MATCHES "^(${LIBRARY})" AND NOT FILE MATCHES "^(${FOLDERS})")
        list(APPEND FOUND "${FILE} includes <${HEADER}>: only ${FOLDERS} may")
      endif()
    endwhile()
  endforeach()
  set(${RESULT} "${FOUND}" PARENT_SCOPE)
endfunction()

# The floors of the panels, from the ground up. A folder may include its own files and those of floors below, but nothing beside or above.
set(FLOORS "state" "kit" "maps" "compare" "edit|write|files" "lessons|views" "settings" "train|export" "actions" "frame")

# The place of a folder of the panels in FLOORS; -1 if it has none.
function(floor_of FOLDER RESULT)
  set(PLACE 0)
  foreach(FLOOR IN LISTS FLOORS)
    if(FOLDER MATCHES "^(${FLOOR})$")
      set(${RESULT} ${PLACE} PARENT_SCOPE)
      return()
    endif()
    math(EXPR PLACE "${PLACE} + 1")
  endforeach()
  set(${RESULT} -1 PARENT_SCOPE)
endfunction()

function(check_floors ROOT FILE RESULT)
  set(FOUND "")
  if(FILE MATCHES "^app/panels/(.*)/[^/]+$")
    set(FOLDER ${CMAKE_MATCH_1})
    floor_of(${FOLDER} OWN)
    if(OWN EQUAL -1)
      list(APPEND FOUND "${FILE} stands on no floor: those of the panels are ${FLOORS}")
    endif()
    file(STRINGS ${ROOT}/${FILE} LINES REGEX "^[ \t]*#[ \t]*include[ \t]*\"app/panels/")
    foreach(LINE IN LISTS LINES)
      string(REGEX REPLACE ".*\"app/panels/(.*)/[^/]+\".*" "\\1" NEEDED "${LINE}")
      floor_of(${NEEDED} FLOOR)
      if(NOT NEEDED STREQUAL FOLDER AND NOT FLOOR LESS OWN)
        list(APPEND FOUND "${FILE} (${LINE}): panels/${FOLDER} may include only what stands below it")
      endif()
    endforeach()
  elseif(FILE MATCHES "^app/panels/")
    list(APPEND FOUND "${FILE} stands on no floor: those of the panels are ${FLOORS}")
  endif()
  set(${RESULT} "${FOUND}" PARENT_SCOPE)
endfunction()

# The folder that a file counts to: in the engine one of the first level, in app every folder; the files beside main.cpp are on their own.
function(folder_of FILE RESULT)
  set(FOLDER ${FILE})
  foreach(PATTERN "^(engine/[^/]+)/" "^(app/.+)/[^/]+$" "^(app/[^/]+)\\.[ch]pp$")
    if(FILE MATCHES "${PATTERN}")
      set(FOLDER ${CMAKE_MATCH_1})
      break()
    endif()
  endforeach()
  set(${RESULT} ${FOLDER} PARENT_SCOPE)
endfunction()

# All folders, and for each of them, as NEEDS_<folder>, those that its files include.
function(read_needs ROOT RESULT)
  file(GLOB_RECURSE FILES RELATIVE ${ROOT} ${ROOT}/engine/*.[ch]pp ${ROOT}/app/*.[ch]pp)
  set(FOLDERS "")
  foreach(FILE IN LISTS FILES)
    folder_of(${FILE} FOLDER)
    list(APPEND FOLDERS ${FOLDER})
    file(STRINGS ${ROOT}/${FILE} LINES REGEX "^[ \t]*#[ \t]*include[ \t]*\"(engine|app)/")
    foreach(LINE IN LISTS LINES)
      string(REGEX REPLACE ".*\"([^\"]+)\".*" "\\1" HEADER "${LINE}")
      folder_of(${HEADER} NEEDED)
      if(NOT NEEDED STREQUAL FOLDER)
        list(APPEND NEEDS_${FOLDER} ${NEEDED})
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES FOLDERS)
  foreach(FOLDER IN LISTS FOLDERS)
    set(NEEDS_${FOLDER} "${NEEDS_${FOLDER}}" PARENT_SCOPE)
  endforeach()
  set(${RESULT} "${FOLDERS}" PARENT_SCOPE)
endfunction()

# Those of the folders left that include none of the others; none if all that are left are in circles or above one.
function(lowest_of LEFT RESULT)
  set(LOWEST "")
  foreach(FOLDER IN LISTS LEFT)
    set(ABOVE FALSE)
    foreach(NEEDED IN LISTS NEEDS_${FOLDER})
      if(NEEDED IN_LIST LEFT)
        set(ABOVE TRUE)
      endif()
    endforeach()
    if(NOT ABOVE)
      list(APPEND LOWEST ${FOLDER})
    endif()
  endforeach()
  set(${RESULT} "${LOWEST}" PARENT_SCOPE)
endfunction()

# Folders must not depend on each other in a circle: once those that need no other are taken away, again and again, a circle is left over.
function(check_circles ROOT RESULT)
  read_needs(${ROOT} FOLDERS)
  set(LEFT ${FOLDERS})
  lowest_of("${LEFT}" LOWEST)
  while(LOWEST)
    list(REMOVE_ITEM LEFT ${LOWEST})
    lowest_of("${LEFT}" LOWEST)
  endwhile()

  if(LEFT)
    list(JOIN LEFT ", " TEXT)
    set(${RESULT} "these folders depend on each other in a circle: ${TEXT}" PARENT_SCOPE)
  else()
    set(${RESULT} "" PARENT_SCOPE)
  endif()
endfunction()

function(check_layers ROOT RESULT)
  file(GLOB_RECURSE FILES RELATIVE ${ROOT} ${ROOT}/engine/*.[ch]pp ${ROOT}/app/*.[ch]pp ${ROOT}/engine/*.h ${ROOT}/app/*.h)
  if(NOT FILES)
    message(FATAL_ERROR "There are no sources under ${ROOT}: nothing was checked")
  endif()
  set(ALL "")
  foreach(FILE IN LISTS FILES)
    check_file(${ROOT} ${FILE} FOUND)
    list(APPEND ALL ${FOUND})
    check_calls(${ROOT} ${FILE} FOUND)
    list(APPEND ALL ${FOUND})
    check_writing(${ROOT} ${FILE} FOUND)
    list(APPEND ALL ${FOUND})
    check_browser(${ROOT} ${FILE} FOUND)
    list(APPEND ALL ${FOUND})
    check_floors(${ROOT} ${FILE} FOUND)
    list(APPEND ALL ${FOUND})
  endforeach()
  check_circles(${ROOT} FOUND)
  list(APPEND ALL ${FOUND})
  set(${RESULT} "${ALL}" PARENT_SCOPE)
endfunction()
